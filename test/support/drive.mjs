/**
 * The least that a preemptible function needs of whoever drives it: a call stack, a budget, and someone who
 * waits for promises. No scheduler is involved, so that what goes wrong here is wrong with the function.
 */
import { preemptify as ourPreemptify } from '../../addons/preemptify.mjs'
import * as rt from '../../rt.mjs'

/**
 * @typedef {object} DriveOptions
 * @property {number} [limit] what `budget.left` is set to before each resume
 * @property {(spent: number) => void} [onPoint] called at each preemption point that yields, with what of the
 *   budget was spent since the one before; the last call is at the end
 * @property {{ left: number }} [budget] that of another instance of rt.mjs
 */

/**
 * Runs a generator to its end. What it yields decides: `undefined` is a preemption point, a generator is a
 * call.
 * @param {Generator} generator
 * @param {DriveOptions} [options]
 * @returns {any} what the generator returns; what it throws is thrown
 */
export function drive(generator, options) {
  const { done, value } = run(generator, options).next()
  if (!done) throw new TypeError('the generator waits for a promise: it takes driveAsync')
  return value
}

/**
 * The same for generators that yield promises as well.
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

/** Yields the promises that the generator waits for. */
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
      // Others may have run meanwhile, on a budget of their own.
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
 * A function of the corpus and those that it calls, all made preemptible and linked with each other.
 * @param {import('../corpus/index.mjs').Entry} entry
 * @param {object} [options] of preemptify
 * @param {typeof ourPreemptify} [preemptify] that of another instance of rt.mjs
 * @returns {(...args: any[]) => Generator}
 */
export function preemptible({ fn, calls = {}, scope }, options, preemptify = ourPreemptify) {
  const linked = {}
  for (const [name, callee] of Object.entries(calls)) {
    linked[name] = preemptify(callee, { calls: linked, scope, ...options })
  }
  return preemptify(fn, { calls: linked, scope, ...options })
}
