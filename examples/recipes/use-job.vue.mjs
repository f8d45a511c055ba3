// A component computes its result from reactive state, and typing lags. Here the computation is a job:
// when the state changes, the old job is cancelled, and the template shows the result of the new one.
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
//   const text = ref(''), found = useJob(search, () => [rows, text.value], { deadline: 200 })
import { shallowRef, watch } from 'vue'
import { rt } from 'rt.mjs'

/**
 * @template {any[]} A @template R
 * @param {(...args: A) => Generator<any, R, any>} work
 * @param {() => A} args reads the reactive state
 * @param {import('rt.mjs').TaskOptions} [options]
 */
export function useJob(work, args, options) {
  /** @type {import('vue').ShallowRef<R | undefined>} */
  const result = shallowRef()
  watch(args, (values, _, onCleanup) => {
    const job = rt.spawn(work, options, ...values)
    onCleanup(() => { job.cancel() })
    job.then(value => { result.value = value }, error => {
      if (job.state === 'failed') throw error
    })
  }, { immediate: true })
  return result
}
