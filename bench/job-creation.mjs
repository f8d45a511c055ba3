import { setImmediate } from 'node:timers'
import { Scheduler, Task } from '../rt.mjs'
import { figure, heading, mean, median, statistics, statisticsColumns, synchronousHost, table, target } from './support.mjs'

// RTJPerf, real-time thread creation and start (Corsaro and Schmidt 2003, 4.3.2).
const passes = 12
const starts = 500
const clock = performance.now.bind(performance)

let asked = 0
let created = 0
let startedAt = 0

function* work() {
  startedAt = clock()
}

function begun() {
  startedAt = clock()
}

/** Creates jobs and waits for each, one after another, or each after a pause, ms. */
function outside(create, pause = 0) {
  return async samples => {
    for (let i = 0; i < (pause > 0 ? starts / 50 : starts); i++) {
      if (pause > 0) await new Promise(resolve => setTimeout(resolve, pause))
      asked = clock()
      const end = create()
      created = clock()
      await end
      samples.push([created - asked, startedAt - asked])
    }
  }
}

/** A job creates a more eligible job, which starts at the next preemption point. */
function inJob(make) {
  const host = synchronousHost()
  const scheduler = new Scheduler({ host, round: Infinity })
  const create = make(scheduler)
  return samples => {
    scheduler.spawn(function* () {
      for (let i = 0; i < starts; i++) {
        asked = clock()
        create()
        created = clock()
        yield
        samples.push([created - asked, startedAt - asked])
      }
    })
    host.drain()
  }
}

const soon = { deadline: 100 }
const spawning = scheduler => () => scheduler.spawn(work, soon)
const releasing = scheduler => {
  const task = new Task(work, { ...soon, scheduler })
  return () => task.release()
}
const onEventLoop = new Scheduler()
const immediate = () => new Promise(resolve => {
  setImmediate(() => {
    begun()
    resolve()
  })
})

const variants = [
  ['the clock alone', outside(() => { begun() })],
  ['spawn, in a job', inJob(spawning)],
  ['Task.release, in a job', inJob(releasing)],
  ['queueMicrotask', outside(() => new Promise(resolve => {
    queueMicrotask(() => {
      begun()
      resolve()
    })
  }))],
  ['spawn, outside of jobs', outside(spawning(onEventLoop))],
  ['Task.release, outside of jobs', outside(releasing(onEventLoop))],
  ['setImmediate, in pages a message', outside(immediate)],
  ['spawn, after a pause', outside(spawning(onEventLoop), 30)],
  ['setImmediate, after a pause', outside(immediate, 30)],
  ['setTimeout 0', outside(() => new Promise(resolve => {
    setTimeout(() => {
      begun()
      resolve()
    }, 0)
  }))]
].map(([name, run]) => ({ name, run, samples: [] }))

for (let pass = 0; pass < passes; pass++) {
  for (let turn = 0; turn < variants.length; turn++) {
    const { run, samples } = variants[(turn + pass) % variants.length]
    const outcome = []
    await run(outcome)
    // Discard the first two passes as warm-up.
    if (pass > 1) samples.push(...outcome)
  }
}

const column = ({ samples }, which) => samples.map(times => times[which] * 1000)
const named = name => variants.find(variant => variant.name === name)
const starting = name => mean(column(named(name), 1))
const medianOf = name => median(column(named(name), 1))

heading('creating a job, and its start',
  `us of wall time, ${figure((passes - 2) * starts)} each, one after the other; the clock's own cost is contained`)
for (const [which, title] of [[0, 'created after (RTJPerf, Table 2: jRate 17.69 ± 3.77)'], [1, 'started after (Table 3: jRate 118.7 ± 5.0)']]) {
  console.log(`### ${title}\n`)
  table(['what is created', ...statisticsColumns], variants.map(variant => [variant.name, ...statistics(column(variant, which))]))
}
target('spawn outside of jobs to setImmediate', starting('spawn, outside of jobs') / starting('setImmediate, in pages a message'),
  { most: 2 })
target('after a pause of 30 ms, medians', medianOf('spawn, after a pause') / medianOf('setImmediate, after a pause'), { most: 2 })
target('spawn in a job to setImmediate', starting('spawn, in a job') / starting('setImmediate, in pages a message'), { most: 1 })
