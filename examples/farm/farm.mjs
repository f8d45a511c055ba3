/** @typedef {import('./mandelbrot.mjs').View} View */

/**
 * A picture, as a job: its rows are jobs in workers, which each get the next as they end one. Cancelled, it cancels them.
 *
 * @param {import('../../sync.mjs').Workers<typeof import('./mandelbrot.mjs')>} workers
 * @param {View} view
 * @param {(row: number, pixels: Uint8ClampedArray) => void} harvest gets each row once, in any order
 * @returns {Generator<any, void, any>}
 * @throws {import('../../sync.mjs').ChannelError} when a worker dies that its rows are not started again elsewhere of
 */
export function* farm(workers, view, harvest) {
  const rows = Array.from({ length: view.height }, (_, row) => workers.spawn('computeRow', {}, view, row))
  try {
    yield Promise.all(rows.map((job, row) => job.then(pixels => harvest(row, pixels))))
  } finally {
    for (const job of rows) job.cancel()
  }
}
