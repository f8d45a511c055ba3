import { setTimeout as elapse } from 'node:timers/promises'
import { quantile } from '../examples/macro/statistics.mjs'
import { eachBrowser, kinds, type } from './support-browsers.mjs'
import { heading, optionsOf, table, target } from './support.mjs'

const usage = `node bench/page-others.mjs [options]
  --keys 100                        half of them into the editor, the others into the filter
  --pause 100                       ms between two keys, at least; twice that at most
  --browsers ${kinds.join()}
  --ways idle,plain,adopted,waived,latest
                                    idle: nothing reacts; waived: adopted, and all callbacks may interleave;
                                    latest: adopted, of input that waits the newest counts`

const values = optionsOf({ keys: '100', pause: '100', browsers: kinds.join(), ways: 'idle,plain,adopted,waived,latest' }, usage)
const searches = Math.round(Number(values.keys) / 2)
const edits = Number(values.keys) - searches

/** Registers the service worker that rewrites the page's modules. Runs in the page. */
async function register() {
  const { controlled } = await import('/examples/service-worker/register.mjs')
  await controlled('/examples/service-worker/sw.mjs?match=/others/app|/peers/', { scope: '/' })
}

const text = Array.from({ length: edits }, (_, i) => i % 7 === 6 ? ' ' : 'preempts'[i % 8])
const names = Array.from({ length: searches }, (_, i) => 'ber an co '[i % 10])

async function measure(browser, server, way) {
  const address = `${server.isolated}/bench/others/index.html`
  if (['adopted', 'waived', 'latest'].includes(way)) {
    await browser.open(`${server.isolated}/examples/index.html`)
    await browser.evaluate(register)
  }
  await browser.open(`${address}?${way}`)
  await browser.evaluate('watch()')
  const drive = async () => {
    await browser.evaluate("document.getElementById('editor').focus()")
    await type(browser, text, Number(values.pause))
    await browser.evaluate("document.getElementById('filter').focus()")
    await type(browser, names, Number(values.pause))
    for (const patience = performance.now() + 120_000; !await browser.evaluate(`isAnswered(${edits + searches})`);) {
      if (performance.now() > patience) throw new Error(`${browser.name}, ${way}: not all keys were answered`)
      await elapse(500)
    }
    return browser.evaluate(`measured(${edits + searches})`)
  }
  const { result: found, events = [] } = await browser.trace?.(['toplevel', 'devtools.timeline'], drive) ?? { result: await drive() }
  const problems = await browser.takeProblems()
  if (problems.length > 0) throw new Error(`errors on the console:\n${problems.join('\n')}`)
  return { way, ...found, processor: processorTimes(events) }
}

/**
 * Measures the processor time of the page's thread. Unlike wall time, it does not include other processes.
 *
 * @param {any[]} events events of a Chromium trace
 * @returns {{
 *   tasks: number[], interactions: number[],
 *   longest: { name: string, time: number, parts: [string, number][] }[]
 * } | null} processor times in ascending order, ms. `tasks`: of each task; `interactions`: of the tasks
 *   between an interaction and the next paint; `longest`: the parts of the longest task and of the longest
 *   interval between frames
 */
function processorTimes(events) {
  const told = events.filter(({ name, ph, args }) => name === 'EventTiming' && ph === 'b' && args.data?.interactionId > 0)
  if (told.length === 0) return null
  const [{ pid, tid }] = told
  const tasks = events.filter(event => event.name === 'ThreadControllerImpl::RunTask' && event.pid === pid && event.tid === tid && event.tdur > 0)
  const longest = new Map()
  for (const { ts, args: { data: { interactionId, duration } } } of told) {
    const within = tasks.reduce((sum, task) => {
      const share = Math.min(task.ts + task.dur, ts + 1000 * duration) - Math.max(task.ts, ts)
      return share > 0 ? sum + task.tdur * share / task.dur : sum
    }, 0) / 1000
    longest.set(interactionId, Math.max(within, longest.get(interactionId) ?? 0))
  }
  const ascending = values => [...values].sort((a, b) => a - b)
  const own = ownTimes(events.filter(event => event.ph === 'X' && event.pid === pid && event.tid === tid))
  const task = tasks.reduce((most, task) => task.tdur > most.tdur ? task : most)
  const frames = ascending(events.filter(event => event.name === 'FireAnimationFrame' && event.pid === pid && event.tid === tid).map(({ ts }) => ts))
  const late = frames.slice(1).reduce((most, ts, i) => ts - frames[i] > frames[most + 1] - frames[most] ? i : most, 0)
  return {
    tasks: ascending(tasks.map(({ tdur }) => tdur / 1000)),
    interactions: ascending(longest.values()),
    longest: [
      { name: 'longest task', time: task.dur / 1000, parts: partsOf(own, task.ts, task.ts + task.dur) },
      { name: 'longest interval between frames', time: (frames[late + 1] - frames[late]) / 1000, parts: partsOf(own, frames[late], frames[late + 1]) }
    ]
  }
}

