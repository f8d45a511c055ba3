import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'

// Tests of the drivers. The other tests rely on them: a driver that ignores errors would let every test pass.
export default {
  async 'keys and clicks of a driver are trusted events'({ browser, server }) {
    await browser.open(`${server.isolated}/test/browser/driver.html`)
    equal(await browser.evaluate('document.hasFocus()'), true)
    await browser.click('input')
    for (const key of ['r', 't', 'Enter', 'ArrowLeft']) await browser.press(key)
    await browser.click('button')
    deepEqual(await browser.evaluate('events'), [
      ['click', 'input', true],
      ['keydown', 'r', true],
      ['keydown', 't', true],
      ['keydown', 'Enter', true],
      ['keydown', 'ArrowLeft', true],
      ['click', 'button', true]
    ])
    equal(await browser.evaluate('document.querySelector("input").value'), 'rt')
    await rejects(() => browser.press('Entre'), TypeError)
  },

  async 'a moving element is clicked after it rests, and again if it moved away'({ browser, server }) {
    await browser.open(`${server.isolated}/test/browser/driver.html`)
    await browser.evaluate(() => {
      const button = document.querySelector('button')
      button.animate([{ translate: '0 -100vh' }, { translate: '0 0' }], 400)
      const flee = () => {
        button.style.translate = '300px 0'
        removeEventListener('pointermove', flee)
      }
      addEventListener('pointermove', flee)
    })
    await browser.click('button')
    const clicks = await browser.evaluate('events')
    deepEqual(clicks.at(-1), ['click', 'button', true])
    deepEqual(clicks.filter(([, target]) => target === 'button').length, 1)
    await rejects(() => browser.click('video'), /no element matches video/)
  },

  async 'pages of the servers are isolated or not'({ browser, server }) {
    await browser.open(`${server.isolated}/test/browser/driver.html`)
    equal(await browser.evaluate('crossOriginIsolated'), true)
    await browser.open(`${server.plain}/test/browser/driver.html`)
    equal(await browser.evaluate('crossOriginIsolated'), false)
  },

  async 'evaluate returns values and promises and throws errors of the page'({ browser, server }) {
    await browser.open(`${server.isolated}/test/browser/driver.html`)
    deepEqual(await browser.evaluate(async (a, b) => [await a + b.c, null], 1, { c: 2 }), [3, null])
    equal(await browser.evaluate(() => undefined), undefined)
    await rejects(browser.evaluate(() => { throw new TypeError('in the page') }), /TypeError: in the page/)
  },

  async 'screenshot writes a PNG picture of the page'({ browser, server }) {
    await browser.open(`${server.plain}/test/browser/driver.html`)
    const folder = mkdtempSync(join(tmpdir(), 'rt-screenshot-'))
    try {
      const file = join(folder, 'page.png')
      await browser.screenshot(file)
      equal(readFileSync(file).toString('latin1', 1, 4), 'PNG')
    } finally {
      rmSync(folder, { recursive: true })
    }
  },

  async 'takeProblems returns every error of a page'({ browser, server }) {
    const provoke = {
      said: () => console.error('said'),
      thrown: () => { setTimeout(() => { throw new Error('thrown') }) },
      rejected: () => { Promise.reject(new Error('rejected')) },
      'missing|module script failed': () => { import('./missing.mjs') }
    }
    for (const name in provoke) {
      await browser.open(`${server.isolated}/test/browser/driver.html`)
      deepEqual(await browser.takeProblems(), [])
      // The error is thrown outside evaluate(), which would return it.
      await browser.evaluate(`setTimeout(${provoke[name]}) && null`)
      const taken = []
      for (let looks = 0; looks < 200 && !RegExp(name).test(taken.join('\n')); looks++) {
        await elapse(50)
        taken.push(...await browser.takeProblems())
      }
      match(taken.join('\n'), new RegExp(name))
    }
  }
}
