import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Scheduler } from '../rt.mjs'
import { asyncCommsTime, byHand, commsTime } from './support-comms.mjs'
import { cpuTime, figure, heading, median, optionsOf, peer, table, target } from './support.mjs'

// V8 discards optimized code in a full collection if no object of its hidden classes is alive. Both columns
// therefore matter: the steady state of a busy page, and the time after a collection. A run is long enough
// that recompilation after a collection is only a small part of it.
const CYCLES = 100_000
const WARM_UP = 3
const PASSES = 12
const OURS = 'rt.mjs'
const TARGETS = [
  { name: 'generators and a queue by hand', without: 3.5, collecting: 3.8 },
  { name: '@thi.ng/csp', without: 0.9, collecting: 0.65 },
  { name: 'medium', without: 1.2, collecting: 0.7 }
]

const { processes, turn } = optionsOf({ processes: '5', turn: '' })
if (turn) console.log(JSON.stringify(await ratios(turn === 'collecting')))
else await main()

/**
 * Measures all ways in this process.
 *
 * @param {boolean} isCollecting
 * @returns {Promise<Record<string, number[]>>} per way: the median in ns, and the ratio of rt.mjs to this way
 */
async function ratios(isCollecting) {
  const csp = await peer('@thi.ng/csp/index.js')
  const medium = await peer('medium/lib/index.js')
  const scheduler = new Scheduler()
  const { chan, put, take } = medium?.default ?? medium ?? {}
  const ways = {
    [TARGETS[0].name]: () => byHand(CYCLES),
    ...csp && {
      '@thi.ng/csp': () => asyncCommsTime(
        CYCLES, () => csp.channel(), (channel, message) => channel.write(message), channel => channel.read())
    },
    ...medium && { medium: () => asyncCommsTime(CYCLES, () => chan(), put, take) },
    [OURS]: () => commsTime(scheduler, CYCLES)
  }
  const costs = Object.fromEntries(Object.keys(ways).map(name => [name, []]))
  for (let pass = -WARM_UP; pass < PASSES; pass++) {
    for (const [name, run] of Object.entries(ways)) {
      if (isCollecting) globalThis.gc()
      const started = cpuTime()
      await run()
      if (pass >= 0) costs[name].push((cpuTime() - started) * 1e6 / CYCLES)
    }
  }
  return Object.fromEntries(Object.entries(costs).map(([name, all]) =>
    [name, [median(all), median(costs[OURS].map((cost, pass) => cost / all[pass]))]]))
}

async function main() {
  heading('CommsTime beside other channels, all in one process',
    `CPU time, ${figure(CYCLES)} cycles a run, medians of ${processes} processes`)
  for (const path of ['@thi.ng/csp/index.js', 'medium/lib/index.js']) await peer(path)
  const found = { without: [], collecting: [] }
  for (let i = 0; i < Number(processes); i++) {
    // Alternate the modes, so that both meet the same disturbances.
    for (const mode of Object.keys(found)) {
      const own = fileURLToPath(import.meta.url)
      const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', own, '--turn', mode])
      found[mode].push(JSON.parse(stdout.trim().split('\n').at(-1)))
    }
  }
  const of = (mode, name, i) => median(found[mode].map(result => result[name]?.[i] ?? NaN))
  const columns = ['without', 'collecting'].flatMap(mode => [[mode, 0], [mode, 1]])
  table(
    ['ns per cycle', 'without collections', 'ours to it', 'a full collection before each run', 'ours to it'],
    Object.keys(found.without[0]).map(name => [name, ...columns.map(([mode, i]) => of(mode, name, i))])
  )
  for (const { name, ...bounds } of TARGETS) {
    target(`to ${name}`, of('without', name, 1), { most: bounds.without })
    target(`to ${name}, with collections`, of('collecting', name, 1), { most: bounds.collecting })
  }
}