/**
 * Returns the duration of each event without the events nested in it, us.
 *
 * @param {any[]} events events of one thread @returns {{ name: string, ts: number, time: number }[]}
 */
function ownTimes(events) {
  const around = []
  return events.sort((a, b) => a.ts - b.ts || b.dur - a.dur).map(({ name, ts, dur, args }) => {
    while (around.length > 0 && ts >= around.at(-1).end) around.pop()
    const event = { name: args.data?.functionName ? `${name} ${args.data.functionName}` : name, ts, time: dur, end: ts + dur }
    if (around.length > 0) around.at(-1).time -= dur
    around.push(event)
    return event
  })
}

/** Returns the six longest parts between two times. */
function partsOf(own, from, to) {
  const times = new Map()
  for (const { name, ts, time } of own) if (ts >= from && ts < to) times.set(name, (times.get(name) ?? 0) + time / 1000)
  return [...times].filter(([, time]) => time >= 0.5).sort(([, a], [, b]) => b - a).slice(0, 6)
}

/** Returns the time of the page's calls relative to plain JavaScript, for the same number of calls. */
function workOf(found, plain) {
  const time = calls => calls.reduce((sum, { calls: count, time }, i) => sum + time / count * plain.calls[i].calls, 0)
  return time(found.calls) / time(plain.calls)
}

const whole = ms => ms.toFixed(0)

heading(
  'a page of others\' code, unchanged, and adopted by one line',
  `a Markdown editor with preview and highlighting, a grid of 100 000 rows, a chart, timers of 100 to 300 ms; headless, ` +
  `${edits + searches} trusted keys every ${values.pause} to ${2 * Number(values.pause)} ms`
)
await eachBrowser(values.browsers.split(','), async (browser, server) => {
  const found = []
  for (const way of values.ways.split(',')) found.push(await measure(browser, server, way))
  const [plain, strict, waived] = ['plain', 'adopted', 'waived'].map(name => found.find(({ way }) => way === name))
  const adopted = waived ?? strict // the targets of time are those of a page whose author gives waivers
  console.log(`### ${browser.name}\n`)
  table([
    'page', 'to next paint p50 / p98 (INP), ms', 'key to its result p50 / p95, ms', 'frames/s', 'intervals > 50 ms', 'longest, ms',
    'long frames', 'longest, ms', 'total blocking time, ms', 'work, of plain', 'DOM'
  ], found.map(one => {
    const { way, timing, answer, frames, late, longFrames, result } = one
    return [
      way,
      timing === null ? '-' : `${whole(timing.median)} / ${whole(timing.p98)}`,
      answer === null ? '-' : `${whole(answer.median)} / ${whole(answer.p95)}`,
      frames.mean.toFixed(1),
      String(late),
      whole(frames.interval.longest),
      ...longFrames === null ? ['-', '-', '-'] : [longFrames.count, longFrames.longest, longFrames.blocking].map(whole),
      way === 'idle' || plain === undefined ? '-' : workOf(one, plain).toFixed(2),
      way === 'idle' || plain === undefined ? '-' : result === plain.result ? 'the same' : 'differs'
    ]
  }))
  console.log()
  if (found[0].processor !== null) {
    console.log('Processor time of the page\'s thread, ms:\n')
    table(['page', 'interaction to next paint, p98', 'longest task', 'tasks > 50 ms'], found.map(({ way, processor: { tasks, interactions } }) => [
      way, whole(quantile(interactions, 0.98)), whole(tasks.at(-1)), String(tasks.filter(ms => ms > 50).length)
    ]))
    table(['page', 'what was longest', 'ms', 'of it'], found.flatMap(({ way, processor: { longest } }) => longest.map(({ name, time, parts }) =>
      [way, name, whole(time), parts.map(([name, time]) => `${name} ${time.toFixed(1)}`).join(', ')])))
  }
  const answering = found.filter(({ way }) => way !== 'idle')
  if (answering.length > 0) {
    table(['ms a call: mean, longest', ...answering[0].calls.map(({ name }) => name)], answering.map(({ way, calls }) =>
      [way, ...calls.map(({ calls, time, longest }) => `${(time / calls).toFixed(1)}, ${whole(longest)}`)]))
    console.log()
  }
  if (plain === undefined || adopted === undefined) return
  if (plain.timing !== null) {
    target('INP, plain', plain.timing.p98, { least: 300, unit: ' ms' })
    target('INP, adopted', adopted.timing.p98, { most: 40, unit: ' ms' })
  }
  if (adopted.processor !== null) {
    const { tasks, interactions } = adopted.processor
    target('the same, processor time', quantile(interactions, 0.98), { most: 40, unit: ' ms' })
    target('tasks of more than 50 ms of it, adopted', tasks.filter(ms => ms > 50).length, { most: 0 })
  }
  target('frames later than 50 ms, adopted', adopted.late, { most: 0 })
  target('work, adopted', workOf(adopted, plain), { most: 2, unit: ' x' })
  if ((strict ?? adopted).result !== plain.result) process.exitCode = 1
  console.log()
})
