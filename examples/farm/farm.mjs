import { budget } from '../../rt.mjs'

/** @typedef {import('./mandelbrot.mjs').View} View */

/**
 * Computes a picture, as a job. Each row is a job in a worker; a worker that finishes a row gets the next
 * one. Cancelling this job cancels its rows.
 *
 * @param {import('../../addons/workers.mjs').Workers<typeof import('./mandelbrot.mjs')>} workers
 * @param {View} view
 * @param {(row: number, pixels: Uint8ClampedArray) => void} harvest called once per row, in any order
 * @returns {Generator<any, void, any>}
 * @throws {import('../../sync.mjs').ChannelError} if a worker dies and its rows are not restarted in another
 *   one
 */
export function* farm(workers, view, harvest) {
  /**
   * @type {(import('../../rt.mjs').Job<Uint8ClampedArray> | null)[]} jobs of unfinished rows, by row; null
   *   for finished rows
   */
  const rows = []
  const harvested = []
  try {
    for (let row = 0; row < view.height; row++) {
      yield workers.ready() // the workers accept a limited number of jobs
      const job = workers.spawn('computeRow', {}, view, row)
      rows[row] = job
      const one = job.then(pixels => {
        rows[row] = null // releases the pixels, too
        harvest(row, pixels)
      })
      one.catch(() => {}) // reported below
      harvested.push(one)
      // Yield between rows, so that messages of the workers arrive. Otherwise they would idle after their
      // first rows.
      if (--budget.left <= 0) yield
    }
    yield Promise.all(harvested)
  } finally {
    for (const job of rows) job?.cancel()
  }
}
