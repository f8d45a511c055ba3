// What both browsers share: the page is asked by text, and answers with JSON.

/**
 * @param {string | Function} script an expression, or a function to call with `args` in the page
 * @param {unknown[]} args
 * @returns {string} an expression for a promise of the result as JSON
 */
export function expression(script, args) {
  const call = typeof script === 'function'
    ? `(${script})(${args.map(argument => JSON.stringify(argument)).join(', ')})`
    : `(${script})`
  return `(async () => JSON.stringify({ value: await ${call} }))()`
}

/** Scrolls an element into view and returns the middle of it, in CSS pixels of the viewport. */
export function middle(selector) {
  const element = document.querySelector(selector)
  if (!element) throw new Error(`no element matches ${selector}`)
  element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
  const { left, top, width, height } = element.getBoundingClientRect()
  return { x: left + width / 2, y: top + height / 2 }
}

/** Keys that are no characters: the code and legacy number of each, and its character in WebDriver. */
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

/** @param {string} key a key of `keys` or one character */
export function known(key) {
  if (!(key in keys) && [...key].length !== 1) {
    throw new TypeError(`key must be one character or one of ${Object.keys(keys).join(', ')}, got ${key}`)
  }
  return key
}
