// You start several requests or jobs for one view, and they keep working after the user has left it. Here
// all of them take the signal of their parent: cancelling the one job of the view cancels everything below
// it.
//
//   const view = rt.spawn(countWords, {}, ['/a.txt', '/b.txt'])
//   leave.onclick = () => view.cancel()
import { budget, rt } from 'rt.mjs'

/**
 * @param {readonly (string | URL)[]} urls
 * @returns {Generator<any, number[], any>} the number of words of each text
 */
export function* countWords(urls) {
  const signal = rt.current?.signal
  const children = urls.map(url => rt.spawn(countWordsOf, { signal }, url))
  const counts = []
  for (const child of children) counts.push(yield* child)
  return counts
}

/** @param {string | URL} url @returns {Generator<any, number, any>} */
function* countWordsOf(url) {
  /** @type {Response} */
  const response = yield fetch(url, { signal: rt.current?.signal ?? null })
  const text = yield response.text()
  let count = 0
  for (const _ of text.matchAll(/\S+/g)) {
    count++
    if (--budget.left <= 0) yield
  }
  return count
}
