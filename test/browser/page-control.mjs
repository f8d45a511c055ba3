import { setTimeout as elapse } from 'node:timers/promises'

// The part that all browsers share: expressions for the page, and results as JSON.

/**
 * Wraps a script as an expression for evaluate.
 *
 * @param {string | Function} script an expression, or a function that is called with `args` in the page
 * @param {unknown[]} args
 * @returns {string} an expression for a promise of the result as JSON
 */
export function expression(script, args) {
  const call = typeof script === 'function'
    ? `(${script})(${args.map(argument => JSON.stringify(argument)).join(', ')})`
    : `(${script})`
  return `(async () => {
    try {
      return JSON.stringify({ value: await ${call} })
    } catch (error) {
      return JSON.stringify({ error: error + '\\n' + error?.stack })
    }
  })()`
}

/**
 * Returns the result of an expression, or throws its error.
 * @param {string | null} text the JSON from the page; null from Firefox if the page was left
 */
export function outcome(text) {
  if (text === null) throw new Error('the page was unloaded before the script ended')
  const { value, error } = JSON.parse(text)
  if (error) throw new Error(error)
  return value
}

/**
 * Clicks the middle of an element after it has come to rest in the viewport. If the element moved away and
 * the click hit something else, clicks again.
 *
 * @param {import('./run.mjs').Browser} browser
 * @param {string} selector
 * @param {(x: number, y: number) => Promise<unknown>} clickAt clicks at CSS pixels of the viewport and waits
 *   until the click was handled
 */
export async function clickOn(browser, selector, clickAt) {
  for (let tries = 0; tries < 5; tries++) {
    const { x, y } = await browser.evaluate(middle, selector)
    await clickAt(x, y)
    if (await browser.evaluate('clicked')) return
  }
  throw new Error(`click: ${selector} was not hit`)
}

/**
 * Runs in the page: scrolls an element into view and waits until it rests there uncovered. Returns the middle
 * of the element. Afterwards `clicked` returns whether the next click hits the element.
 */
async function middle(selector) {
  const frame = () => new Promise(requestAnimationFrame)
  const isPartOf = (hit, element) => element.contains(hit) || hit?.closest?.('label')?.control === element
  const end = performance.now() + 20_000
  for (let rests = 0, last = ''; ;) {
    const element = document.querySelector(selector)
    if (!element) throw new Error(`click: no element matches ${selector}`)
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
    const { left, top, width, height } = element.getBoundingClientRect()
    const x = left + width / 2
    const y = top + height / 2
    const hit = document.elementFromPoint(x, y)
    const place = [left, top, width, height].join()
    rests = isPartOf(hit, element) && place === last ? rests + 1 : 0
    if (rests === 3) {
      window.clicked = new Promise(resolve => {
        const hear = ({ target }) => resolve(isPartOf(target, element))
        addEventListener('click', hear, { capture: true, once: true })
        setTimeout(() => {
          removeEventListener('click', hear, { capture: true })
          resolve(false)
        }, 5000)
      })
      return { x, y }
    }
    if (performance.now() > end) {
      throw new Error(`click: ${selector} does not rest, or under ${hit?.outerHTML.slice(0, 100) ?? 'nothing'}`)
    }
    last = place
    await frame()
  }
}

/**
 * Evaluates a script in the page until the result is truthy.
 *
 * @param {import('./run.mjs').Browser} browser
 * @param {string | Function} an expression or function, as for `evaluate`
 * @param {unknown[]} args
 * @returns {Promise<any>} the result
 */
export async function until(browser, script, ...args) {
  const end = performance.now() + 120_000
  for (;;) {
    // A script that ends because the page is left is asked again in the next page.
    const answer = await browser.evaluate(script, ...args).catch(error => {
      if (!/navigated|destroyed|unloaded|no longer exists/i.test(error.message)) throw error
    })
    if (answer) return answer
    if (performance.now() > end) break
    await elapse(50)
  }
  const text = await browser.evaluate('document.body.innerText')
  throw new Error(`never true: ${script} of ${JSON.stringify(args)}\n${text}`)
}

/** Reports of loads that ended because their page was left, in three browsers. */
const unfinished = RegExp('NetworkError when attempting to fetch|Failed to fetch|Load failed|could not be fetched|' +
  'error loading dynamically imported module|Importing a module script failed')

/**
 * The problems of a page without the loads that ended because it, or the page before it, was left. A browser
 * reports these late. A missing file causes another problem in Chromium.
 *
 * @param {string[]} problems
 */
export const withoutUnfinished = problems => problems.filter(problem => !unfinished.test(problem))

/** Named keys: the code and the legacy number of each key, and its character in WebDriver. */
export const keys = {
  Backspace: { code: 'Backspace', number: 8, character: '\uE003' },
  Tab: { code: 'Tab', number: 9, character: '\uE004' },
  Enter: { code: 'Enter', number: 13, character: '\uE007', text: '\r' },
  Escape: { code: 'Escape', number: 27, character: '\uE00C' },
  ArrowLeft: { code: 'ArrowLeft', number: 37, character: '\uE012' },
  ArrowUp: { code: 'ArrowUp', number: 38, character: '\uE013' },
  ArrowRight: { code: 'ArrowRight', number: 39, character: '\uE014' },
  ArrowDown: { code: 'ArrowDown', number: 40, character: '\uE015' }
}

/** The editing commands that a user calls by Control and a key. */
export const commands = { a: 'selectAll', c: 'copy', v: 'paste', x: 'cut', z: 'undo' }

/** @param {string} key a key of `keys` or one character */
export function known(key) {
  if (!(key in keys) && [...key].length !== 1) {
    throw new TypeError(`key must be one character or one of ${Object.keys(keys).join(', ')}, got ${key}`)
  }
  return key
}
