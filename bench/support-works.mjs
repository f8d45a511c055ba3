// The works of the benches' workers. If a bench starts this module as a thread with `workerData`, the module
// serves the works itself, with or without Workers.
import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Workers } from '../addons/workers.mjs'
import { computeRow } from '../examples/farm/mandelbrot.mjs'
import { Scheduler, budget, rt } from '../rt.mjs'
import { processorClock } from './support-clock.mjs'

export const add = (a, b) => a + b
export { computeRow }
/**
 * Computes a row and discards it.
 *
 * @param {import('../examples/farm/mandelbrot.mjs').View} view @param {number} row
 */
export function* discardRow(view, row) {
  yield* computeRow(view, row)
}

/**
 * Returns work that only reads a clock, which stops while other threads have the processor, and records the
 * pauses between two readings.
 */
function watched(now) {
  const pauses = []
  const collections = []
  new PerformanceObserver(list => collections.push(...list.getEntries())).observe({ type: 'gc' })

  function* spin(wcet) {
    let left = wcet
    let last = now()
    let from = performance.now()
    for (;;) {
      const time = now()
      const to = performance.now()
      const ms = time - last
      if (ms > 0.5) pauses.push({ from, to, ms })
      left -= ms
      if (left <= 0) return
      last = time
      from = to
      if (--budget.left <= 0) {
        yield
        last = now()
        from = performance.now()
      }
    }
  }

  /**
   * Returns the longest pauses since a time, ms: by this thread's collector, and by causes that Linux does
   * not count.
   */
  async function longest(job, since) {
    await setTimeout(50) // entries arrive later
    const isCollection = ({ from, to }) => collections.some(({ startTime, duration }) => startTime < to && startTime + duration > from)
    const all = pauses.filter(({ from }) => performance.timeOrigin + from > since)
    const of = isWanted => Math.max(0, ...all.filter(pause => isCollection(pause) === isWanted).map(({ ms }) => ms))
    return { collected: of(true), taken: of(false) }
  }
  return { spin, longest }
}

if (workerData?.is === 'bare') {
  parentPort.on('message', ([view, index]) => {
    const steps = computeRow(view, index)
    let step
    do {
      budget.left = 4096
      step = steps.next()
    } while (!step.done)
    parentPort.postMessage(step.value)
  })
} else if (workerData?.is === 'both') {
  Workers.serve({ add, computeRow })
  workerData.port.on('message', message => workerData.port.postMessage(message))
} else if (workerData?.is === 'undisturbed') {
  const { running: now } = processorClock()
  Workers.serve(watched(now), { scheduler: new Scheduler({ host: { ...rt.host, now } }) })
}
