// A component computes its result from props or state, and typing lags while it renders. Here the hook
// runs the computation as a job: new arguments cancel the old job, and the component renders again with
// the result.
//
//   const found = useJob(search, [text], { deadline: 200 }) // undefined before the first result
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
