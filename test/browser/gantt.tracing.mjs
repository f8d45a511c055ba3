import { setTimeout as elapse } from 'node:timers/promises'
import { findBrowser, launch, within } from './process.mjs'

/**
 * Records what Chromium's DevTools would record of a page, by the Tracing domain of their protocol, while
 * keys are pressed.
 *
 * @param {string} url
 * @param {{ keys: number, every: number, categories: string[], focus: string, patience?: number }} options
 *   focus: the selector of what gets the keys; every: ms
 * @returns {Promise<any[]>} trace events
 */
export async function traced(url, { keys, every, categories, focus, patience = 60_000 }) {
  const browser = launch(/** @type {string} */ (findBrowser('chromium')), profile => [
    '--headless', '--no-sandbox', '--remote-debugging-pipe', '--disable-gpu', '--no-first-run',
    '--disable-dev-shm-usage', '--window-size=1000,800', `--user-data-dir=${profile}`, 'about:blank'
  ], { pipes: 2 })
  const [, , , input, output] = browser.child.stdio
  const calls = new Map()
  const events = []
  let complete
  let rest = ''
  let last = 0
  let sessionId
  const ended = new Promise(resolve => { complete = resolve })
  output.setEncoding('utf8').on('data', text => {
    const messages = (rest + text).split('\0')
    rest = messages.pop()
    for (const message of messages) {
      const { id, method, params, result, error } = JSON.parse(message)
      if (id) calls.get(id)(error ? Promise.reject(new Error(error.message)) : result)
      else if (method === 'Tracing.dataCollected') events.push(...params.value)
      else if (method === 'Tracing.tracingComplete') complete()
    }
  })
  const send = (method, params = {}) => {
    const answer = new Promise(resolve => { calls.set(++last, resolve) })
    input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`)
    return within(answer, patience, `Chromium, ${method}`)
  }
  try {
    const { targetInfos } = await send('Target.getTargets')
    const { targetId } = targetInfos.find(({ type }) => type === 'page')
    sessionId = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId
    await send('Page.navigate', { url })
    await elapse(1000)
    await send('Runtime.evaluate', { expression: `document.querySelector(${JSON.stringify(focus)}).focus()` })
    const traceConfig = { includedCategories: categories }
    await send('Tracing.start', { transferMode: 'ReportEvents', traceConfig })
    for (let i = 0; i < keys; i++) {
      const key = { key: 'a', windowsVirtualKeyCode: 65 }
      await send('Input.dispatchKeyEvent', { type: 'keyDown', text: 'a', ...key })
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...key })
      await elapse(every)
    }
    await elapse(300)
    await send('Tracing.end')
    await within(ended, patience, 'Chromium, the trace')
    return events
  } finally {
    browser.stop()
  }
}
