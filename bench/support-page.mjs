// Runs in the page: other ways to slice work, instead of the scheduler. They run the same generators.
import { byCallbacks, scheduled } from '../examples/macro/ways.mjs'
import { budget, edf } from '../rt.mjs'

/** Length of a slice, ms, as in React. */
const slice = 5

/** Preemption points between two clock readings. */
const points = 64

/** The remaining work of a job. A generator that it yields is a call. */
class Steps {
  #stack

  /** @param {Generator} steps */
  constructor(steps) {
    this.#stack = [steps]
  }

  /**
   * @param {() => boolean} isOver called after every `points` points
   * @returns {boolean} whether the job has finished
   */
  run(isOver) {
    const stack = this.#stack
    let value
    do {
      budget.left = points
      const { done, value: yielded } = stack[stack.length - 1].next(value)
      value = undefined
      if (done) {
        stack.pop()
        value = yielded
        if (stack.length === 0) return true
      } else if (yielded !== undefined) {
        stack.push(yielded)
      }
    } while (!isOver())
    return false
  }
}

function until(time) {
  return () => performance.now() >= time
}

/** @param {(next: () => void) => void} giveWay calls `next` later */
const slicedBy = giveWay => (place, work, args, done) => {
  const steps = new Steps(work.preemptible(...args))
  const next = () => {
    if (place.isOver()) return
    if (steps.run(until(performance.now() + slice))) done()
    else giveWay(next)
  }
  next()
}

async function loadReact() {
  const response = await fetch('/bench/peers/node_modules/scheduler/cjs/scheduler.production.js')
  const exports = {}
  new Function('exports', await response.text())(exports)
  return exports
}

/**
 * @param {boolean} hasReact @returns {Promise<import('../examples/macro/ways.mjs').Way[]>} the available ways
 */
export async function peers(hasReact) {
  const react = hasReact ? await loadReact() : undefined
  const byReact = (place, work, args, done) => {
    const steps = new Steps(work.preemptible(...args))
    const next = () => {
      if (place.isOver()) return null
      if (!steps.run(react.unstable_shouldYield)) return next
      done()
      return null
    }
    const { unstable_NormalPriority: normal, unstable_LowPriority: low } = react
    react.unstable_scheduleCallback(work.deadline < 1000 ? normal : low, next)
  }
  return [
    scheduled('paper', 'RT.js\'s parameters', edf, { budget: 300, round: 1, budgets: { AES: 10 } }),
    ...globalThis.scheduler?.yield
      ? [byCallbacks('yield', 'scheduler.yield', slicedBy(next => { scheduler.yield().then(next) }))] : [],
    byCallbacks('timeout', 'setTimeout(0)', slicedBy(next => { setTimeout(next) })),
    ...react === undefined ? [] : [byCallbacks('react', 'React scheduler', byReact)]
  ]
}
