import { processClockHost } from '../../examples/task-sets/process-clock.mjs'
import { budget, defaultHost, edf, fp, Scheduler } from '../../rt.mjs'
import { deviation, mean } from '../support.mjs'

/**
 * @typedef {'process' | 'wall'} Clock wall time less what the system gave to other processes, idle waits
 *   skipped; or the platform's
 */

const policies = { fp, edf }

/**
 * A scheduler of its own for each run.
 * @param {'fp' | 'edf'} policy
 * @param {Clock} clock
 * @param {object} [options] of the scheduler
 */
export function laboratory(policy, clock, options = {}) {
  const host = clock === 'wall' ? { ...defaultHost() } : processClockHost()
  // An event's own time stamp is on another clock. Its release is when its listener is called.
  host.eventTime = host.now
  return { scheduler: new Scheduler({ policy: policies[policy], host, ...options }), now: host.now }
}

/** So that no compiler leaves the work out. */
let sediment = 1

/**
 * Increments a counter a thousand times. Between two increments is a chain in which each step waits for the
 * one before it: what the other half of a core does slows that down less than anything else.
 * @param {{ count: number }} progress
 */
export function* count(progress) {
  let state = sediment
  for (let i = 0; i < 1000; i++) {
    for (let link = 0; link < 16; link++) state = Math.imul(state, 0x9E3779B1) ^ (state >>> 15)
    progress.count++
    if (--budget.left <= 0) yield
  }
  sediment = state
}

/** Counts without an end. @param {{ count: number }} [progress] */
export function* countOn(progress = { count: 0 }) {
  for (;;) yield* count(progress)
}

/**
 * Jobs that take all they can get.
 * @param {Scheduler} scheduler
 * @param {number} number
 * @param {() => Generator} [work]
 */
export const hogs = (scheduler, number, work = countOn) =>
  Array.from({ length: number }, (_, i) => scheduler.spawn(work, { name: `hog ${i + 1}` }))

/**
 * Tests odd numbers until the job has had `ms` more of the processor: not up to a fixed number, since shared
 * machines change their speed by more than what is measured.
 * @param {Scheduler} scheduler
 * @param {number} ms
 * @returns {Generator<undefined, number>} how many it has tested
 */
export function* findPrime(scheduler, ms) {
  const job = scheduler.current
  const end = job.cost + ms
  const first = 1_000_003
  let number = first
  for (; job.cost < end; number += 2) {
    let isPrime = true
    for (let divisor = 3; isPrime && divisor * divisor <= number; divisor += 2) {
      isPrime = number % divisor !== 0
      if (--budget.left <= 0) yield
    }
    if (isPrime) sediment ^= number
  }
  return (number - first) / 2
}

/** The coefficient of variation, in %. @param {number[]} values */
export const variation = values => deviation(values) / mean(values) * 100

/**
 * Ends what runs, and waits until it has.
 * @param {Scheduler} scheduler
 * @param {{ cancel(): unknown }[]} works
 */
export async function end(scheduler, works) {
  for (const work of works) work.cancel()
  await scheduler.idle()
}

/** How many runs had to be repeated. */
export let repeated = 0

/**
 * Repeats a run that the machine has disturbed, twice at most. By wall time, disturbances belong to it.
 * @template {{ disturbance: number }} T
 * @param {() => Promise<T>} run `disturbance`: above 1, it says more about the machine than the scheduler
 * @param {Clock} clock
 * @returns {Promise<T>} the one that was disturbed least
 */
export async function undisturbed(run, clock) {
  let best = await run()
  for (let i = 0; i < 2 && best.disturbance > 1 && clock === 'process'; i++) {
    repeated++
    const next = await run()
    if (next.disturbance < best.disturbance) best = next
  }
  return best
}

/** A longer budget, ms, is a pause of the machine that the clock has not noticed. */
export const longestUndisturbed = 5

/** @param {Scheduler} scheduler */
export const disturbanceOf = scheduler => scheduler.stats().longestBudget / longestUndisturbed
