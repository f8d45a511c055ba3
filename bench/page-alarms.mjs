import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as elapse } from 'node:timers/promises'
import { eachBrowser, kinds } from './support-browsers.mjs'
import { heading, optionsOf, quantile, table, target } from './support.mjs'

const usage = `node bench/page-alarms.mjs [options]
  --seconds 6                       under load; idle, a third for each period, but ten periods
  --browsers ${kinds.join()}
  --parts idle,load`

const values = optionsOf({ seconds: '6', browsers: kinds.join(), parts: 'idle,load' }, usage)
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new RangeError(`seconds must be a number > 0, got ${values.seconds}`)
const periods = [1, 2, 5, 10, 50, 100, 500] // RTJPerf, figure 11

const ms = value => value.toFixed(2)
const p50 = list => ms(quantile(list, 0.5))
const p99 = list => ms(quantile(list, 0.99))
const most = list => ms(quantile(list, 1))
const share = (part, whole) => `${(100 * part / whole).toFixed(1)} %`

// --- a single alarm

/** Measures one alarm. Runs in the page. @returns latenesses, ms */
async function keep(way, period, duration) {
  const { Scheduler } = await import('/rt.mjs')
  const { every } = await import('/alarms.mjs')
  const scheduler = new Scheduler()
  const late = []
  const begin = scheduler.now()
  // Count one call per period. A call that is late by a whole period has missed it.
  let latest = begin
  const came = due => {
    const time = scheduler.now()
    if (due > latest && time < due + period) late.push(time - due)
    latest = due
  }
  const stop = {
    none: () => () => {},
    every: () => {
      const alarm = every(period, came, { scheduler })
      return () => alarm.cancel()
    },
    setInterval: () => {
      const interval = setInterval(() => came(begin + Math.floor((scheduler.now() - begin) / period) * period), period)
      return () => clearInterval(interval)
    }
  }[way]()
  // Wait half a period longer for the last call.
  await new Promise(resolve => setTimeout(resolve, duration + period / 2))
  stop()
  return { late, periods: Math.floor((scheduler.now() - begin) / period) }
}

/**
 * Returns the processor time of all processes of a browser, ms; undefined without /proc.
 *
 * @param {number} group
 */
function processorTime(group) {
  try {
    return readdirSync('/proc').filter(name => /^\d+$/.test(name)).reduce((sum, pid) => sum + timeOf(pid, group), 0)
  } catch {
    return undefined
  }
}

function timeOf(pid, group) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The fields after the command's name, which may contain any character: state, parent, group, ..., user,
    // system.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[2]) === group ? 10 * (Number(fields[11]) + Number(fields[12])) : 0
  } catch {
    return 0 // the process has ended
  }
}

async function idleIn(browser, place, isolated, rows) {
  const run = async (way, period) => {
    const before = processorTime(browser.pid)
    const begin = performance.now()
    const found = await browser.evaluate(keep, way, period, Math.max(seconds / 3 * 1000, 10 * period))
    const taken = processorTime(browser.pid) - before
    return { what: way, period, ...found, processor: taken / (performance.now() - begin) }
  }
  // Wait until the page has finished loading.
  await elapse(2000)
  const found = []
  for (const period of periods) found.push(await run('every', period))
  if (isolated) for (const period of periods) found.push(await run('setInterval', period))
  const { processor: page } = await run('none', 100)
  if (browser.hide) { // WebDriver cannot
    await browser.hide()
    // Browsers throttle the timers of a hidden page after a moment.
    await elapse(1000)
    found.push({ ...await run('every', 100), what: 'hidden, every' })
    await browser.show()
  }
  for (const { what, period, late, periods, processor } of found) {
    rows.push([
      `${place}, ${what}`, period, share(late.length, periods),
      ...late.length > 0 ? [p50(late), p99(late), most(late)] : ['-', '-', '-'],
      Number.isNaN(processor) ? '-' : share(processor - page, 1)
    ])
  }
  const ours = found.filter(({ what }) => what === 'every')
  return {
    kept: Math.min(...ours.map(({ late, periods }) => late.length / periods)),
    dearest: Math.max(...ours.map(({ processor }) => processor - page))
  }
}

// --- alarms beside endless jobs, and the lower bound: a bare polling loop

/**
 * Measures many alarms under load. Runs in the page.
 *
 * @returns the due time and the actual time of each alarm, and the start and end of each round
 */
