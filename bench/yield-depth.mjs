import { setImmediate } from 'node:timers'
import { Scheduler } from '../rt.mjs'
import { deviation, figure, heading, mean, measure, optionsOf, printRows, ratio, synchronousHost, table, target } from './support.mjs'

// Table II of RT.js: a counter loop with its yields at the bottom of a chain of 1, 2, 3, 10 and 50
// generators. The paper's scale is --runs 10000, which takes an hour.
const iterations = 256 * 1024
const depths = [1, 2, 3, 10, 50]
const { runs } = optionsOf({ runs: '100' })

// A yield through 50 generators takes 50 times as long, so fewer yields are measured.
const iterationsAt = depth => depth < 10 ? iterations : iterations / 8

function plain() {
  let count = 0
  for (let i = 0; i < iterations; i++) count++
  return count
}

function* counter(iterations) {
  let count = 0
  for (let i = 0; i < iterations; i++) {
    count++
    yield
  }
  return count
}

/**
 * Generators of different functions, as in a page with many kinds of jobs. They make call sites megamorphic.
 */
const manyCounters = Array.from({ length: 8 }, () => new Function(`return ${counter}`)())
let kind = 0
const anyCounter = () => manyCounters[kind++ & 7](iterations)

function* delegated(depth, iterations) {
  return depth === 1 ? yield* counter(iterations) : yield* delegated(depth - 1, iterations)
}

function* called(depth, iterations) {
  return yield depth === 1 ? counter(iterations) : called(depth - 1, iterations)
}

const byDelegation = (depth, times) => depth === 1 ? counter(times) : delegated(depth - 1, times)
const byCall = depth => depth === 1 ? counter(iterations) : called(depth - 1, iterations)

function bare(generator) {
  let step
  do step = generator.next()
  while (!step.done)
  return step.value
}

/** The lower bound for yielded calls: a stack, and a check of each yielded value. */
function bareCalls(generator) {
  const callers = []
  let value
  for (;;) {
    const step = generator.next(value)
    value = undefined
    if (step.done) {
      if (callers.length === 0) return step.value
      generator = callers.pop()
      value = step.value
    } else if (step.value !== undefined) {
      callers.push(generator)
      generator = step.value
    }
  }
}

const host = synchronousHost()
const synchronous = new Scheduler({ host })
const onDefaultHost = new Scheduler()

function scheduled(generator) {
  const job = synchronous.spawn(generator)
  host.drain()
  expect(job.state, 'done')
}

function expect(actual, expected) {
  if (actual !== expected) throw new Error(`expected ${expected}, got ${actual}`)
}

const variant = (name, run, operations = iterations) => ({ name, operations, run })
const delegations = (name, run) => depths.map(depth => {
  const times = iterationsAt(depth)
  return variant(`${name}, depth ${depth}`, () => run(byDelegation(depth, times)), times)
})
const calls = (name, run, from = 1) => depths.filter(depth => depth >= from).map(depth =>
  variant(`${name}, depth ${depth}`, () => run(byCall(depth))))

heading('what a preemption point costs at each depth of calls', 'CPU time')

const rows = await measure([
  variant('plain loop', () => expect(plain(), iterations)),
  ...delegations('bare loop, yield*', bare),
  ...calls('bare driver, yielded call', bareCalls),
  ...delegations('scheduler, yield*', scheduled),
  ...calls('scheduler, yielded call', scheduled, 2),
  variant('scheduler, yield*, depth 1, many kinds of jobs', () => scheduled(anyCounter())),
  ...[1, 50].map(depth => ({
    name: `scheduler on the default host, yielded call, depth ${depth}`,
    operations: iterations,
    async: true,
    run: async () => expect(await onDefaultHost.spawn(byCall(depth)), iterations)
  }))
], { floor: 'bare loop, yield*, depth 1', time: 20, passes: 7 })
printRows('variant', 'ns per yield', rows)

target('scheduler to bare loop at depth 1',
  ratio(rows, 'scheduler, yield*, depth 1', 'bare loop, yield*, depth 1'), { most: 1.2 })
target('yielded calls through the scheduler, depth 50 to depth 1',
  ratio(rows, 'scheduler, yielded call, depth 50', 'scheduler, yield*, depth 1'), { most: 1.1 })

console.log(`\n### Table II of RT.js: bare loops, wall time, ${runs} runs each\n`)

function timed(run) {
  const taken = []
  for (let i = -3; i < runs; i++) {
    const started = performance.now()
    run()
    if (i >= 0) taken.push((performance.now() - started) * 1e6 / iterations)
  }
  return [mean(taken), deviation(taken)]
}
const baseline = timed(plain)
table(['', 'mean, ns', 'deviation', 'per yield', 'published: mean', 'deviation', 'per yield'], [
  ['baseline', ...baseline, '-', 0.98, 0.02, '-'],
  ...[[18.8, 0.01, 17.82], [49.1, 0.21, 48.13], [71.45, 0.19, 70.47]].map((published, i) => {
    const [average, spread] = timed(() => bare(byDelegation(i + 1, iterations)))
    return [`generator, ${i + 1} ${i > 0 ? 'levels' : 'level'}`, average, spread, average - baseline[0], ...published]
  })
])

console.log('\n### depth-recursion: one job, calls that nest\n')

function* descend(depth) {
  yield
  return depth === 0 ? 0 : 1 + (yield descend(depth - 1))
}

function* descendByDelegation(depth) {
  yield
  return depth === 0 ? 0 : 1 + (yield* descendByDelegation(depth - 1))
}

/** Recurses down and back up. Returns the wall time in ms, or the name of the error. */
function recursion(work, depth) {
  const started = performance.now()
  const job = synchronous.spawn(work(depth))
  let outcome
  job.then(result => expect(result, depth), error => { outcome = error.name })
  host.drain()
  const elapsed = performance.now() - started
  return new Promise(resolve => setImmediate(() => resolve(outcome ?? elapsed)))
}

const recursions = []
for (const depth of [1000, 10_000, 100_000]) {
  const elapsed = await recursion(descend, depth)
  const byDelegation = await recursion(descendByDelegation, depth)
  recursions.push([figure(depth), elapsed, elapsed * 1e6 / depth, byDelegation])
}
table(['calls deep', 'yielded calls, ms', 'ns per call', 'yield*, ms'], recursions)
