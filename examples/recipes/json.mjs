// You read or write a JSON text of many megabytes, and `JSON.parse` or `JSON.stringify` blocks the page.
// Here both work on one element of the array at a time, so that the page stays responsive.
//
//   const rows = await rt.spawn(parseArray, {}, text)
//   const text = await rt.spawn(stringifyArray, {}, rows)
import { budget } from 'rt.mjs'

/**
 * @param {readonly unknown[]} elements
 * @returns {Generator<void, string, any>}
 */
export function* stringifyArray(elements) {
  const texts = []
  for (const element of elements) {
    texts.push(JSON.stringify(element) ?? 'null')
    if (--budget.left <= 0) yield
  }
  return `[${texts.join(',')}]`
}

/**
 * @param {string} text an array
 * @returns {Generator<void, any[], any>}
 * @throws {SyntaxError} if the text is not an array in JSON
 */
export function* parseArray(text) {
  const elements = []
  let depth = 0, isString = false, start = text.indexOf('[') + 1
  if (text.slice(0, start).trim() !== '[') throw new SyntaxError('the text must be an array in JSON')
  for (let i = start - 1; i < text.length; i++) {
    if (--budget.left <= 0) yield
    const char = text[i]
    if (char === '"') isString = !isString
    else if (isString) i += Number(char === '\\')
    else if (char === '[' || char === '{') depth++
    else if (char === ']' || char === '}') depth--
    const isEnd = depth === 0
    if (isString || !isEnd && !(depth === 1 && char === ',')) continue
    const element = text.slice(start, i)
    if (!isEnd || elements.length > 0 || element.trim() !== '') elements.push(JSON.parse(element))
    start = i + 1
    if (isEnd && text.slice(i).trim() === ']') return elements
    if (isEnd) break
  }
  throw new SyntaxError('the array in JSON does not end with the text')
}
