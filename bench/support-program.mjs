/**
 * Runs a whole program natively and rewritten, in a separate process: node bench/support-program.mjs URL
 * check|measure|why. The last line of its output contains the findings as JSON.
 */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { isDeepStrictEqual } from 'node:util'
import { adopt } from '../addons/adopt.mjs'
import { isOwnModule, preemptify } from '../addons/preemptify.mjs'
import { Scheduler, defaultHost } from '../rt.mjs'
import { rewritten } from '../test/support/rewritten.mjs'
import { processorClock } from './support-clock.mjs'
import { cpuTime, median } from './support.mjs'

const [url, what] = process.argv.slice(2)
// Maximum duration of one way to run a program, ms.
const patience = 60_000

const { running } = processorClock()

/**
 * Minimum length of a long stretch, ms; and the number of runs out of three in which a reported stretch
 * occurs.
 */
const LONG = 5
const REPEATED = 2

/** Options that the program wants for its scheduler, and whether its callbacks of the event loop are jobs. */
const settings = {}
let isAdopted = false

const collections = []
const observer = new PerformanceObserver(list => {
  for (const { startTime, duration } of list.getEntries()) collections.push([startTime, startTime + duration])
})
observer.observe({ entryTypes: ['gc'] })

try {
  const { namespace: program, cost } = await rewritten(url, { now: cpuTime })
  const native = await import(url)
  const work = { check, measure, why }[what]
  // Some programs need a scheduler with special options. For example, a package that starts timers needs one
  // round, because its timers could otherwise see a half-built object.
  Object.assign(settings, native.scheduler)
  isAdopted = native.isAdopted === true
  const findings = await work(native, program)
  console.log(JSON.stringify({ cost, ...findings }))
} catch (error) {
  console.log(JSON.stringify({ failure: String(error?.stack ?? error).slice(0, 1500) }))
}
process.exit(0)

/** Runs `main` as a job. Returns its result, the host, and the statistics of the scheduler. */
async function asJob(main, size, options, host = attentiveHost()) {
  const scheduler = new Scheduler({ ...settings, host })
  const adoption = isAdopted ? adopt(globalThis, { scheduler, warn: false }) : null
  try {
    const result = await scheduler.spawn(main, options, size)
    return { result, host, ...scheduler.stats() }
  } finally {
    adoption?.release()
  }
}

/**
 * Returns a host that records gaps of more than 0.5 ms between two clock readings, without the time of other
 * threads.
 */
function attentiveHost() {
  const gaps = []
  let before = Infinity
  let wall = 0
  return {
    ...defaultHost(),
    gaps,
    now() {
      const time = running()
      const at = performance.now()
      if (time - before > 0.5) gaps.push({ from: wall, to: at, length: time - before })
      before = time
      wall = at
      return time
    }
  }
}

/** Returns the stretches of a job, ms: `length`, and `without`, which excludes garbage collection. */
async function stretchesOf({ gaps }) {
  // Performance entries arrive in a later event-loop turn.
  await new Promise(resolve => setTimeout(resolve, 5))
  const list = gaps.map(({ from, to, length }) => {
    const collected = collections.map(([start, end]) => Math.max(0, Math.min(end, to) - Math.max(start, from)))
    return { from, to, length, without: Math.max(0, length - collected.reduce((sum, ms) => sum + ms, 0)) }
  })
  collections.length = 0
  return list
}

