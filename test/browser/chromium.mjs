import { writeFile } from 'node:fs/promises'
import { clickOn, commands, expression, keys, known, outcome } from './page-control.mjs'
import { findBrowser, launch, within } from './process.mjs'

const flags = [
  '--headless', '--no-sandbox', '--remote-debugging-pipe', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--no-default-browser-check', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-extensions', '--disable-default-apps',
  '--disable-dev-shm-usage', '--mute-audio', '--password-store=basic', '--window-size=1000,800',
  // A page that was left would be kept with its unanswered requests. Chromium opens at most six connections to a
  // host, so that later pages would not load.
  '--disable-back-forward-cache'
]

/**
 * Starts Chromium and drives it through the DevTools protocol over a pipe.
 *
 * @param {{ path?: string, patience?: number }} [options] `patience`: the time limit for the answer to a
 * command, ms
 * @returns {Promise<import('./run.mjs').Browser>}
 */
export async function chromium({ path = findBrowser('chromium'), patience = 90_000 } = {}) {
  if (!path) throw new Error('Chromium was not found')
  const args = profile => [...flags, `--user-data-dir=${profile}`, 'about:blank']
  const browser = launch(path, args, { pipes: 2 })
  const [, , , input, output] = browser.child.stdio

  let last = 0
  const calls = new Map()
  const listeners = new Set()
  let rest = ''
  output.setEncoding('utf8').on('data', text => {
    const messages = (rest + text).split('\0')
    rest = messages.pop()
    for (const message of messages) receive(JSON.parse(message))
  })
  input.on('error', () => {})
  const gone = browser.ended.then(how => {
    const error = new Error(`Chromium ended: ${how}\n${browser.lastWords()}`)
    for (const { reject } of calls.values()) reject(error)
    calls.clear()
  })

  function receive(message) {
    if (!message.id) {
      for (const listener of listeners) listener(message)
      return
    }
    const call = calls.get(message.id)
    calls.delete(message.id)
    if (message.error) call?.reject(new Error(`${call.method}: ${message.error.message}`))
    else call?.resolve(message.result)
  }
  function send(method, params = {}, sessionId = session) {
    const answer = new Promise((resolve, reject) => {
      calls.set(++last, { method, resolve, reject })
      input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`)
    })
    return within(answer, patience, `Chromium, ${method}`)
  }
  /** Starts listening immediately. The returned function waits for the event. */
  function expect(method, suits = () => true) {
    let listener
    const heard = new Promise(resolve => {
      listener = message => {
        if (message.sessionId === session && message.method === method && suits(message.params)) resolve()
      }
      listeners.add(listener)
    })
    return what => within(heard, patience, `Chromium, ${what}`).finally(() => listeners.delete(listener))
  }

  let session
  let problems = []
  let other
  try {
    const { product } = await send('Browser.getVersion')
    const { targetInfos } = await send('Target.getTargets')
    const { targetId } = targetInfos.find(({ type }) => type === 'page') ??
      await send('Target.createTarget', { url: 'about:blank' })
    session = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId
    listeners.add(({ method, params, sessionId }) => {
      if (sessionId !== session) return
      if (method === 'Runtime.exceptionThrown') {
        const { exception, text } = params.exceptionDetails
        problems.push(exception?.description ?? text)
      } else if (method === 'Runtime.consoleAPICalled' && params.type === 'error') {
        problems.push(params.args.map(({ value, description }) => value ?? description).join(' '))
      } else if (method === 'Log.entryAdded' && params.entry.level === 'error') {
        problems.push(`${params.entry.text} ${params.entry.url ?? ''}`)
      }
    })
    await Promise.all(['Page', 'Runtime', 'Log'].map(domain => send(`${domain}.enable`)))
    await send('Page.setLifecycleEventsEnabled', { enabled: true })
    await send('Page.bringToFront') // a page without focus has no focus events

    return {
      kind: 'chromium',
      pid: browser.child.pid,
      name: `Chromium ${product.replace(/^.*\/|\..*/g, '')}`,
      async open(url) {
        let loaderId
        const early = []
        const loaded = expect('Page.lifecycleEvent', event => {
          if (event.name !== 'load') return false
          early.push(event.loaderId)
          return event.loaderId === loaderId
        })
        const result = await send('Page.navigate', { url })
        if (result.errorText) throw new Error(`Chromium, ${url}: ${result.errorText}`)
        loaderId = result.loaderId
        if (!early.includes(loaderId)) await loaded(`loading ${url}`)
      },
      async evaluate(script, ...args) {
        const { result, exceptionDetails } = await send('Runtime.evaluate', {
          expression: expression(script, args), awaitPromise: true
        })
        if (exceptionDetails) {
          throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
        }
        return outcome(result.value)
      },
      async trace(categories, work) {
        const events = []
        const collect = ({ method, params }) => { if (method === 'Tracing.dataCollected') events.push(...params.value) }
        listeners.add(collect)
        try {
          await send('Tracing.start', {
            transferMode: 'ReportEvents', traceConfig: { includedCategories: categories, recordMode: 'recordAsMuchAsPossible' }
          })
          const result = await work()
          const complete = expect('Tracing.tracingComplete')
          await send('Tracing.end')
          await complete('the trace')
          return { result, events }
        } finally {
          listeners.delete(collect)
        }
      },
      async press(key) {
        const { code = '', number = known(key).toUpperCase().charCodeAt(0), text = key } = keys[key] ?? {}
        const event = { key, code, windowsVirtualKeyCode: number }
        const typed = keys[key] && !keys[key].text ? {} : { text }
        const type = typed.text ? 'keyDown' : 'rawKeyDown'
        await send('Input.dispatchKeyEvent', { type, ...event, ...typed })
        await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event })
      },
      async command(key) {
        const name = commands[key]
        const event = { key, code: `Key${key.toUpperCase()}`, modifiers: 2, windowsVirtualKeyCode: key.toUpperCase().charCodeAt(0) }
        await send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...event, commands: [name] })
        await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event })
      },
      /** Composes a text as an input method does, in steps, and commits it. */
      async compose(steps, text) {
        for (const step of steps) {
          await send('Input.imeSetComposition', { text: step, selectionStart: step.length, selectionEnd: step.length })
        }
        await send('Input.insertText', { text })
      },
      async click(selector) {
        await clickOn(this, selector, async (x, y) => {
          const event = { x, y, button: 'left', clickCount: 1 }
          await send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y })
          await send('Input.dispatchMouseEvent', { type: 'mousePressed', ...event })
          await send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...event })
        })
      },
      async resize(width, height) {
        await send('Emulation.setDeviceMetricsOverride', {
          width, height, deviceScaleFactor: 1, mobile: width < 600
        })
      },
      async screenshot(file) {
        const { data } = await send('Page.captureScreenshot')
        await writeFile(file, Buffer.from(data, 'base64'))
      },
      async hide() {
        other = (await send('Target.createTarget', { url: 'about:blank' }, undefined)).targetId
      },
      async show() {
        await send('Target.closeTarget', { targetId: other }, undefined)
        await send('Page.bringToFront')
      },
      takeProblems() {
        const taken = problems
        problems = []
        return taken
      },
      async close() {
        await Promise.race([send('Browser.close', {}, undefined).catch(() => {}), gone])
        await within(browser.ended, 5000, 'Chromium, closing').catch(() => {})
        browser.stop()
      }
    }
  } catch (error) {
    browser.stop()
    throw error
  }
}
