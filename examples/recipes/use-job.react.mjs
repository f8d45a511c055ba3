// A component filters or computes from props or state, and typing lags. Here the hook runs the
// computation as a job: new arguments cancel the old job, and the component renders again with the result.
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
//   const found = useJob(search, [rows, text], { deadline: 200 }) // undefined before the first result
//
// The arguments are the dependencies of an effect: a new array in each render would start a new job in each
// render, so keep `rows` in state or in `useMemo`. Until the new result arrives, the component shows the old
// one. React still renders in one piece: show few rows, or combine the hook with `useTransition`.
import { useEffect, useState } from 'react'
import { rt } from 'rt.mjs'

/**
 * @template {any[]} A @template R
 * @param {(...args: A) => Generator<any, R, any>} work
 * @param {A} args
 * @param {import('rt.mjs').TaskOptions} [options]
 */
export function useJob(work, args, options) {
  const [result, setResult] = useState(/** @type {R | undefined} */ (undefined))
  useEffect(() => {
    const job = rt.spawn(work, options, ...args)
    job.then(value => setResult(() => value), error => {
      if (job.state === 'failed') setResult(() => { throw error }) // for the error boundary
    })
    return () => { job.cancel() }
  }, args)
  return result
}
