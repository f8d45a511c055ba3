// What the workers of benches do. Begun as a thread itself, it serves that, or without Workers.
import { parentPort, workerData } from 'node:worker_threads'
import { computeRow } from '../examples/farm/mandelbrot.mjs'
import { spinning } from '../examples/task-sets/experiment.mjs'
import { Scheduler, budget, rt } from '../rt.mjs'
import { Workers } from '../sync.mjs'
import { processorClock } from './support-clock.mjs'

export const add = (a, b) => a + b
export { computeRow }
/** A row that nobody gets. @param {import('../examples/farm/mandelbrot.mjs').View} view @param {number} row */
export function* discardRow(view, row) {
  yield* computeRow(view, row)
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
} else if (workerData?.is === 'undisturbed') {
  const { running: now } = processorClock()
  const work = spinning(now)
  const pause = () => work.longestPause
  Workers.serve({ spin: work.preemptible, pause }, { scheduler: new Scheduler({ host: { ...rt.host, now } }) })
}
