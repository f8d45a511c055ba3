import { parseArgs } from 'node:util'
import { eachBrowser, kinds, type } from './support-browsers.mjs'
import { heading, table, target } from './support.mjs'

const usage = `node bench/page-others.mjs [options]
  --keys 100                        two thirds of them into the editor, the others into the filter
  --pause 200                       ms between two keys, at least; twice that at most
  --browsers ${kinds.join()}
  --ways plain,adopted`

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '100' },
    pause: { type: 'string', default: '200' },
    browsers: { type: 'string', default: kinds.join() },
    ways: { type: 'string', default: 'plain,adopted' },
    help: { type: 'boolean', default: false }
  }
})
if (values.help) {
  console.log(usage)
  process.exit()
}
const searches = Math.round(Number(values.keys) / 3)
const edits = Number(values.keys) - searches

/** Runs in the page. */
async function register() {
  const { controlled } = await import('/examples/service-worker/register.mjs')
  await controlled('/examples/service-worker/sw.mjs?match=/others/app|/peers/', { scope: '/' })
}

/** Runs in the page. */
async function watch() {
  const { watchTimings } = await import('/examples/macro/timings.mjs')
  const { eventTiming, frameRates, spread } = await import('/examples/macro/statistics.mjs')
  const timings = watchTimings()
  const status = document.getElementById('status')
  const frames = [performance.now()]
  const answers = []
  window.drawFrame(function frame() {
    const now = performance.now()
    frames.push(now)
    const [edits = 0, searches = 0] = (status.value.match(/\d+/g) ?? []).map(Number)
    while (answers.length < edits + searches) answers.push(now - window.inputs[answers.length])
    window.drawFrame(frame)
  })
  const taken = () => Object.fromEntries(window.report().map(({ name, calls, time }) => [name, { calls, time }]))
  const before = taken()
  window.measured = async keys => {
    const patience = performance.now() + 120_000
    while (answers.length < keys && performance.now() < patience) await new Promise(window.drawFrame)
    const until = performance.now()
    const { events, longFrames } = await timings.between(frames[0], until)
    const after = taken()
    const calls = ['edit', 'find', 'draw', 'send', 'trend'].map(name => ({
      name, calls: after[name].calls - (before[name]?.calls ?? 0), time: after[name].time - (before[name]?.time ?? 0)
    }))
    return {
      answered: answers.length,
      timing: events && eventTiming(events, keys),
      answer: spread(answers),
      frames: frameRates(frames),
      late: frames.filter((time, i) => i > 0 && time - frames[i - 1] > 50).length,
      longFrames,
      calls,
      result: ['preview', 'grid', 'status'].map(id => document.getElementById(id).innerHTML).join()
    }
  }
}

/** What is typed: text, and names that are begun and taken back. */
const text = Array.from({ length: edits }, (_, i) => i % 7 === 6 ? ' ' : 'preempts'[i % 8])
const names = Array.from({ length: searches }, (_, i) => ['b', 'e', 'r', 'Backspace', 'Backspace', 'Backspace', 'a', 'n', 'Backspace', 'Backspace'][i % 10])

async function measure(browser, server, way) {
  const address = `${server.isolated}/bench/others/index.html`
  if (way === 'adopted') {
    await browser.open(`${server.isolated}/examples/index.html`)
    await browser.evaluate(register)
  }
  await browser.open(`${address}?${way}`)
  await browser.evaluate(watch)
  await browser.click('#editor')
  await type(browser, text, Number(values.pause))
  await browser.click('#filter')
  await type(browser, names, Number(values.pause))
  const found = await browser.evaluate(keys => window.measured(keys), edits + searches)
  const problems = browser.takeProblems()
  if (problems.length > 0) throw new Error(`errors on the console:\n${problems.join('\n')}`)
  if (found.answered < edits + searches) throw new Error(`${found.answered} of ${edits + searches} keys were answered`)
  return { way, ...found }
}

/** What the calls that plain JavaScript makes take of the time that they take there. */
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
  const [plain] = found
  console.log(`### ${browser.name}\n`)
  table([
    'page', 'to next paint p50 / p98 (INP), ms', 'key to its result p50 / p95, ms', 'frames/s', 'intervals > 50 ms', 'longest, ms',
    'long frames', 'longest, ms', 'total blocking time, ms', 'work, of plain', 'DOM'
  ], found.map(one => {
    const { way, timing, answer, frames, late, longFrames, result } = one
    return [
      way,
      timing === null ? '-' : `${whole(timing.median)} / ${whole(timing.p98)}`,
      `${whole(answer.median)} / ${whole(answer.p95)}`,
      frames.mean.toFixed(1),
      String(late),
      whole(frames.interval.longest),
      ...longFrames === null ? ['-', '-', '-'] : [longFrames.count, longFrames.longest, longFrames.blocking].map(whole),
      workOf(one, plain).toFixed(2),
      result === plain.result ? 'the same' : 'differs'
    ]
  }))
  console.log()
  table(['ms a call', ...plain.calls.map(({ name }) => name)],
    found.map(({ way, calls }) => [way, ...calls.map(({ calls, time }) => (time / calls).toFixed(1))]))
  console.log()
  const adopted = found.find(({ way }) => way === 'adopted')
  if (plain.way !== 'plain' || adopted === undefined) return
  if (plain.timing !== null) {
    target('INP, plain', plain.timing.p98, { least: 300, unit: ' ms' })
    target('INP, adopted', adopted.timing.p98, { most: 40, unit: ' ms' })
  }
  target('frames later than 50 ms, adopted', adopted.late, { most: 0 })
  target('work, adopted', workOf(adopted, plain), { most: 2, unit: ' x' })
  if (adopted.result !== plain.result) process.exitCode = 1
  console.log()
})
