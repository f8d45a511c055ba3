import { readdirSync } from 'node:fs'
import { inspect, isDeepStrictEqual } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { corpus } from '../../corpus/index.mjs'
import { HOSTS } from '../../support/platform-host.mjs'
import { rewritten } from '../../support/rewritten.mjs'

const show = value => inspect(value, { depth: 1, breakLength: Infinity }).slice(0, 300)

/** Returns the result or error of a call, and the arguments after the call. */
async function outcome(run, args) {
  try {
    return { result: await run(...args), args }
  } catch (error) {
    return { error: `${error}`, args }
  }
}

let runs = 0

/** Runs a function as a job; each read of the clock advances it. The hosts take turns. */
async function asJob(work, args, options) {
  const host = HOSTS[runs++ % HOSTS.length].hostOf({ read: 0.01 })
  const scheduler = new Scheduler({ host })
  // Jobs of async functions are called with the job first.
  const isAsync = work[Symbol.toStringTag] === 'AsyncFunction'
  const job = scheduler.spawn(isAsync ? preemptify(work) : work, options, ...args)
  job.catch(() => {})
  await host.drain()
  assert.ok(job.state === 'done' || job.state === 'failed', `the job is ${job.state}`)
  return { job, yields: scheduler.stats().yields }
}

function assertSame(actual, expected, conditions) {
  assert.ok(isDeepStrictEqual(actual, expected), `${conditions}: ${show(actual)}, expected ${show(expected)}`)
}

const algorithms = suite('corpus as rewritten modules')

const { namespace: again } = await rewritten(new URL('../../corpus/index.mjs', import.meta.url))
for (const [i, { name, fn, inputs, sizes }] of corpus.entries()) {
  const other = again.corpus[i]

  algorithms(name, async () => {
    let points = 0
    for (const size of sizes) {
      const expected = await outcome(fn, inputs(size))
      assertSame(await outcome(other.fn, inputs(size)), expected, `size ${size}, called plainly`)
      for (const budget of [1, 7, 'auto']) {
        const run = async (...args) => {
          const { job, yields } = await asJob(other.fn, args, { budget })
          points += yields
          return job
        }
        assertSame(await outcome(run, inputs(size)), expected, `size ${size}, a job, budget ${budget}`)
      }
    }
    assert.ok(points > 0, 'it has no points')
    assert.is(other.fn.name, fn.name)
    assert.is(other.fn.length, fn.length)
  })
}

algorithms.run()

const programs = suite('rewritten programs')

const folder = new URL('../../programs/', import.meta.url)
for (const file of readdirSync(folder)) {
  programs(file, async () => {
    const url = new URL(file, folder)
    const { main, sizes: { small } } = await import(url.href)
    const { namespace } = await rewritten(url)
    const expected = await main(small)
    assertSame(await namespace.main(small), expected, 'called plainly')
    for (const budget of [1, 7, 'auto']) {
      const { job, yields } = await asJob(namespace.main, [small], { budget })
      assertSame(await job, expected, `a job, budget ${budget}`)
      if (budget === 1) assert.ok(yields > 10, `it has only ${yields} points`)
    }
    assertSame(await namespace.main(small), expected, 'called plainly, after jobs')
  })
}

programs.run()
