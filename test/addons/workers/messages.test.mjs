/**
 * Tests messages of workers that run hostile code: they are checked like arguments, and lose at most the
 * worker.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ChannelError } from '../../../sync.mjs'
import { Workers } from '../../../addons/workers.mjs'
import { endpoints } from '../../fixtures/channels/fakes.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { world } from '../../support/world.mjs'

const WORK = 'rt.mjs work'

/** A pool with one worker. The test writes the messages of the worker by `say(kind, content)`. */
function crew(options = {}) {
  const here = world()
  /** @type {any[]} */
  const sites = []
  const make = () => {
    const { a, b, log } = endpoints('postMessage, addEventListener')
    sites.push({ a, b, log })
    return a
  }
  const workers = new Workers(make, { size: 1, ...options })
  const spawn = (given = {}) => workers.spawn('work', { scheduler: here.scheduler, ...given })
  const send = message => sites.at(-1).b.postMessage(message)
  const say = (...pairs) => send([WORK, ...pairs])
  /** The content of the latest message of a kind to the worker. */
  const told = kind => sites.at(-1).log.filter(({ from }) => from === 'a')
    .flatMap(({ message }) => message.slice(1)).findLast(pair => pair[0] === kind)?.[1]
  return { ...here, workers, sites, spawn, send, say, told }
}

const ACCOUNTS = { started: 1, finished: 2, cost: 1, preemptions: 0 }
const STATS = {
  jobs: 0, rounds: 0, slices: 0, yields: 0, busy: 0, overhead: 0, misses: 0, overruns: 0, stalls: 0,
  longestBudget: 0, longestRound: 0
}

const honest = suite('messages of an honest worker')

honest('`ended` passes the outcome and the times of a job', async () => {
  const { spawn, say, scheduler } = crew()
  const job = spawn()
  scheduler.now()
  say(['status', [[[1, 'running', { ...ACCOUNTS, finished: undefined }]], STATS, []]])
  assert.equal([job.state, job.started, job.cost], ['running', 1, 1])
  say(['ended', [1, 'done', 'outcome', false, false, ACCOUNTS]])
  assert.is(await job, 'outcome')
  assert.equal([job.state, job.finished], ['done', 2])
})

honest('`ended` without times, or for a job that has ended already, is accepted', async () => {
  const { spawn, say } = crew()
  const job = spawn()
  const outcome = job.catch(error => error)
  say(['ended', [1, 'failed', ['reason', 'RangeError', [['name', 'RangeError']], null, null], false]])
  say(['ended', [1, 'done', 5, false]], ['ended', [99, 'done', 5, false]])
  assert.instance(await outcome, RangeError)
  assert.is(job.state, 'failed')
})

honest.run()

const hostile = suite('messages of a hostile worker')

const deep = depth => depth === 0 ? null : ['m', 'Error', [], deep(depth - 1), null]
const cyclic = ['m', 'Error', [], null, null]
cyclic[3] = cyclic

