import { budget } from '../../rt.mjs'

/** @typedef {import('./mandelbrot.mjs').View} View */

/**
 * A picture, as a job: its rows are jobs in workers, which each get the next as they end one. Cancelled, it cancels them.
 *
 * @param {import('../../addons/workers.mjs').Workers<typeof import('./mandelbrot.mjs')>} workers
 * @param {View} view
 * @param {(row: number, pixels: Uint8ClampedArray) => void} harvest gets each row once, in any order
 * @returns {Generator<any, void, any>}
 * @throws {import('../../sync.mjs').ChannelError} when a worker dies that its rows are not started again elsewhere of
 */
export function* farm(workers, view, harvest) {
  /** @type {(import('../../rt.mjs').Job<Uint8ClampedArray> | null)[]} those that are not there */
  const rows = []
  const harvested = []
  try {
    for (let row = 0; row < view.height; row++) {
      yield workers.ready() // they take no more jobs than so many at once
      const job = workers.spawn('computeRow', {}, view, row)
      rows[row] = job
      const one = job.then(pixels => {
        rows[row] = null // and with it its pixels
        harvest(row, pixels)
      })
      one.catch(() => {}) // said below
      harvested.push(one)
      // The workers are heard in between, or have nothing to do when they have done the first rows.
      if (--budget.left <= 0) yield
    }
    yield Promise.all(harvested)
  } finally {
    for (const job of rows) job?.cancel()
  }
}
