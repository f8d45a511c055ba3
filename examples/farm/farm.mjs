import { ChannelError, connect, par } from '../../sync.mjs'
import { computeRow } from './mandelbrot.mjs'

/** @typedef {import('./mandelbrot.mjs').View} View */

/**
 * The farmer, as a job: gives rows of a picture to workers, each a new one as soon as it takes it, and
 * gathers what they have computed. A row waits at each worker while it computes another, so that none is ever
 * idle for want of a message.
 *
 * @param {any[]} workers endpoints at whose other sides somebody labours
 * @param {View} view
 * @param {(row: number, pixels: Uint8ClampedArray, worker: number) => void} [harvest] gets each row once, in
 *   any order; without it nothing comes back
 * @returns {Generator<any, number[], any>} how many rows each worker computed
 * @throws {ChannelError} when a worker dies; the others are let go of then
 */
export function* farm(workers, view, harvest) {
  const shares = workers.map(() => 0)
  const fields = workers.map(worker => ({ tasks: connect(worker, 'tasks'), rows: connect(worker, 'rows') }))
  let next = 0
  /** @param {number} worker */
  function* feed(worker) {
    const { tasks } = fields[worker]
    while (next < view.height) yield tasks.send({ view, row: next++, isKept: harvest !== undefined })
    // It is received when the worker has done all that came before.
    yield tasks.send(null)
  }
  /** @param {number} worker */
  function* gather(worker) {
    const { rows } = fields[worker]
    for (;;) {
      const done = yield rows.receive()
      if (done === null) return
      shares[worker]++
      if (done.pixels) harvest?.(done.row, done.pixels, worker)
    }
  }
  let isDone = false
  try {
    yield par(...workers.flatMap((_, worker) => [feed(worker), gather(worker)]))
    isDone = true
  } finally {
    // Who labours notices by this that nobody wants it any more.
    if (!isDone) for (const { tasks, rows } of fields) [tasks, rows].forEach(channel => channel.close())
  }
  return shares
}

/**
 * A worker, as a job: computes what it is told until the other side has had enough.
 *
 * @param {any} endpoint
 * @returns {Generator<any, void, any>}
 */
export function* labour(endpoint) {
  for (;;) {
    const tasks = connect(endpoint, 'tasks')
    const rows = connect(endpoint, 'rows')
    try {
      for (;;) {
        const task = yield tasks.receive()
        if (task === null) {
          yield rows.send(null)
          continue
        }
        const { view, row, isKept } = task
        const pixels = yield computeRow(view, row)
        // Transferred: it is not needed here any more.
        if (isKept) yield rows.send({ row, pixels }, { transfer: [pixels.buffer] })
        else yield rows.send({ row })
      }
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error
    }
  }
}
