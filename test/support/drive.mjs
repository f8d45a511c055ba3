/**
 * A minimal driver of preemptible functions: a call stack, a budget, and a wait for promises. It uses no
 * scheduler, so that a failure in these tests is a failure of the function.
 */
import { preemptify as ourPreemptify } from '../../addons/preemptify.mjs'
import * as rt from '../../rt.mjs'

/**
 * @typedef {object} DriveOptions
 * @property {number} [limit] the value of `budget.left` before each resume
 * @property {(spent: number) => void} [onPoint] called at each preemption point that yields, with the part of
 *   the budget spent since the previous point, and once more at the end
 * @property {{ left: number }} [budget] the budget of another instance of rt.mjs
 */

/**
 * Runs a generator to completion. A yielded `undefined` is a preemption point, a yielded generator is a call.
 *
 * @param {Generator} generator
 * @param {DriveOptions} [options]
 * @returns {any} the result of the generator; its error is thrown
 */
export function drive(generator, options) {
  const { done, value } = run(generator, options).next()
  if (!done) throw new TypeError('the generator waits for a promise: it takes driveAsync')
  return value
}

/**
 * Runs a generator that also yields promises.
 * @param {Generator} generator
 * @param {DriveOptions} [options]
 * @returns {Promise<any>}
 */
export async function driveAsync(generator, options) {
  const waits = run(generator, options)
  let step = waits.next()
  while (!step.done) {
    const resume = await Promise.resolve(step.value).then(
      value => () => waits.next(value),
      error => () => waits.throw(error))
    step = resume()
  }
  return step.value
}

/** Runs a generator, and yields the promises for which it waits. */
function* run(generator, { limit = 2 ** 30, onPoint = () => {}, budget = rt.budget } = {}) {
  const callers = []
  let callee = generator
  let failed = false
  let answer
  budget.left = limit

  const refill = () => {
    const spent = limit - budget.left
    budget.left = limit
    onPoint(spent)
  }

  for (;;) {
    let step
    try {
      step = failed ? callee.throw(answer) : callee.next(answer)
    } catch (error) {
      if (callers.length === 0) throw error
      callee = callers.pop()
      failed = true
      answer = error
      continue
    }
    const { done, value } = step
    failed = false
    answer = undefined
    if (done) {
      if (callers.length === 0) {
        refill()
        return value
      }
      callee = callers.pop()
      answer = value
    } else if (value === undefined) {
      refill()
    } else if (typeof value?.next === 'function') {
      callers.push(callee)
      callee = value
    } else if (typeof value?.then === 'function') {
      // Other code may have used the budget in the meantime.
      const { left } = budget
      try {
        answer = yield value
      } catch (error) {
        failed = true
        answer = error
      }
      budget.left = left
    } else {
      throw new TypeError(`a point, a call or a promise was expected, got ${String(value)}`)
    }
  }
}

/**
 * Makes a function of the corpus and its callees preemptible, and links them with each other.
 * @param {import('../corpus/index.mjs').Entry} entry
 * @param {object} [options] the options of preemptify
 * @param {typeof ourPreemptify} [preemptify] the function of another instance of rt.mjs
 * @returns {(...args: any[]) => Generator}
 */
export function preemptible({ fn, calls = {}, scope }, options, preemptify = ourPreemptify) {
  const linked = {}
  for (const [name, callee] of Object.entries(calls)) {
    linked[name] = preemptify(callee, { calls: linked, scope, ...options })
  }
  return preemptify(fn, { calls: linked, scope, ...options })
}