/** Checks that all ways to run the program give the same result. */
async function check(native, program) {
  const { small, full } = native.sizes
  const ways = [
    ['plain, small', small, size => program.main(size)],
    ['plain, full', full, size => program.main(size)],
    ['job, budget 1', small, async size => (await asJob(program.main, size, { budget: 1 })).result],
    ['job, budget 7', small, async size => (await asJob(program.main, size, { budget: 7 })).result],
    ['job, budget auto', full, async size => (await asJob(program.main, size)).result],
    ['plain, after jobs', small, size => program.main(size)],
    ['native, after all', small, size => native.main(size)]
  ]
  const expected = new Map([
    [small, await native.main(small)],
    [full, await native.main(full)]
  ])
  const failures = []
  for (const [way, size, run] of ways) {
    const timeout = setTimeout(() => {
      console.log(JSON.stringify({ failures: [...failures, [way, `not done after ${patience / 1000} s`]] }))
      process.exit(0)
    }, patience)
    try {
      const result = await run(size)
      if (!isDeepStrictEqual(result, expected.get(size))) failures.push([way, difference(result, expected.get(size))])
    } catch (error) {
      failures.push([way, String(error?.stack ?? error).slice(0, 700)])
    }
    clearTimeout(timeout)
  }
  const { yields, longestBudget } = await asJob(program.main, small, { budget: 1 }).catch(() => ({}))
  return { failures, yields, longestBudget }
}

function difference(actual, expected, path = 'result') {
  if (typeof actual === 'object' && typeof expected === 'object' && actual !== null && expected !== null) {
    for (const key of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
      if (!isDeepStrictEqual(actual[key], expected[key]))
        return difference(actual[key], expected[key], `${path}.${key}`)
    }
  }
  return `${path} is ${String(actual).slice(0, 200)}, expected ${String(expected).slice(0, 200)}`
}

async function measure(native, program) {
  const size = native.sizes.full
  const hosts = []
  const stretches = []
  const ways = {
    native: () => native.main(size),
    plain: () => program.main(size),
    job: async () => {
      const { result, host } = await asJob(program.main, size)
      hosts.push(host)
      return result
    }
  }
  const costs = { native: [], plain: [], job: [] }
  const order = Object.entries(ways)
  const turn = async (name, run) => {
    await new Promise(resolve => {
      setImmediate(resolve)
    })
    const started = cpuTime()
    await run()
    costs[name].push(cpuTime() - started)
    if (name === 'job') stretches.push(longest(await stretchesOf(hosts.pop())))
  }
  // The first run of each way is cold; two more are warm-up.
  const started = cpuTime()
  for (let pass = 0; pass < 12 && (pass < 4 || cpuTime() - started < Number(process.env.TIME ?? 4000)); pass++) {
    for (const [name, run] of order) await turn(name, run)
    order.push(order.shift())
  }
  const warm = costs.native.length > 6 ? 3 : costs.native.length > 4 ? 2 : 1
  const to = name => median(costs[name].slice(warm).map((cost, i) => cost / costs.native[i + warm]))
  return {
    native: median(costs.native.slice(warm)),
    plain: to('plain'),
    job: to('job'),
    cold: { native: costs.native[0], plain: costs.plain[0] / costs.native[0], job: costs.job[0] / costs.native[0] },
    // Take the minimum: a stretch that only some runs have is caused by the machine or by the compiler.
    stretch: Math.min(...stretches.slice(warm).map(({ without }) => without)),
    usual: median(stretches.slice(warm).map(({ without }) => without)),
    whole: median(stretches.slice(warm).map(({ length }) => length)),
    coldStretch: stretches[0].without
  }
}

function longest(stretches) {
  return {
    length: Math.max(0, ...stretches.map(({ length }) => length)),
    without: Math.max(0, ...stretches.map(({ without }) => without))
  }
}

/**
 * Explains the long stretches by CPU profiles: the functions that a twin, or a callback of a twin, called
 * plainly between two clock readings, and the twin itself, each with its share of the time. A twin that takes
 * long itself has called a built-in function, because all loops of a twin have preemption points.
 */