async function measure(way, duration) {
  const { Scheduler, budget, defaultHost } = await import('/rt.mjs')
  const { after } = await import('/alarms.mjs')
  const host = defaultHost()
  const fired = []
  const rounds = []
  const chains = 200
  const delay = () => 1 + 19 * Math.random()
  // Draw frames, as pages do that keep the thread this busy.
  let frames = 0
  let isOver = false
  requestAnimationFrame(function draw() {
    frames++
    if (!isOver) requestAnimationFrame(draw)
  })
  const ways = {
    alarms() {
      const scheduler = new Scheduler()
      scheduler.observe(record => { if (record.type === 'round') rounds.push([record.start, record.time]) })
      for (let n = 0; n < 3; n++) {
        scheduler.spawn(function* () {
          for (let sum = 0; ;) {
            for (let i = 0; i < 20; i++) sum += Math.sqrt(i)
            if (--budget.left <= 0) yield
          }
        })
      }
      const set = () => {
        const ms = delay()
        const due = scheduler.now() + ms
        after(ms, () => {
          fired.push([due, scheduler.now()])
          set()
        }, { scheduler })
      }
      for (let chain = 0; chain < chains; chain++) set()
      return () => scheduler.pause()
    },
    // Only polls the clock, for as long as a round of the scheduler, in turns posted like rounds.
    polling() {
      const dues = Array.from({ length: chains }, () => host.now() + delay())
      let next = Math.min(...dues)
      host.post(function poll(frame = Infinity) {
        const start = host.now()
        const end = Math.min(start + 5, frame)
        let time = start
        for (; time < end; time = host.now()) {
          if (time < next) continue
          for (let n = 0; n < chains; n++) {
            if (dues[n] > time) continue
            fired.push([dues[n], time])
            dues[n] = time + delay()
          }
          next = Math.min(...dues)
        }
        rounds.push([start, time])
        if (!isOver) host.post(poll, true)
      })
      return () => {}
    }
  }
  const stop = ways[way]()
  await new Promise(resolve => setTimeout(resolve, 500))
  fired.length = frames = 0
  await new Promise(resolve => setTimeout(resolve, duration))
  const found = { fired: [...fired], rounds: [...rounds], frames, duration }
  isOver = true
  stop()
  await new Promise(resolve => setTimeout(resolve, 100))
  return found
}

/**
 * Returns the latenesses. An alarm that was due between two rounds could not fire before the next round; the
 * wait until then is the browser's and is not part of `within`.
 */
function lateness({ fired, rounds }) {
  fired.sort((a, b) => a[0] - b[0])
  let next = 0
  return {
    within: fired.map(([due, time]) => {
      while (next < rounds.length - 1 && rounds[next][1] < due) next++
      return time - Math.max(due, rounds[next][0])
    }),
    all: fired.map(([due, time]) => time - due),
    gaps: rounds.slice(1).map(([start], n) => start - rounds[n][1])
  }
}

async function loadIn(browser, place, rows) {
  const turns = { alarms: [], polling: [] }
  for (let turn = 0; turn < 4; turn++) {
    for (const way in turns) turns[way].push(await browser.evaluate(measure, way, seconds * 1000 / 4))
  }
  const found = {}
  for (const way in turns) {
    const parts = turns[way].map(lateness)
    const [within, all, gaps] = ['within', 'all', 'gaps'].map(name => parts.flatMap(part => part[name]))
    const early = all.filter(ms => ms < 0).length
    const frames = turns[way].reduce((sum, { frames }) => sum + frames, 0) / seconds
    rows.push([
      `${place}, ${way}`, all.length, early, ...[within, all, gaps].flatMap(list => [p50(list), p99(list), most(list)]),
      frames.toFixed(1)
    ])
    found[way] = { early, within: quantile(within, 0.99), all: quantile(all, 0.99) }
  }
  return found
}

const idle = []
const load = []
const results = []
await eachBrowser(values.browsers.split(','), async (browser, server) => {
  for (const isolated of [true, false]) {
    const place = `${browser.name}, ${isolated ? '' : 'not '}isolated`
    const result = { place, isolated }
    await browser.open(`${isolated ? server.isolated : server.plain}/bench/support-node.html`)
    if (values.parts.includes('idle')) Object.assign(result, await idleIn(browser, place, isolated, idle))
    if (values.parts.includes('load')) Object.assign(result, await loadIn(browser, place, load))
    results.push(result)
  }
})

if (idle.length > 0) {
  heading('what an idle page keeps of a period', 'headless; processor: of one core, beyond the same page without alarms')
  table(['page', 'period, ms', 'periods kept', 'late, ms: p50', 'p99', 'max', 'processor'], idle)
  for (const { place, kept, dearest } of results) {
    target(`${place}, periods kept of the worst period`, 100 * kept, { least: 95, unit: ' %' })
    if (!Number.isNaN(dearest)) target('processor time of the dearest', 100 * dearest, { most: 30, unit: ' %' })
  }
  console.log()
}
if (load.length > 0) {
  heading(
    'how late alarms fire in a page whose jobs never end',
    `headless; 200 chains of alarms of 1 to 20 ms, 3 endless jobs, an animation; polling: a bare loop that polls the clock, for ` +
    `as long as a round, posted by the same host; ${seconds} s each, in turns; within rounds: from when the alarm was due, or ` +
    'the first round after that began'
  )
  table([
    'page', 'alarms', 'early', 'late within rounds, ms: p50', 'p99', 'max', 'late in all, ms: p50', 'p99', 'max',
    'between rounds, ms: p50', 'p99', 'max', 'frames/s'
  ], load)
  target('early alarms', results.reduce((sum, { alarms }) => sum + alarms.early, 0), { most: 0 })
  const worst = Math.max(...results.filter(({ isolated }) => isolated).map(({ alarms }) => alarms.within))
  target('lateness within rounds, p99, isolated pages', worst, { most: 1, unit: ' ms' })
  for (const { place, alarms, polling } of results) {
    target(`${place}, p99 beyond that of the bare loop`, alarms.all - polling.all, { most: 0.3, unit: ' ms' })
    target('the same within rounds', alarms.within - polling.within, { most: 0.3, unit: ' ms' })
  }
}
