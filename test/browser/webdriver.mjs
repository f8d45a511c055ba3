import { writeFile } from 'node:fs/promises'
import { setTimeout as elapse } from 'node:timers/promises'
import { clickOn, expression, keys, known, outcome } from './page-control.mjs'

/**
 * The operations that use WebDriver commands, independent of their transport.
 *
 * @param {(command: string, parameters?: object) => Promise<any>} send resolves with the value of the answer
 */
export async function webDriver(send) {
  const home = await send('GetWindowHandle')
  let other
  const act = (type, ...actions) => send('PerformActions', { actions: [{ type, id: type, actions }] })
  return {
    open: url => send('Navigate', { url }),
    async evaluate(script, ...args) {
      // In a microtask, because WebKit runs microtasks after each listener of a script that its driver calls
      // directly.
      const text = `Promise.resolve().then(() => ${expression(script, args)})`
      return outcome(await send('ExecuteScript', { script: `return ${text}`, args: [] }))
    },
    async press(key) {
      const value = keys[known(key)]?.character ?? key
      await act('key', { type: 'keyDown', value }, { type: 'keyUp', value })
    },
    async command(key) {
      const control = '\uE009'
      await act('key', { type: 'keyDown', value: control }, { type: 'keyDown', value: key },
        { type: 'keyUp', value: key }, { type: 'keyUp', value: control })
    },
    async click(selector) {
      await clickOn(this, selector, (x, y) => act('pointer',
        { type: 'pointerMove', duration: 0, x: Math.round(x), y: Math.round(y), origin: 'viewport' },
        { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }))
    },
    async resize(width, height) {
      // A window has borders and bars in addition to the page.
      for (let attempt = 0; attempt < 3; attempt++) {
        const page = await this.evaluate('({ width: innerWidth, height: innerHeight })')
        if (page.width === width && page.height === height) return
        const window = await send('GetWindowRect')
        await send('SetWindowRect', {
          width: window.width + width - page.width, height: window.height + height - page.height
        })
        await elapse(100)
      }
    },
    async screenshot(file) {
      await writeFile(file, Buffer.from(await send('TakeScreenshot', { full: false }), 'base64'))
    },
    async hide() {
      other = (await send('NewWindow', { type: 'tab', focus: true })).handle
    },
    async show() {
      await send('SwitchToWindow', { handle: other })
      await send('CloseWindow')
      await send('SwitchToWindow', { handle: home, focus: true })
    }
  }
}
