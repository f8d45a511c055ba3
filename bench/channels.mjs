import { Scheduler } from '../rt.mjs'
import { Channel, choice, par } from '../sync.mjs'
import { barChart, lineChart, picture } from './support-chart.mjs'
import { byHand, commsTime, sequential } from './support-comms.mjs'
import {
  figure, find, heading, measure, printRows, ratio, synchronousHost, table, target
} from './support.mjs'

heading('what channels, creation and yields cost (Communicating Generators, figures 6, 8, 9)', 'CPU time')

// ------------------------------------------------------------------------------------------------- CommsTime

const cycles = 10_000

function* sends(channel, message) {
  yield channel.send(message)
}

const deltas = {
  sequential,
  *parallel(a, c, d) {
    for (;;) {
      const message = yield a.receive()
      yield par(c.send(message), d.send(message))
    }
  },
  *children(a, c, d) {
    for (;;) {
      const message = yield a.receive()
      yield par(sends(c, message), sends(d, message))
    }
  }
}

const onEventLoop = new Scheduler()
const process = (name, delta, size = 0) =>
  ({ name, operations: cycles, run: () => commsTime(onEventLoop, cycles, delta, size), async: true })

let fired = 0
const timer = setInterval(() => { fired++ }, 1)
console.log(`### CommsTime: four processes, four communications a cycle, ${figure(cycles)} cycles a run\n`)
const began = performance.now()
const floor = { name: 'generators and a queue by hand', operations: cycles, run: () => byHand(cycles) }
// Measured alone, as in a program with one kind of channel. Other kinds in the same process slow down
// optimized code.
const comms = await measure([floor, process('sequential Delta', deltas.sequential)], { time: 150 })
const others = await measure([
  floor,
  process('sequential Delta, buffers of 1', deltas.sequential, 1),
  process('parallel Delta, par(send, send)', deltas.parallel),
  process('parallel Delta, par of two jobs', deltas.children)
], { time: 150 })
const took = performance.now() - began
clearInterval(timer)
printRows('CommsTime', 'ns per cycle', [...comms, ...others.slice(1)])
const name = 'sequential Delta'
await picture('csp-figure-8', barChart({
  title: 'CommsTime, us per cycle', least: 0.1,
  groups: [...comms, ...others.slice(1)].map(({ name, median }) => ({ label: name, bars: [{ name: 'us', value: median / 1000 }] }))
}))
target(name, find(comms, name).median / 1000, { most: 0.9, unit: ' us per cycle' })
target(`${name}, times that by hand`, ratio(comms, name, 'generators and a queue by hand'), { most: 3.5 })
target('a timer of 1 ms fired meanwhile, times per second', fired / took * 1000, { least: 50 })

// ---------------------------------------------------------------------------------------------------- choice

const choices = 10_000

function choosing(name, guards) {
  const host = synchronousHost()
  const scheduler = new Scheduler({ host })
  return {
    name,
    operations: choices,
    run() {
      const channels = [new Channel(Infinity), new Channel(Infinity)]
      for (const channel of channels) for (let i = 0; i < choices; i++) channel.offer(i)
      const job = scheduler.spawn(function* () { for (let i = 0; i < choices; i++) yield guards(channels) })
      host.drain()
      if (job.state !== 'done') throw new Error(`${name}: the job is ${job.state}`)
    }
  }
}

/** Like `choosing`, but with two senders that are always waiting. */
function meeting(name, guards) {
  const host = synchronousHost()
  const scheduler = new Scheduler({ host })
  return {
    name,
    operations: choices,
    run() {
      const channels = [new Channel(), new Channel()]
      const senders = channels.map(channel => scheduler.spawn(function* () { for (;;) yield channel.send(1) }))
      const job = scheduler.spawn(function* () {
        for (let i = 0; i < choices; i++) yield guards(channels)
        for (const sender of senders) sender.cancel()
      })
      host.drain()
      if (job.state !== 'done') throw new Error(`${name}: the job is ${job.state}`)
    }
  }
}

