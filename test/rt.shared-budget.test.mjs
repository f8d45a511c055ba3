import { suite } from 'uvu'
import * as assert from 'uvu/assert'

// The platform's clock, as the module finds it: it goes on by what jobs say, and counts who looks at it.
const clock = { time: 1000, readings: 0 }
const { performance } = globalThis
const replaced = {
  timeOrigin: performance.timeOrigin,
  now() {
    clock.readings++
    return clock.time
  }
}
Object.defineProperty(globalThis, 'performance', { value: replaced, configurable: true })
const { defaultHost, edf, Scheduler } = await import('../rt.mjs')
const { Channel } = await import('../sync.mjs')
const host = defaultHost()
Object.defineProperty(globalThis, 'performance', { value: performance, configurable: true })

const MICROSECOND = 0.001
const HAND_OVERS = 20_000

/**
 * Two jobs that take turns, each after so many ms of work.
 *
 * @param {number[]} costs @param {{ scheduler?: object, job?: object, after?: (turn: number) => void }} [options]
 */
async function pingPong([ping, pong], { scheduler: settings, job, after = () => {} } = {}) {
  const scheduler = new Scheduler({ host, ...settings })
  const [there, back] = [new Channel(), new Channel()]
  const began = clock.time
  const { readings } = clock
  const jobs = [
    scheduler.spawn(function* () {
      for (let turn = 0; turn < HAND_OVERS / 2; turn++) {
        clock.time += ping
        after(turn)
        yield there.send(turn)
        yield back.receive()
      }
    }, job),
    scheduler.spawn(function* () {
      for (let turn = 0; turn < HAND_OVERS / 2; turn++) {
        yield there.receive()
        clock.time += pong
        yield back.send(turn)
      }
    }, job)
  ]
  await Promise.all(jobs)
  return {
    costs: jobs.map(one => one.cost),
    busy: scheduler.stats().busy,
    took: clock.time - began,
    readings: clock.readings - readings
  }
}

const near = (actual, expected, share, what) =>
  assert.ok(Math.abs(actual - expected) <= share * expected, `${what}: ${actual}, not ${expected}`)

const shared = suite('a budget handed on')

shared('jobs that talk to each other read the clock for a fraction of their hand-overs', async () => {
  const { readings } = await pingPong([0.1 * MICROSECOND, 0.2 * MICROSECOND])
  assert.ok(readings < HAND_OVERS / 4, `${readings} readings`)
})

shared('each is charged what it takes, and all of the time is charged', async () => {
  const { costs, busy, took } = await pingPong([0.1 * MICROSECOND, 0.4 * MICROSECOND])
  near(busy, took, 1e-6, 'busy')
  near(costs[0] + costs[1], took, 1e-6, 'both')
  near(costs[0], took / 5, 0.01, 'the cheaper one')
})

shared('what a job suddenly takes is charged within a budget, and nothing is lost', async () => {
  const { costs, busy, took } = await pingPong([0.2 * MICROSECOND, 0.2 * MICROSECOND], {
    after: turn => { if (turn % 1000 === 999) clock.time += 1 }
  })
  near(busy, took, 1e-6, 'busy')
  near(costs[0] + costs[1], took, 1e-6, 'both')
})

shared('jobs whose work has become dear are measured anew', async () => {
  let readings
  await pingPong([0.2 * MICROSECOND, 0.2 * MICROSECOND], {
    after(turn) {
      if (turn === HAND_OVERS / 4) readings = clock.readings
      if (turn > HAND_OVERS / 4) clock.time += 50 * MICROSECOND
    }
  })
  assert.ok(clock.readings - readings > HAND_OVERS / 2 * 0.9, `${clock.readings - readings} readings`)
})

shared('a miss is noticed within a budget', async () => {
  const misses = []
  let overdue = 0
  await pingPong([0.2 * MICROSECOND, 0.2 * MICROSECOND], {
    scheduler: { policy: edf, round: 1000, onMiss: () => misses.push(overdue) },
    job: { deadline: 1 },
    after: () => { if (misses.length === 0) overdue++ }
  })
  const due = 1 / (0.4 * MICROSECOND)
  assert.is(misses.length, 2)
  assert.ok(misses[0] > due && misses[0] < due + 40, `at turn ${misses[0]}, due after ${due}`)
})

for (const [what, options] of Object.entries({
  'a job that declares its wcet': { job: { wcet: 1e9 } },
  'a job with a budget of its own': { job: { budget: 4 } },
  'a scheduler that tells of stalls': { scheduler: { onStall() {} } },
  'a host that is not the platform\'s': { scheduler: { host: { ...host } } },
  'a clock that has not ticked': { costs: [0, 0] }
})) {
  shared(`${what} has the clock read at every hand-over`, async () => {
    const { readings } = await pingPong(options.costs ?? [0.1 * MICROSECOND, 0.2 * MICROSECOND], options)
    assert.ok(readings >= HAND_OVERS, `${readings} readings`)
  })
}

shared('one that is observed has the clock read at every hand-over, whoever waits', async () => {
  const scheduler = new Scheduler({ host })
  const [there, back] = [new Channel(), new Channel()]
  const seen = []
  scheduler.observe(({ type, time }) => { if (type === 'block') seen.push(time) })
  const began = clock.time
  const jobs = [
    scheduler.spawn(function* () {
      for (let turn = 0; turn < 100; turn++) {
        clock.time += 0.25
        yield there.send(turn)
        yield back.receive()
      }
    }),
    scheduler.spawn(function* () {
      for (;;) {
        yield back.send(yield there.receive())
      }
    })
  ]
  jobs[1].catch(() => {})
  await jobs[0]
  jobs[1].cancel()
  const expected = Array.from({ length: 100 }, (_, turn) => began + 0.25 * (turn + 1))
  assert.equal([...new Set(seen)].filter(time => time > began).slice(0, 100), expected)
})

shared.run()