/** @type {Record<string, any[]>} */
const MALFORMED = {
  'no pair': [5],
  'null in place of a pair': [null],
  'a pair without a kind': [[]],
  'an unknown kind': [['explode', []]],
  'an inherited kind': [['constructor', []]],
  'a kind __proto__': [['__proto__', []]],
  'a kind that is no text': [[{}, []]],
  'no content': [['ended']],
  'null as content': [['ended', null]],
  'a number as content': [['status', 5]],
  'an object as content': [['status', { length: 3 }]],
  'ended without an id': [['ended', [undefined, 'done', 1]]],
  'ended with an object as id': [['ended', [{}, 'done', 1]]],
  'ended with an unknown state': [['ended', [1, 'FORGED', 1]]],
  'ended with an inherited state': [['ended', [1, 'constructor', 1]]],
  'ended with a state of a living job': [['ended', [1, 'ready', 1]]],
  'ended with an error that is no array': [['ended', [1, 'failed', 5]]],
  'ended with an error of an unknown form': [['ended', [1, 'failed', ['m', {}, [], null, null]]]],
  'ended with properties that are no list': [['ended', [1, 'failed', ['m', 'Error', 5, null, null]]]],
  'ended with a property without a name': [['ended', [1, 'failed', ['m', 'Error', [5], null, null]]]],
  'ended with errors that are no list': [['ended', [1, 'failed', ['m', 'Error', [], null, 5]]]],
  'ended with a cyclic error': [['ended', [1, 'failed', cyclic]]],
  'ended with null as accounts': [['ended', [1, 'done', 1, false, false, null]]],
  'ended with texts as accounts': [['ended', [1, 'done', 1, false, false, { ...ACCOUNTS, cost: '1' }]]],
  'ended with NaN as accounts': [['ended', [1, 'done', 1, false, false, { ...ACCOUNTS, finished: NaN }]]],
  'tell of an unknown event': [['tell', [1, 'onError']]],
  'tell of an inherited event': [['tell', [1, 'constructor']]],
  'status without changes': [['status', [undefined, STATS, []]]],
  'status with a change that is null': [['status', [[null], STATS, []]]],
  'status with an unknown state': [['status', [[[1, 'FORGED', ACCOUNTS]], STATS, []]]],
  'status with a state of an ended job': [['status', [[[1, 'done', ACCOUNTS]], STATS, []]]],
  'status without accounts': [['status', [[[1, 'ready']], STATS, []]]],
  'status with a negative cost': [['status', [[[1, 'ready', { ...ACCOUNTS, cost: -1 }]], STATS, []]]],
  'status without statistics': [['status', [[], null, []]]],
  'status with texts as statistics': [['status', [[], { ...STATS, busy: 'x' }, []]]],
  'status with records that are no list': [['status', [[], STATS, {}]]],
  'status with a record that is null': [['status', [[], STATS, [null]]]],
  'status with a record without a time': [['status', [[], STATS, [{ type: 'start' }]]]],
  'broken without an error': [['broken', [5]]]
}

for (const [title, pairs] of Object.entries(MALFORMED)) {
  hostile(`${title}: the job fails, the worker is dropped, the page continues`, async () => {
    const { spawn, say, scheduler, host, sites, workers } = crew()
    const job = spawn()
    const { id, name } = job
    const outcome = job.catch(error => error)
    say(...pairs, ['ended', [1, 'done', 'after the malformed message', false]])
    const error = await outcome
    assert.instance(error, ChannelError)
    assert.match(error.message, /work: its worker has gone \(sent a malformed message\)/)
    assert.instance(error.cause, Error)
    assert.equal([job.state, job.id, job.name, host.errors], ['failed', id, name, []])
    // The next job gets a new worker.
    const next = spawn()
    assert.is(sites.length, 2)
    say(['ended', [2, 'done', 'result', false]])
    assert.is(await next, 'result')
    assert.is(await settled(scheduler.spawn(() => 'alive'), host), 'alive')
    await workers.close()
  })
}

/** @param {any} job @param {any} host */
async function settled(job, host) {
  const outcome = job.then(value => value, error => error)
  await host.drain()
  return outcome
}

hostile('a message of another protocol is ignored', async () => {
  const { spawn, say, send } = crew()
  const job = spawn()
  for (const message of [5, null, 'text', {}, [], ['other', ['ended', [1, 'done', 1]]], { 0: WORK }]) send(message)
  assert.is(job.state, 'ready')
  say(['ended', [1, 'done', 'result', false]])
  assert.is(await job, 'result')
})

hostile('times and statistics of a worker overwrite no other field of a job', async () => {
  const { spawn, say, host, scheduler } = crew()
  const job = spawn()
  const forged = { core: null, extras: null, status: 5, serial: 99, name: 'FORGED', work: null, then: null }
  say(['status', [[[1, 'running', { ...ACCOUNTS, ...forged }]], { ...STATS, ...forged }, []]])
  assert.equal([job.state, job.id, job.name, job.finished], ['running', 1, 'work', undefined])
  assert.is(job.cancel('reason'), true)
  say(['ended', [1, 'cancelled', ['m', 'Error', [], null, null], true, false, { ...ACCOUNTS, ...forged }]])
  assert.is(await job.catch(error => error), 'reason')
  assert.equal([job.state, job.id, job.name], ['cancelled', 1, 'work'])
  assert.is(await settled(scheduler.spawn(() => 'alive'), host), 'alive')
})

hostile('a finish time in `status` does not keep a job from ending', async () => {
  const { spawn, say } = crew()
  const job = spawn()
  say(['status', [[[1, 'running', ACCOUNTS]], STATS, []]])
  assert.is(job.finished, undefined)
  say(['ended', [1, 'done', 'result', false]])
  assert.is(await job, 'result')
})

