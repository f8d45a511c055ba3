// Controlled fields of an adopted page keep every edit, as in the plain page.
import { deepEqual } from 'node:assert/strict'
import { setTimeout as elapse } from 'node:timers/promises'

/** Opens the page, plain or adopted, and waits until its script has run. */
async function open({ browser, server }, query) {
  await browser.open(`${server.isolated}/test/browser/edits.html${query}`)
  await browser.evaluate(async () => {
    while (!window.isReady) await new Promise(resolve => { setTimeout(resolve, 5) })
  })
}

/**
 * Acts on the plain and on the adopted page, and compares the states of the fields. The driver of Firefox returns
 * before the browser has delivered the keys, so there the test waits until the page has handled `least` events.
 */
async function compare(context, least, act) {
  const states = []
  for (const query of ['', '?adopted']) {
    await open(context, query)
    await act(context.browser)
    states.push(await context.browser.evaluate(async least => {
      const { text, area, rich, box, choice, timed, answers } = Object.fromEntries(
        [...document.querySelectorAll('[id]')].map(element => [element.id, element]))
      while (window.inputs < least || Number(answers.value) < window.inputs) {
        await new Promise(resolve => { setTimeout(resolve, 10) })
      }
      return [window.inputs, text.value, area.value, rich.textContent, box.checked, choice.value, timed.value]
    }, context.browser.kind === 'firefox' ? least : 1))
  }
  const [plain, adopted] = states
  deepEqual(adopted, plain)
  return adopted
}

/** Presses keys without waiting for the page, where the driver can. */
async function type(browser, keys) {
  const pressed = []
  for (const key of keys) {
    pressed.push(browser.press(key))
    if (browser.kind !== 'chromium') await pressed.at(-1) // other drivers accept one key at a time
    await elapse(5)
  }
  await Promise.all(pressed)
}

export default {
  async 'fields of all kinds keep every character, click and option'(context) {
    const state = await compare(context, 30, async browser => {
      for (const field of ['text', 'area', 'rich']) {
        await browser.click(`#${field}`)
        await type(browser, 'abcdefgh')
        await browser.evaluate(async field => {
          const isTyped = ({ value, textContent }) => (value ?? textContent).length === 8
          while (!isTyped(document.getElementById(field))) await new Promise(requestAnimationFrame)
        }, field) // Firefox delivers keys later than clicks
      }
      for (let i = 0; i < 3; i++) await browser.click('#box')
      // Equal letters go from option to option, whether the browser takes them for one search or for three.
      await browser.evaluate(() => document.getElementById('choice').focus())
      await type(browser, 'bbb')
    })
    deepEqual(state.slice(1, 6), ['abcdefgh', 'abcdefgh', 'abcdefgh', true, 'b3'])
  },

  async 'a field that a timer writes keeps every character'(context) {
    const state = await compare(context, 12, async browser => {
      await browser.click('#timed')
      await type(browser, 'abcdefghijkl')
    })
    deepEqual(state[6], 'abcdefghijkl')
  },

  async 'a field that the listener of a button writes keeps every character'(context) {
    const state = await compare(context, 5, async browser => {
      await browser.click('#timed')
      await type(browser, 'ab')
      await browser.evaluate(async () => {
        while (Number(document.getElementById('answers').value) < 2) await new Promise(requestAnimationFrame)
      })
      const clicked = browser.click('#format')
      if (browser.kind !== 'chromium') await clicked // other drivers accept one command at a time
      await browser.evaluate(async () => {
        while (!window.formatting) await new Promise(requestAnimationFrame)
        document.getElementById('timed').focus()
      })
      await type(browser, 'cde')
      await clicked
      await browser.evaluate(async () => {
        while (window.formatting !== 'finished') await new Promise(requestAnimationFrame)
      })
    })
    deepEqual(state[6], 'ABcde')
  },

  async 'undo and inserted text change the field as in the plain page'(context) {
    await compare(context, 3, async browser => {
      await browser.click('#text')
      await type(browser, 'ab')
      // The commands of a script have no event before the edit, so the listeners of the keys must have ended.
      await browser.evaluate(async () => {
        while (window.inputs < 2 || Number(document.getElementById('answers').value) < window.inputs) {
          await new Promise(resolve => { setTimeout(resolve, 10) })
        }
        document.execCommand('insertText', false, 'cd')
        document.execCommand('insertText', false, 'ef')
        document.execCommand('undo')
      })
      await type(browser, 'g')
    })
  },

  async 'undo and paste by the user change the field as in the plain page'(context) {
    const state = await compare(context, 4, async browser => {
      await browser.click('#text')
      await type(browser, 'abc')
      // Firefox delivers keys later than commands.
      await browser.evaluate(async () => { while (document.getElementById('text').value !== 'abc') await new Promise(requestAnimationFrame) })
      for (const key of ['a', 'x', 'v', 'v', 'z']) await browser.command(key)
      await type(browser, 'd')
    })
    // The window of WebKitGTK has no key for undo.
    deepEqual(state[1], context.browser.kind === 'webkit' ? 'abcabcd' : 'abcd')
  },

  async 'a composition keeps its text'(context) {
    if (context.browser.compose === undefined) return // only the protocol of Chromium supports composition
    const state = await compare(context, 5, async browser => {
      await browser.click('#text')
      await browser.compose(['n', 'ni', 'nih', 'niho'], 'niho')
      await type(browser, 'x')
    })
    deepEqual(state[1], 'nihox')
  }
}