const two = ([one, other]) => [{ receive: one }, { receive: other }]
console.log('\n### choice between two channels with waiting senders\n')
const met = await measure([
  meeting('receive', ([one]) => one.receive()),
  meeting('choice', channels => choice(two(channels))),
  meeting('choice, fair', channels => choice(two(channels), { fair: true }))
])
printRows('way to receive', 'ns per message', met)
target('a choice of two to one receive', ratio(met, 'choice', 'receive'), { most: 2.3 })

console.log('\n### choice between two channels with messages\n')
printRows('way to receive', 'ns per message', await measure([
  choosing('receive', ([one]) => one.receive()),
  choosing('choice', channels => choice(two(channels))),
  choosing('choice, fair', channels => choice(two(channels), { fair: true })),
  choosing('choice, with an action', ([receive]) => choice([{ receive, action: message => message }])),
  choosing('choice, with a timeout', ([receive]) => choice([{ receive }, { timeout: 5 }]))
]))

// -------------------------------------------------------------------------------------------------- creation

function* nothing() {}

function creation(n) {
  const host = synchronousHost()
  const scheduler = new Scheduler({ host })
  const works = Array.from({ length: n }, () => nothing)
  const rounds = Math.ceil(2000 / n)
  const variant = (name, body) => ({
    name,
    operations: rounds * n,
    run() {
      const job = scheduler.spawn(function* () { for (let i = 0; i < rounds; i++) yield* body() })
      host.drain()
      if (job.state !== 'done') throw new Error(`${name}: the job is ${job.state}`)
    }
  })
  return [
    {
      name: 'generators by hand',
      operations: rounds * n,
      run() {
        for (let i = 0; i < rounds; i++) for (const work of works) work().next()
      }
    },
    variant('fork: spawn()', function* () {
      let last
      for (const work of works) last = scheduler.spawn(work)
      yield last
    }),
    variant('par()', function* () { yield par(...works) })
  ]
}

console.log('\n### creating n processes that do nothing, ns each\n')
const created = []
for (const n of [1, 10, 100, 1000, 10_000]) {
  const rows = await measure(creation(n), { passes: 5 })
  created.push([String(n), ...rows.map(({ median }) => median), ratio(rows, 'par()', 'fork: spawn()')])
}
const creations = ['generators by hand', 'fork: spawn()', 'par()']
table(['n', ...creations, 'par / fork'], created)
await draw('csp-figure-9', 'ns to create one of n processes (published: fork the cheapest, co, which is par, the dearest)', creations, created)

// ---------------------------------------------------------------------------------------------------- yields

function yielding(n) {
  const each = Math.max(2, Math.ceil(100_000 / n))
  function* work() {
    for (let i = 0; i < each; i++) yield
  }
  const scheduled = (name, options) => {
    const host = synchronousHost()
    const scheduler = new Scheduler({ ...options, host })
    return {
      name,
      operations: n * each,
      run() {
        let last
        for (let i = 0; i < n; i++) last = scheduler.spawn(work)
        host.drain()
        if (last.state !== 'done') throw new Error(`${name}: the last job is ${last.state}`)
      }
    }
  }
  return [
    {
      name: 'generators in turns by hand',
      operations: n * each,
      run() {
        const generators = Array.from({ length: n }, () => work())
        for (let i = 0; i <= each; i++) for (const generator of generators) generator.next()
      }
    },
    scheduled('slices of 1 ms', {}),
    // The paper's scheduling: every yield switches to the next process.
    scheduled('every yield hands over', { slice: Number.MIN_VALUE, budget: 1 })
  ]
}

console.log('\n### a yield of one of n jobs, creation included, ns\n')
const yields = []
for (const n of [1, 10, 100, 1000, 10_000, 100_000]) {
  const rows = await measure(yielding(n), { passes: 5 })
  yields.push([String(n), ...rows.map(({ median }) => median)])
}
const yieldings = ['generators in turns by hand', 'slices of 1 ms', 'every yield hands over']
table(['n', ...yieldings], yields)
await draw('csp-figure-6', 'ns of a yield of one of n processes (published: grows with n)', yieldings, yields)

/** Draws a curve for each column of a table. */
async function draw(name, title, columns, rows) {
  const curves = columns.map((name, i) => ({ name, points: rows.map(row => [Number(row[0]), row[i + 1]]) }))
  await picture(name, lineChart({ title, across: 'n', logarithmic: true, curves }))
}
