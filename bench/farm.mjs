import { availableParallelism } from 'node:os'
import { Worker, isMainThread, parentPort } from 'node:worker_threads'
import { farm, labour } from '../examples/farm/farm.mjs'
import { computeRow, whole } from '../examples/farm/mandelbrot.mjs'
import { Scheduler, budget, rt } from '../rt.mjs'
import { heading, median, table } from './support.mjs'

const view = whole(3000, 2000)
const turns = 3

/** The same rows one after the other, in a loop, without jobs or channels. */
function alone() {
  const began = performance.now()
  for (let row = 0; row < view.height; row++) {
    const steps = computeRow(view, row)
    do budget.left = 4096
    while (!steps.next().done)
  }
  return performance.now() - began
}

async function farmed(workers, harvest) {
  const began = performance.now()
  await new Scheduler().spawn(farm(workers, view, harvest))
  return performance.now() - began
}

async function main() {
  const most = availableParallelism()
  const conditions = `wall time, median of ${turns}`
  heading('a Mandelbrot set of 3000 x 2000 by 1 to n workers, a row per message', conditions)
  const picture = new Uint8ClampedArray(view.width * view.height * 4)
  const harvest = (row, pixels) => picture.set(pixels, row * view.width * 4)
  /** @type {Map<string, { ms: number, speedUp: number }[]>} */
  const times = new Map()
  const note = (name, ms, base) => times.set(name, [...times.get(name) ?? [], { ms, speedUp: base / ms }])
  const ways = { 'rows thrown away': undefined, 'rows gathered': harvest }
  alone()
  for (let turn = 0; turn < turns; turn++) {
    for (let count = 1; count <= most; count++) {
      const workers = Array.from({ length: count }, () => new Worker(new URL(import.meta.url)))
      // Until they are loaded and compiled.
      await new Scheduler().spawn(farm(workers, whole(900, 600), () => {}))
      // Beside each other, since shared machines change their speed; in changing order.
      const base = alone()
      note('a loop', base, base)
      const names = turn % 2 === 0 ? Object.keys(ways) : Object.keys(ways).reverse()
      for (const name of names) note(`${count}, ${name}`, await farmed(workers, ways[name]), base)
      for (const worker of workers) await worker.terminate()
    }
  }
  const rows = [...times].map(([name, all]) =>
    [name, median(all.map(({ ms }) => ms)) / 1000, median(all.map(({ speedUp }) => speedUp))])
  table(['workers', 's', 'speed-up'], rows)
}

if (isMainThread) await main()
else rt.spawn(labour(parentPort))
