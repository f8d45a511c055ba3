/** The search field of the front page. */
import { equal, ok } from 'node:assert/strict'
import { until } from './page-control.mjs'

/** Opens the front page after the typing for visitors has been cancelled, and counts its frames. */
async function open({ browser, server }) {
  await browser.open(`${server.plain}/examples/index.html`)
  await until(browser, () => /^\d/.test(document.getElementById('count').textContent))
  await browser.evaluate(() => {
    dispatchEvent(new Event('wheel'))
    window.frameCount = 0
    requestAnimationFrame(function frame() {
      window.frameCount++
      requestAnimationFrame(frame)
    })
  })
}

/**
 * Types the last character of the text for which the page chose its number of lines, so that a search takes long on
 * any machine. Returns the result, and the number of frames between the key and the result.
 *
 * @param {any} browser @param {string} way
 */
async function search(browser, way) {
  // WebKitGTK paints its first frames late after a load and after a long task.
  await browser.evaluate(() => { window.frameCount = 0 })
  await until(browser, () => window.frameCount > 2)
  await browser.evaluate(way => {
    document.querySelector(`[name=way][value=${way}]`).click()
    const field = document.getElementById('field'), total = document.getElementById('total')
    field.value = 'scrip'
    field.focus()
    field.setSelectionRange(5, 5)
    total.textContent = ''
    window.searched = new Promise(resolve => {
      let start
      field.addEventListener('keydown', () => { start = window.frameCount }, { once: true, capture: true })
      new MutationObserver((_, observer) => {
        observer.disconnect()
        resolve({ total: total.textContent, frames: window.frameCount - start })
      }).observe(total, { childList: true })
    })
  }, way)
  await browser.press('t')
  return browser.evaluate(() => window.searched)
}

export default {
  async 'frames are painted during a search by rt.mjs, and none during a plain one'(context) {
    await open(context)
    const plain = await search(context.browser, 'plain')
    const ours = await search(context.browser, 'ours')
    equal(ours.total, plain.total)
    equal(plain.frames, 0)
    ok(ours.frames > 0, `${ours.frames} frames`)
  },

  async 'the front page types by itself in both ways and names both delays'({ browser, server }) {
    await browser.open(`${server.plain}/examples/index.html`)
    await browser.evaluate(() => document.getElementById('type').click())
    await until(browser, () => {
      const text = document.getElementById('summary').textContent
      return text.includes('Plain JavaScript: ') && text.includes('rt.mjs: ') && document.getElementById('field').value === 'script'
    })
  },

  async 'the code of both searches is shown'({ browser, server }) {
    await browser.open(`${server.plain}/examples/index.html`)
    await until(browser, () => [...document.querySelectorAll('code[data-file]')].every(code => code.textContent.includes('function search')))
  }
}
