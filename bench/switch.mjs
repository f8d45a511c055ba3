import { defaultHost, edf, fp, Scheduler } from '../rt.mjs'
import { figure, heading, measure, printRows, statistics, statisticsColumns, synchronousHost, table } from './support.mjs'

const switches = 20_000

/** Counts the actual switches, so that no variant can be faster by skipping switches. */
let latest = 0
let counted = 0

function* player(me) {
  for (let i = 0; i < switches / 2; i++) {
    if (latest !== me) {
      latest = me
      counted++
    }
    yield
  }
}

function* deepPlayer(me, depth) {
  yield depth === 1 ? player(me) : deepPlayer(me, depth - 1)
}

function variant(name, run) {
  return {
    name,
    operations: switches,
    run() {
      latest = counted = 0
      run()
      if (counted < switches - 1) throw new Error(`${name}: only ${counted} of ${switches} switches`)
    }
  }
}

function byHand() {
  const one = player(1)
  const other = player(2)
  while (!one.next().done) other.next()
}

// The slice has always expired, and the clock is read at every point: every yield switches.
const everyYield = { slice: Number.MIN_VALUE, budget: 1 }

/**
 * A clock that returns a new value at each reading. In pages the clock can stand still, and no slice would
 * expire.
 */
let readings = 0
const read = performance.now.bind(performance)
const advancing = () => read() + ++readings * 1e-7

function scheduled({ now = advancing, ...options }, work = player, ...args) {
  const host = synchronousHost(now)
  const scheduler = new Scheduler({ ...everyYield, ...options, host })
  return () => {
    scheduler.spawn(work, undefined, 1, ...args)
    scheduler.spawn(work, undefined, 2, ...args)
    host.drain()
  }
}

/** A clock without cost, which leaves only the cost of the dispatcher. */
let ticks = 0
const ticking = () => ++ticks

function readClock() {
  const now = performance.now.bind(performance)
  let latest = 0
  for (let i = 0; i < switches; i++) latest = now()
  return latest
}

const onDefaultHost = new Scheduler({ ...everyYield, host: { ...defaultHost(), now: advancing } })
async function onEventLoop() {
  latest = counted = 0
  const one = onDefaultHost.spawn(player, undefined, 1)
  const other = onDefaultHost.spawn(player, undefined, 2)
  await one
  await other
  if (counted < switches - 1) throw new Error(`only ${counted} of ${switches} switches`)
}

/** RTJPerf, Table 1: single switches, including the cost of the clock. */
function samples(next) {
  const now = performance.now.bind(performance)
  const taken = []
  let left = 0
  function* sampled() {
    while (taken.length < 3000) {
      const before = left
      left = now()
      if (before !== 0) taken.push((left - before) * 1000)
      left = now()
      yield
    }
  }
  next(sampled)
  return statistics(taken.slice(-1000))
}

heading('what it costs to hand over between two equal jobs at every yield',
  `CPU time, ${figure(switches)} switches a run`)

printRows('variant', 'ns per switch', await measure([
  variant('two bare generators, alternated by hand', byHand),
  { name: 'performance.now() alone', operations: switches, run: readClock },
  variant('scheduler, edf', scheduled({ policy: edf })),
  variant('scheduler, fp', scheduled({ policy: fp })),
  variant('scheduler, edf, 10 yielded calls deep', scheduled({ policy: edf }, deepPlayer, 10)),
  variant('scheduler, edf, a clock that costs nothing',
    scheduled({ policy: edf, now: ticking, round: Infinity })),
  { name: 'scheduler, edf, default host', operations: switches, run: onEventLoop, async: true }
]))

console.log('\n### 1000 single hand-overs, us, wall time, the clock\'s own cost contained (RTJPerf, Table 1: jRate 1.449 ± 0.002)\n')
table(['hand-over', ...statisticsColumns], [
  ['two bare generators, alternated by hand', ...samples(work => {
    const [one, other] = [work(), work()]
    while (!one.next().done) other.next()
  })],
  ...[edf, fp].map(policy => [`scheduler, ${policy.name}`, ...samples(work => {
    const host = synchronousHost(advancing)
    const scheduler = new Scheduler({ ...everyYield, policy, host })
    for (let i = 0; i < 2; i++) scheduler.spawn(work)
    host.drain()
  })])
])
