// You start several requests or jobs for one view, and they keep working after the user has left it. Here
// each child gets the signal of its parent: cancelling the one job of the view cancels everything below it.
//
//   const view = rt.spawn(countWords, {}, ['/a.txt', '/b.txt'])
//   leave.onclick = () => view.cancel()
//   useEffect(() => () => view.cancel(), []) // the same in React, when the component unmounts
//
// A child without the signal would keep working. The `finally` block ends the other children when one fails.
import { budget, rt } from 'rt.mjs'

/**
 * @param {readonly (string | URL)[]} urls
 * @returns {Generator<any, number[], any>} the number of words of each text
 */
export function* countWords(urls) {
  const signal = rt.current?.signal
  const children = urls.map(url => rt.spawn(countWordsOf, { signal }, url))
  const counts = []
  try {
    for (const child of children) counts.push(yield* child)
    return counts
  } finally {
    for (const child of children) child.cancel()
  }
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
