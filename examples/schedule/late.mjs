import { Task, budget } from '../../rt.mjs'
import { on, periodic } from '../../alarms.mjs'
import { nonPreemptive } from '../../sync.mjs'

/**
 * A page that is late on purpose: inputs that are to be handled within 32 ms, a save of 120 ms every 300 ms,
 * and an index that is computed whenever nothing else is to be done.
 *
 * @typedef {'nobody' | 'section' | 'stall'} Culprit how the save keeps others from running: not at all, by a
 *   critical section, or without any preemption point
 */

/** ms from an event to the end of its handling. */
export const inputDeadline = 32
export const savePeriod = 300
export const saveLength = 120
const inputLength = 2

/**
 * @param {import('../../rt.mjs').Scheduler} scheduler
 * @param {object} options
 * @param {() => Culprit} options.culprit asked at each save
 * @param {[target: EventTarget, type: string][]} options.inputs
 * @param {(event: any) => any} [options.before] runs in the listener itself
 * @param {(what: any) => void} [options.onInput] has handled what `before` picked
 * @param {() => number} [options.now] the clock of the scheduler's host
 * @param {() => void} [options.step] a little work
 * @returns {() => void} ends it
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

  /** Executes for so many ms, with preemption points. @param {number} ms */
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
        // What passed at the yield went to others.
        last = now()
      }
    }
  }

  /** Keeps the thread for so many ms. @param {number} ms */
  function occupy(ms) {
    for (const end = now() + ms; now() < end;) step()
  }
}