async function why(native, program) {
  const size = native.sizes.full
  for (let i = 0; i < 3; i++) await asJob(program.main, size)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  const found = new Map()
  for (let run = 0; run < 3; run++) {
    await stretchesOf({ gaps: [] })
    await session.post('Profiler.start')
    const offset = Number(process.hrtime.bigint()) / 1000 - performance.now() * 1000
    const { host } = await asJob(program.main, size)
    const { profile } = await session.post('Profiler.stop')
    const nameOf = namesOf(profile, offset)
    const longest = new Map()
    for (const stretch of await stretchesOf(host)) {
      if (stretch.without < LONG) continue
      for (const [name, share] of nameOf(stretch)) longest.set(name, Math.max(share * stretch.without, longest.get(name) ?? 0))
    }
    for (const [name, ms] of longest) found.set(name, [...(found.get(name) ?? []), ms])
  }
  const stretches = [...found].filter(([, all]) => all.length >= REPEATED).map(([name, all]) => ({ name, ms: median(all) }))
  return { stretches: stretches.sort((a, b) => b.ms - a.ms) }
}

/** Returns a function that names a stretch by a profile. `offset`: the offset of the profile's clock, us. */
function namesOf({ nodes, samples, timeDeltas, startTime }, offset) {
  const all = new Map(nodes.map(node => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id])))
  const times = []
  let at = startTime
  for (const delta of timeDeltas) times.push(at += delta)
  const titleOf = id => {
    const { callFrame: { functionName, url, lineNumber } } = all.get(id)
    return `${functionName || '(anonymous)'}${url ? ` ${url.replace(/.*\/(?=[^/]*\/[^/]*$)/, '')}:${lineNumber + 1}` : ''}`
  }
  const isTwin = id => /^#?\$\w*$/.test(all.get(id).callFrame.functionName)
  const isOurs = id => isOwnModule(all.get(id).callFrame.url)
  const isEngine = id => !all.get(id).callFrame.url

  return ({ from, to }) => {
    const isIn = time => time >= from * 1000 + offset && time <= to * 1000 + offset
    const stacks = samples.filter((_, i) => isIn(times[i])).map(id => {
      const stack = []
      for (let node = id; node !== undefined; node = parents.get(node)) stack.unshift(node)
      return stack
    }).filter(stack => !stack.every(isEngine)) // drop the samples of the collector
    // Few samples of the program mean that the thread was mostly not running.
    if (stacks.length < 10) return [['nothing that a profile shows', 1]]
    const pieces = new Map()
    for (const stack of stacks) {
      const driven = stack.findLastIndex(id => all.get(id).callFrame.functionName === 'driveToEnd')
      const caller = stack.slice(0, Math.max(driven, 0)).findLast(id => !isEngine(id) && !isOurs(id) && !isTwin(id))
      const last = stack.findLastIndex(id => isTwin(id) || isOurs(id))
      const piece = stack.slice(last + 1).find(id => !isEngine(id))
      const name = caller ? `called outside of a job, or by what stays one piece: ${titleOf(caller)}`
        : piece ? `${reasonOf(all.get(piece).callFrame)}: ${titleOf(piece)}` : `calls of the engine, or points: ${titleOf(stack[last])}`
      pieces.set(name, (pieces.get(name) ?? 0) + 1)
    }
    return [...pieces].map(([name, count]) => [name, count / stacks.length]).filter(([, share]) => share > 0.2)
  }
}

/**
 * Returns the reason why a function was called plainly, from its name and the original text.
 *
 * @param {any} callFrame
 */
function reasonOf({ functionName, url }) {
  const none = 'calls of the engine in what has no loop, or is called by the engine'
  const file = url.replace(/^.*\/rewritten-[^/]*\//, '')
  if (file === url) return none
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  const reports = ['module', 'script'].map(type => {
    try {
      return preemptify.report(text, { type }).filter(({ claims }) => claims === undefined)
    } catch {
      return []
    }
  })
  const name = functionName.replace(/^.*[ .]/, '')
  const found = reports.flat().find(one => one.name === name || (one.name === 'constructor' && /^[A-Z]/.test(name)))
  return found ? `one piece, ${found.reason}` : none
}
