import { Task, budget } from '../../rt.mjs'
import { on, periodic } from '../../alarms.mjs'
import { nonPreemptive } from '../../sync.mjs'

/**
 * A page that misses deadlines on purpose. Inputs should be handled within 32 ms. A save of 120 ms runs every
 * 300 ms, and an index is computed in the remaining time.
 *
 * @typedef {'nobody' | 'section' | 'stall'} Culprit the cause of late inputs: none, the save's critical
 *   section, or the save without any preemption point
 */

/** Relative deadline of an input, ms. */
export const inputDeadline = 32
export const savePeriod = 300
export const saveLength = 120
const inputLength = 2

/**
 * @param {import('../../rt.mjs').Scheduler} scheduler
 * @param {object} options
 * @param {() => Culprit} options.culprit called at the start of each save
 * @param {[target: EventTarget, type: string][]} options.inputs
 * @param {(event: any) => any} [options.before] called in the listener itself
 * @param {(what: any) => void} [options.onInput] called with the result of `before` when the input has been
 *   handled
 * @param {() => number} [options.now] clock of the scheduler's host
 * @param {() => void} [options.step] performs a little work
 * @returns {() => void} stops the page
 */
export function beLate(scheduler, options) {
  const { culprit, inputs, before, onInput, now = () => scheduler.now(), step = () => {} } = options
  const index = scheduler.spawn(function* () {
    for (;;) yield* work(Infinity)
  }, { name: 'index' })

  const save = periodic(new Task(function* () {
    const how = culprit()
    if (how === 'stall') occupy(saveLength)
    else if (how === 'section') yield nonPreemptive(() => work(saveLength))
    else yield* work(saveLength)
  }, { name: 'save', scheduler }), { period: savePeriod, deadline: savePeriod })

  const handle = new Task(function* (what) {
    yield* work(inputLength)
    onInput?.(what)
  }, { name: 'input', deadline: inputDeadline, scheduler })
  const handlers = inputs.map(([target, type]) => on(target, type, handle, { before }))

  return () => {
    for (const source of [...handlers, save, index]) source.cancel()
  }

  /** Executes for `ms` ms, with preemption points. @param {number} ms */
  function* work(ms) {
    let left = ms
    let last = now()
    for (;;) {
      step()
      const time = now()
      left -= time - last
      last = time
      if (left <= 0) return
      if (--budget.left <= 0) {
        yield
        // Other jobs may have run during the yield.
        last = now()
      }
    }
  }

  /** Blocks the thread for `ms` ms. @param {number} ms */
  function occupy(ms) {
    for (const end = now() + ms; now() < end;) step()
  }
}
