// Deletes the iterators of built-in objects before or after the modules are loaded, runs one use of each
// export, and posts the failures to the test server.
import { load, run, smokesOf } from '../support/smokes.mjs'

const parameters = new URLSearchParams(location.search)
const { iterator } = Symbol
const prototypes = [Array, Map, Set, String].map(({ prototype }) => ({ prototype, value: prototype[iterator] }))
const remove = () => prototypes.forEach(({ prototype }) => { delete prototype[iterator] })
const restore = () => prototypes.forEach(({ prototype, value }) => {
  Object.defineProperty(prototype, iterator, { value, writable: true, configurable: true })
})

if (parameters.get('when') === 'before') remove()
let failures
try {
  const all = await load()
  const smokes = smokesOf(all)
  remove()
  failures = await run(smokes, Object.keys(all).filter(name => name in smokes))
} catch (error) {
  failures = [String(error)]
}
restore()
// The test can leave the page before the response has arrived.
fetch(parameters.get('report'), { method: 'POST', body: JSON.stringify({ failures }) }).catch(() => {})
