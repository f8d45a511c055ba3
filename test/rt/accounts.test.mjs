import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { seeded } from '../support/seeded.mjs'

// Replaces the platform's clock before rt.mjs is imported. Only the jobs of this test advance the clock.
const clock = { time: 1000 }
const { performance } = globalThis
const replaced = { timeOrigin: performance.timeOrigin, now: () => clock.time }
Object.defineProperty(globalThis, 'performance', { value: replaced, configurable: true })
const { defaultHost, Scheduler } = await import('../../rt.mjs')
const { Mailbox } = await import('../support/mailbox.mjs')
const host = defaultHost()
Object.defineProperty(globalThis, 'performance', { value: performance, configurable: true })

const TICK = 2 ** -14 // ms; a power of two, so that sums of ticks are exact

/**
 * Two jobs that take turns over channels and measure their own execution time.
 *
 * @param {() => number} cost returns the execution time of one turn, in ticks
 */
async function pingPong(cost, turns) {
  const scheduler = new Scheduler({ host, round: Infinity })
  const [there, back] = [new Mailbox(), new Mailbox()]
  const took = [0, 0]
  const work = who => {
    const ms = cost() * TICK
    clock.time += ms
    took[who] += ms
  }
  const began = clock.time
  const jobs = [
    scheduler.spawn(function* () {
      for (let turn = 0; turn < turns; turn++) {
        work(0)
        yield there.send(turn)
        yield back.receive()
      }
    }),
    scheduler.spawn(function* () {
      for (let turn = 0; turn < turns; turn++) {
        yield there.receive()
        work(1)
        yield back.send(turn)
      }
    })
  ]
  await Promise.all(jobs)
  const { busy, overhead } = scheduler.stats()
  return { costs: jobs.map(job => job.cost), took, busy, overhead, elapsed: clock.time - began }
}

const accounts = suite('execution time')

for (const [what, cost] of Object.entries({
  'a hand-over that always takes the same': () => 2,
  'a hand-over in ten that takes 80 times as long': next => next.chance(0.1) ? 160 : 2,
  'hand-overs of any length, many below a tick': next => Math.floor(next.real() ** 8 * 1000)
})) {
  accounts(`each of two jobs that wake each other is charged its own time (${what})`, async () => {
    const next = seeded(7)
    const { costs, took, busy, overhead, elapsed } = await pingPong(() => cost(next), 40_000)
    assert.equal(costs, took)
    assert.is(busy, elapsed)
    assert.is(overhead, 0)
  })
}

accounts.run()
