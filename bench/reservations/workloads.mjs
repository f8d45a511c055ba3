import { processClockHost } from '../../examples/task-sets/process-clock.mjs'
import { budget, defaultHost, edf, fp, Scheduler } from '../../rt.mjs'
import { deviation, mean } from '../support.mjs'

/**
 * @typedef {'process' | 'wall'} Clock 'process': wall time without idle waits and without the time that the
 *   system gave to other processes; 'wall': the clock of the platform
 */

const policies = { fp, edf }

/**
 * Returns a new scheduler and its clock. Each run needs its own.
 * @param {'fp' | 'edf'} policy
 * @param {Clock} clock
 * @param {object} [options] options of the scheduler
 */
export function laboratory(policy, clock, options = {}) {
  const host = clock === 'wall' ? { ...defaultHost() } : processClockHost()
  // An event's timestamp is on another clock, so an event is released when its listener is called.
  host.eventTime = host.now
  return { scheduler: new Scheduler({ policy: policies[policy], host, ...options }), now: host.now }
}

/** A result of the work, so that no compiler can remove it. */
let sediment = 1

/**
 * Increments a counter a thousand times. Between two increments runs a chain of dependent steps, which is
 * least slowed down by work on the other hyper-thread of the core.
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

/** Counts endlessly. @param {{ count: number }} [progress] */
export function* countOn(progress = { count: 0 }) {
  for (;;) yield* count(progress)
}

/**
 * Spawns jobs that use all the time they can get.
 * @param {Scheduler} scheduler
 * @param {number} number
 * @param {() => Generator} [work]
 */
export const hogs = (scheduler, number, work = countOn) =>
  Array.from({ length: number }, (_, i) => scheduler.spawn(work, { name: `hog ${i + 1}` }))

/**
 * Tests odd numbers until the job has used `ms` more of the processor. The amount of work is not fixed,
 * because shared machines change their speed by more than the measured effects.
 * @param {Scheduler} scheduler
 * @param {number} ms
 * @returns {Generator<undefined, number>} number of tested numbers
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

/** Returns the coefficient of variation, %. @param {number[]} values */
export const variation = values => deviation(values) / mean(values) * 100

/**
 * Cancels the works and waits until the scheduler is idle.
 * @param {Scheduler} scheduler
 * @param {{ cancel(): unknown }[]} works
 */
export async function end(scheduler, works) {
  for (const work of works) work.cancel()
  await scheduler.idle()
}

/** Number of repeated runs. */
export let repeated = 0

/**
 * Repeats a run that the machine has disturbed, at most twice. On the wall clock, disturbances are part of
 * the result.
 * @template {{ disturbance: number }} T
 * @param {() => Promise<T>} run returns a `disturbance` above 1 if the machine disturbed the run too much
 * @param {Clock} clock
 * @returns {Promise<T>} the least disturbed run
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

/**
 * Maximum length of an undisturbed budget, ms. A longer budget is a pause of the machine that the clock did
 * not detect.
 */
export const longestUndisturbed = 5

/** @param {Scheduler} scheduler */
export const disturbanceOf = scheduler => scheduler.stats().longestBudget / longestUndisturbed
