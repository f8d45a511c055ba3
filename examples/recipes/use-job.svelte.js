// A component computes its result from $state, and typing lags. Here the computation is a job: when the
// state changes, the old job is cancelled, and the component shows the result of the new one.
//
//   import { budget } from 'rt.mjs'
//
//   function* search(rows, text) {
//     const found = []
//     for (const row of rows) {
//       if (row.name.includes(text)) found.push(row)
//       if (--budget.left <= 0) yield // now and then the browser gets its turn
//     }
//     return found.slice(0, 100)
//   }
//
//   let text = $state(''); const found = useJob(search, () => [rows, text], { deadline: 200 }) // found.current
import { rt } from 'rt.mjs'

/**
 * @template {any[]} A @template R
 * @param {(...args: A) => Generator<any, R, any>} work
 * @param {() => A} args reads the state
 * @param {import('rt.mjs').TaskOptions} [options]
 */
export function useJob(work, args, options) {
  let result = $state.raw(/** @type {R | undefined} */ (undefined))
  $effect(() => {
    const job = rt.spawn(work, options, ...args())
    job.then(value => { result = value }, error => {
      if (job.state === 'failed') throw error
    })
    return () => { job.cancel() }
  })
  return { get current() { return result } }
}