hostile('statistics of a worker contain only the known keys', () => {
  const { say, workers } = crew()
  say(['status', [[], { ...STATS, busy: 5, more: 7, __proto__: { other: 1 } }, []]])
  const stats = workers.stats()
  assert.equal(Object.keys(stats), [...Object.keys(STATS), 'workers'])
  assert.is(stats.busy, 5)
})

hostile('hostile properties of an error become its own properties only', async () => {
  const { spawn, say } = crew()
  const job = spawn()
  const outcome = job.catch(error => error)
  const own = [['__proto__', { polluted: true }], ['constructor', 5], ['message', 'other'], ['name', 'Forged']]
  say(['ended', [1, 'failed', ['m', 'Error', own, deep(3), null], false]])
  const error = await outcome
  assert.instance(error, Error)
  assert.is(error.polluted, undefined)
  assert.is(/** @type {any} */ ({}).polluted, undefined)
  assert.equal([error.name, error.message, Object.hasOwn(error, '__proto__')], ['Forged', 'other', true])
})

hostile('repeated `life` messages watch one lock', () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
  let requests = 0
  const locks = { request: () => new Promise(() => { requests++ }), query: async () => ({ held: [] }) }
  Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { locks, hardwareConcurrency: 1 } })
  try {
    const { say, spawn } = crew()
    spawn()
    for (let n = 0; n < 5; n++) say(['life', []])
    assert.is(requests, 1)
  } finally {
    if (before) Object.defineProperty(globalThis, 'navigator', before)
    else Reflect.deleteProperty(globalThis, 'navigator')
  }
})

hostile('restarted jobs of a lost worker run in the next worker', async () => {
  const { spawn, say, sites } = crew({ restart: 1 })
  const job = spawn()
  say(['explode', []])
  assert.is(sites.length, 2)
  say(['ended', [1, 'done', 'second', false]])
  assert.is(await job, 'second')
})

hostile('random changes of honest messages leave the page working', () => forSeeds(300, async random => {
  const { spawn, say, host, scheduler, workers } = crew()
  const job = spawn()
  job.catch(() => {})
  const messages = [
    ['tell', [1, 'onMiss']],
    ['status', [[[1, 'running', { ...ACCOUNTS, finished: undefined }]], STATS, [{ type: 'start', time: 1, job: { id: 1 } }]]],
    ['ended', [1, 'done', { some: 'result' }, false, false, ACCOUNTS]]
  ]
  workers.observe(() => {})
  const hostileValues = [null, undefined, 5, NaN, -1, 'x', '__proto__', 'constructor', [], {}, { __proto__: null }, true]
  /** @param {any} value @returns {any} */
  const changed = value => {
    if (random.chance(0.15)) return random.pick(hostileValues)
    if (Array.isArray(value)) return value.map(changed)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, changed(part)]))
  }
  for (const message of messages) if (random.chance(0.9)) say(changed(message))
  assert.ok(['ready', 'running', 'waiting', 'pending', 'depleted', 'done', 'failed', 'cancelled'].includes(job.state))
  assert.equal([job.id, job.name, host.errors], [1, 'work', []])
  job.cancel()
  await Promise.allSettled([job.catch(() => {}), workers.close({ cancel: true }), host.drain({ until: host.time + 2000 })])
  assert.is(await settled(scheduler.spawn(() => 'alive'), host), 'alive')
}))

hostile.run()

const served = suite('messages to a served worker')

for (const [title, pairs] of Object.entries({
  'an unknown kind': [['explode', []]],
  'an inherited kind': [['constructor', []]],
  'no content': [['start']],
  'a change of an unknown key': [['change', [1, 'status', 5]]]
})) {
  served(`${title} is answered by a broken message, and the thread continues`, async () => {
    const { host, scheduler } = world()
    const { a, b, log } = endpoints('postMessage, addEventListener')
    Workers.serve({ work: () => 5 }, { endpoint: b, scheduler })
    a.postMessage([WORK, ['begin', [{ url: '', settings: { policy: 'edf' }, life: '', origin: performance.timeOrigin }]]])
    await host.drain()
    a.postMessage([WORK, ...pairs])
    await host.drain()
    const answers = log.filter(({ from }) => from === 'b').flatMap(({ message }) => message.slice(1))
    assert.equal(answers.map(([kind]) => kind), ['broken'])
    assert.is(answers[0][1][0][1], 'TypeError')
  })
}

served.run()
