import { budget, Scheduler } from '../rt.mjs'
import {
  find, heading, measure, median, printRows, synchronousHost, table, target, undisturbedClock
} from './support.mjs'

// Figure 4 of RT.js: what a counted point costs when only every N-th one yields.
const iterations = 256 * 1024
const budgets = [1, 2, 5, 10, 30, 100, 300, 1000]

function* counter() {
  let count = 0
  for (let i = 0; i < iterations; i++) {
    if (--budget.left <= 0) yield
    count++
  }
  return count
}

function* localCounter(limit) {
  let count = 0
  let left = limit
  for (let i = 0; i < iterations; i++) {
    if (--left <= 0) {
      left = limit
      yield
    }
    count++
  }
  return count
}

function bare(generator) {
  let step
  do step = generator.next()
  while (!step.done)
  return step.value
}

function bareBudget(limit) {
  const generator = counter()
  let step
  do {
    budget.left = limit
    step = generator.next()
  } while (!step.done)
  return step.value
}

const host = synchronousHost()
const scheduler = new Scheduler({ host })

function scheduled(limit) {
  const job = scheduler.spawn(counter, { budget: limit })
  host.drain()
  expect(job.state, 'done')
}

function expect(actual, expected) {
  if (actual !== expected) throw new Error(`expected ${expected}, got ${actual}`)
}

const variant = (name, run) => ({ name, operations: iterations, run })

heading('what a counted point costs at each budget', 'CPU time, 262 144 points a run')

const rows = await measure([
  ...budgets.map(limit => variant(`scheduler, budget ${limit}`, () => scheduled(limit))),
  variant('scheduler, budget auto', () => scheduled('auto')),
  ...[1, 10, 300, 1000].map(limit =>
    variant(`bare loop, budget.left, budget ${limit}`, () => bareBudget(limit))),
  ...[1, 10, 300, 1000].map(limit =>
    variant(`bare loop, local variable, budget ${limit}`, () => bare(localCounter(limit))))
], { floor: 'scheduler, budget 1000', time: 20, passes: 7 })
printRows('variant', 'ns per point', rows)

const fixed = budgets.map(limit => find(rows, `scheduler, budget ${limit}`))
const best = fixed.reduce((left, right) => right.ratio < left.ratio ? right : left)
target(`budget auto to the best fixed one (${best.name.match(/\d+/)})`,
  find(rows, 'scheduler, budget auto').ratio / best.ratio, { most: 1.1 })

console.log('\n### stall: budget auto, when points become 1000 times dearer in mid-run\n')

/** Busy for about `rounds` ns, in a way that no compiler leaves out. */
function spin(rounds) {
  let state = rounds | 1
  for (let i = 0; i < rounds; i++) state = Math.imul(state, 0x9E3779B1) ^ (state >>> 15)
  return state
}

function roundsPerMicrosecond() {
  const speeds = []
  for (let turn = 0; turn < 9; turn++) {
    const started = performance.now()
    spin(4e6)
    speeds.push(4e6 / 1000 / (performance.now() - started))
  }
  return median(speeds)
}

function* countedPoints(cheap, dear, dearPoints, rounds) {
  for (let i = 0; i < cheap; i++) {
    if (--budget.left <= 0) yield
    spin(rounds)
  }
  for (let i = 0; i < dearPoints; i++) {
    if (--budget.left <= 0) yield
    spin(dear)
  }
}

function* bareYields(cheap, dear, dearPoints, rounds) {
  for (let i = 0; i < cheap; i++) {
    yield
    spin(rounds)
  }
  for (let i = 0; i < dearPoints; i++) {
    yield
    spin(dear)
  }
}

/** The longest budget in ms of 5 runs: 20 ms of cheap points, then 30 ms of dear ones. */
function stalls(work, nanoseconds) {
  const speed = roundsPerMicrosecond()
  const rounds = Math.max(1, Math.round(speed * nanoseconds / 1000))
  const dear = Math.round(speed * nanoseconds)
  const longest = []
  for (let run = 0; run < 5; run++) {
    const host = synchronousHost(undisturbedClock())
    const fresh = new Scheduler({ host })
    const cheap = Math.round(20e6 / (nanoseconds + 4))
    fresh.spawn(work(cheap, dear, Math.ceil(30e6 / (nanoseconds * 1000)), rounds))
    host.drain()
    longest.push(fresh.stats().longestBudget)
  }
  return longest
}

const base = [2, 5, 10, 30, 100, 300, 1000, 5000]
let worst = 0
const outcomes = base.map(nanoseconds => {
  const cells = [countedPoints, bareYields].flatMap(work => {
    const longest = stalls(work, nanoseconds)
    worst = Math.max(worst, median(longest))
    return [median(longest), Math.max(...longest)]
  })
  return [nanoseconds < 1000 ? `${nanoseconds} ns` : `${nanoseconds / 1000} us`, ...cells]
})
console.log('longest budget in ms, less what other processes took of it\n')
table(['a point at first', 'counted, median', 'max', 'bare yield, median', 'max'], outcomes)
target('longest budget after the change, worst median', worst, { most: 10, unit: ' ms' })
