/**
 * Jobs of `Workers` while real threads are terminated at random times: each job must settle once, correctly.
 */
import * as assert from 'uvu/assert'
import { Worker } from 'node:worker_threads'
import { Scheduler } from '../../rt.mjs'
import { ChannelError } from '../../sync.mjs'
import { connect } from '../../addons/connect.mjs'
import { Workers } from '../../addons/workers.mjs'

const thread = new URL('../fixtures/workers/thread.mjs', import.meta.url)

/**
 * The kinds of jobs: the work, its arguments, and a check of its result.
 *
 * @type {Record<string, (random: import('./seeded.mjs').Random) => { name: string, args: any[],
 *   verify(result: any): void, mustFail?: boolean, isUnique?: boolean }>}
 */
const KINDS = {
  sum(random) {
    const [a, b] = [random.integer(0, 999), random.integer(0, 999)]
    return { name: 'add', args: [a, b], verify: result => assert.is(result, a + b) }
  },
  count(random) {
    const to = random.integer(1, 20_000)
    return { name: 'count', args: [to], verify: result => assert.is(result, to * (to - 1) / 2) }
  },
  refuse(random) {
    const code = random.integer(1, 99)
    return {
      name: 'refuse', args: [code], mustFail: true,
      verify(error) {
        assert.instance(error, RangeError)
        assert.is(error.code, code)
      }
    }
  },
  bytes(random) {
    const bytes = new Uint8Array(random.pick([10, 70_000])).fill(3)
    const { length } = bytes
    return {
      name: 'doubled', args: [bytes],
      verify: result => assert.equal([result.length, result[0], result[length - 1]], [length, 6, 6])
    }
  },
  progress(random) {
    const steps = random.integer(1, 20)
    const { port1, port2 } = new MessageChannel()
    const line = connect(port1, 'progress')
    let last = 0
    // A prefix of 1, 2, 3, ... arrives, even from a thread that is terminated.
    const heard = (async () => {
      try {
        for await (const step of line) assert.is(step, ++last)
      } catch (error) {
        assert.instance(error, ChannelError)
      } finally {
        port1.close()
      }
    })()
    return {
      name: 'progress', args: [port2, steps], isUnique: true,
      async verify(result) {
        await heard
        assert.equal([result, last], ['done', steps])
      }
    }
  }
}

/**
 * Runs jobs of one seed, and terminates threads at random numbers of settled jobs.
 *
 * @param {import('./seeded.mjs').Random} random
 * @returns {Promise<{ jobs: number, done: number, failed: number, lost: number, cancelled: number, kills:
 *   number }>}
 */
export async function runKilled(random) {
  const total = { jobs: 0, done: 0, failed: 0, lost: 0, cancelled: 0, kills: 0 }
  const scheduler = new Scheduler({ onError: error => { throw error } })
  /** @type {Worker[]} */
  const threads = []
  const restart = random.pick([0, 1, 3])
  const workers = new Workers(() => {
    const made = new Worker(thread)
    threads.push(made)
    return made
  }, { size: random.integer(1, 2), restart })

  const count = random.integer(5, 40)
  const killsAt = Array.from({ length: random.integer(0, 3) }, () => random.integer(0, count - 1))
  const cancelsAt = new Set(Array.from({ length: random.integer(0, 4) }, () => random.integer(0, count - 1)))
  let settled = 0
  const kill = () => {
    total.kills += killsAt.filter(at => at === settled).length
    for (const at of killsAt) if (at === settled) random.pick(threads).terminate()
  }
  kill()

  const outcomes = []
  for (let index = 0; index < count; index++) {
    const kind = random.pick(Object.keys(KINDS))
    const { name, args, verify, mustFail = false, isUnique = false } = KINDS[kind](random)
    const options = { scheduler, priority: random.integer(0, 2) }
    if (random.chance(0.2)) Object.assign(options, { deadline: random.integer(1, 1000) })
    const job = workers.spawn(name, options, ...args)
    total.jobs++
    let answers = 0
    const check = async (/** @type {boolean} */ isFulfilled, /** @type {any} */ outcome) => {
      assert.is(++answers, 1, `${kind} settled ${answers} times`)
      settled++
      kill()
      if (isFulfilled && !mustFail || !isFulfilled && mustFail && outcome instanceof RangeError) {
        total[isFulfilled ? 'done' : 'failed']++
        return verify(outcome)
      }
      assert.not(isFulfilled, `${kind} must not give ${outcome}`)
      if (outcome?.name === 'AbortError') return void total.cancelled++
      assert.instance(outcome, ChannelError, `${kind}: ${outcome}`)
      assert.ok(total.kills > 0, `${kind} was lost, and no thread was terminated: ${outcome.message}`)
      // Each kill costs a job one start. A transferred port is lost with its thread.
      assert.ok(isUnique || total.kills > restart, `${kind} was lost after ${total.kills} kills and ${restart} restarts`)
      total.lost++
    }
    outcomes.push(job.then(result => check(true, result), error => check(false, error)))
    if (cancelsAt.has(index)) random.chance(0.5) ? job.cancel() : queueMicrotask(() => { job.cancel() })
    if (random.chance(0.1)) job.priority = 3
    if (random.chance(0.2)) await outcomes[random.integer(0, outcomes.length - 1)]
  }
  await Promise.all(outcomes)
  assert.is(workers.unfinished, 0)
  assert.is(total.done + total.failed + total.lost + total.cancelled, total.jobs)
  // The pool must continue. A pending termination can also end the next job.
  let sum
  for (let attempt = 0; sum === undefined; attempt++) {
    sum = await workers.spawn('add', { scheduler, restart: 0 }, 2, 3).catch(error => {
      if (!(error instanceof ChannelError) || attempt === 3) throw error
    })
  }
  assert.is(sum, 5)
  await workers.close()
  await scheduler.idle()
  return total
}
