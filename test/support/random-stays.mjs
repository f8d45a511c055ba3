/**
 * Random jobs that call rewritten packages between mutexes, resources, channels and sleeps. All jobs must end,
 * and no package may see an update of another stay in the middle of its own.
 */
import { DeadlockError, Scheduler, edf, fp } from '../../rt.mjs'
import { after, sleep } from '../../alarms.mjs'
import { Channel, Mutex, Resource, choice, nonPreemptive, par } from '../../sync.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { virtualHost } from './virtual-host.mjs'
/** @import { Random } from './seeded.mjs' */

const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
const ENDED = ['done', 'failed', 'cancelled']

/** A package that counts its calls. `then` is called inside of the stay. */
const COUNTER = `
let total = 0
const seen = []
function work(n) { for (let i = 0; i < n; i++); }
export function add(n, then) {
  then?.()
  const before = total
  work(n)
  total = before + 1
  seen.push(before)
  return before + 1
}
export function peek(n) { const before = total; work(n); return before === total }
export async function later(n) { await null; return add(n) }
export function isExact() { return total === seen.length }
export const pure = n => { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }
`
let loads = 0

/** @returns {Promise<any[]>} three packages and the code of an application */
export function counters() {
  loads++
  const places = ['node_modules/a/a.mjs', 'node_modules/b/b.mjs', 'node_modules/c/c.mjs', 'app.mjs']
  return Promise.all(places.map(place => {
    const text = preemptify.source(COUNTER, { runtime, url: `file:///r${loads}/${place}` })
    return import(`data:text/javascript,${encodeURIComponent(`${text}\n//${loads}`)}`)
  }))
}

/**
 * @param {Random} random @param {any[]} packages the result of `counters`
 * @returns {Promise<{ violations: string[], cycles: number, blocks: number, ended: number }>}
 */
export async function runStays(random, packages) {
  const host = virtualHost({ read: 0.01 })
  const scheduler = new Scheduler({
    host, policy: random.pick([edf, fp]), budget: random.pick([1, 1, 2, 5]), slice: random.pick([0.001, 0.05, 1]),
    round: random.pick([0.05, 1, 1e6])
  })
  const mutexes = [0, 1].map(index => new Mutex({ name: `m${index}` }))
  const resources = [0, 1].map(index => new Resource({ name: `r${index}` }))
  const channels = [new Channel(1, { overflow: 'drop' }), new Channel(2, { overflow: 'slide' })]
  /** @type {string[]} */
  const violations = []
  let blocks = 0
  scheduler.observe((/** @type {any} */ { type, location }) => { if (type === 'block' && location) blocks++ })

  /** A callback that a package calls inside of its stay. @returns {any} */
  const callback = (/** @type {number} */ depth) => {
    if (depth > 1 || random.chance(0.5)) return undefined
    const { add } = random.pick(packages)
    const inner = callback(depth + 1)
    if (inner === undefined && random.chance(0.5)) return add
    return random.chance(0.5) ? () => add(1, inner) : preemptify(function* () { yield* preemptify(add)(1, inner) })
  }
  /** @param {any} peek */
  function* peeked(peek) {
    if (!(yield* preemptify(peek)(random.integer(1, 4)))) violations.push('a reader saw an update')
  }
  /** @returns {() => Generator<any, any, any>} */
  function call() {
    const { add, peek, later, pure } = random.pick(packages)
    const n = random.integer(1, 4)
    const then = callback(0)
    const wait = random.pick([0, 0, 0.1])
    return random.pick([
      function* () { yield* preemptify(add)(n, then) },
      function* () { yield preemptify(add)(n, then) },
      function* () { add(n, then); if (wait) yield },
      function* () { yield* peeked(peek) },
      function* () { yield later(n) },
      function* () { yield* preemptify(pure)(n * 3) },
      function* () { yield scheduler.spawn(add, {}, n, then) }
    ])
  }
  /** @param {number} least the first mutex that may be locked: all jobs lock them in one order @param {any} uses */
  function step(least, uses, depth = 0) {
    const kind = random.weighted({
      call: 6, yield: 2, sleep: 1, mutex: least < 2 && depth < 3 ? 2 : 0, resource: uses && depth < 3 ? 2 : 0, region: 1, send: 1, receive: 1,
      par: depth < 1 ? 0.5 : 0
    })
    const inner = () => Array.from({ length: random.integer(1, 2) }, () => step(least + 1, uses, depth + 1))
    switch (kind) {
      case 'call': return call()
      case 'yield': return function* () { yield }
      case 'sleep': {
        const ms = random.pick([0, 0.1, 1])
        return function* () { yield sleep(ms) }
      }
      case 'mutex': {
        const steps = inner()
        const mutex = mutexes[least]
        return function* () { yield* mutex.use(function* () { for (const one of steps) yield* one() }) }
      }
      case 'resource': {
        // Nothing waits inside of a section. A claim finishes the holders of its lock.
        const { add } = random.pick(packages)
        const then = callback(0)
        return function* () { yield* uses.use(function* () { yield* preemptify(add)(2, then) }) }
      }
      case 'region': {
        const { add } = random.pick(packages)
        return function* () { yield* nonPreemptive(function* () { yield* preemptify(add)(2) }) }
      }
      case 'send': {
        const channel = random.pick(channels)
        return function* () { yield channel.send(1) }
      }
      case 'receive': {
        const channel = random.pick(channels)
        return function* () { yield choice([{ receive: channel }, { timeout: 0.5 }]) }
      }
      case 'par': {
        const [one, other] = [call(), call()]
        return function* () { yield* par(one, other) }
      }
    }
    throw new Error(kind)
  }

  let cycles = 0
  const { warn } = console
  console.warn = text => { if (/each waits for the other/.test(text)) cycles++ }
  try {
    const jobs = Array.from({ length: random.integer(2, 5) }, (_, index) => {
      const uses = random.chance(0.3) ? random.pick(resources) : undefined
      const steps = Array.from({ length: random.integer(1, 4) }, () => step(0, uses))
      const options = {
        name: `j${index}`, priority: random.integer(0, 2), release: scheduler.now() + random.pick([0, 0, 0.05, 0.3]),
        ...(uses && { uses: [uses] }), ...(random.chance(0.3) && { deadline: random.pick([0.5, 5]) }),
        ...(random.chance(0.1) && { deadline: 1, miss: 'abort' })
      }
      return scheduler.spawn(function* () { for (const one of steps) yield* one() }, options)
    })
    for (const job of jobs) {
      job.catch((/** @type {any} */ error) => {
        if (error instanceof DeadlockError) violations.push(error.message)
        else if (!/AbortError|DeadlineError|CancelledError/.test(error?.name)) violations.push(`${job.name} failed: ${error?.stack}`)
      })
      if (random.chance(0.15)) after(random.real(0, 2), () => job.cancel(), { scheduler })
    }
    await host.drain({ until: 5000 })
    for (const job of jobs) if (!ENDED.includes(job.state)) violations.push(`${job.name} is ${job.state} at ${host.time}`)
    if (cycles === 0) packages.forEach((one, i) => { if (!one.isExact()) violations.push(`package ${i} has lost an update`) })
    else violations.splice(0, violations.length, ...violations.filter(text => text !== 'a reader saw an update'))
    if (host.errors.length) violations.push(...host.errors.map(error => `reported: ${error?.stack ?? error}`))
    return { violations, cycles, blocks, ended: jobs.length }
  } finally {
    console.warn = warn
  }
}
