import { createCipheriv } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { blocksOf, encrypt, expandKey } from '../../examples/macro/aes.mjs'
import {
  lastWord, run, runSteps, runSubtest, stepsOf, subtests, Watch
} from '../../examples/macro/experiment.mjs'
import { binned, heightOf } from '../../examples/macro/graphs.mjs'
import { computations, loadTaskSet, loadWords } from '../../examples/macro/loads.mjs'
import { cellsOf, figure, figureOf, grouped, percent } from '../../examples/macro/report.mjs'
import { eventTiming, frameRates, quantile, spread } from '../../examples/macro/statistics.mjs'
import { byDeadline, byPriority, plain, ways } from '../../examples/macro/ways.mjs'
import { budget } from '../../rt.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

const taskSet = await loadTaskSet()
const key = Uint8Array.from({ length: 16 }, (_, i) => 17 * i)

/** The ciphertext of the same bytes by Node's crypto module. */
function reference(bytes, times) {
  let result = Buffer.from(bytes)
  for (let time = 0; time < times; time++) {
    const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
    result = Buffer.concat([cipher.update(result), cipher.final()])
  }
  return result.toString('hex')
}
const hex = bytes => Buffer.from(bytes).toString('hex')

// ------------------------------------------------------------------------------------------------------- AES
const aes = suite('AES')

aes('encrypt computes the example of FIPS 197', () => {
  const example = Uint8Array.from({ length: 16 }, (_, i) => i)
  assert.is(hex(expandKey(example)).slice(-32), '13111d7fe3944a17f307a78b4d2b30c5')
  assert.is(hex(encrypt('', example, 1, { blocks: 0 })), 'c6a13b37878f5b826f4f8162a1c8d879')
})

for (const text of ['', 'a', 'sixteen bytes...', 'kindergärtner'.repeat(16), 'word'.repeat(33)]) {
  aes(`${text.length} characters, encrypted three times, match Node's crypto`, () => {
    const progress = { blocks: 0 }
    assert.is(hex(encrypt(text, key, 3, progress)), reference(blocksOf(text), 3))
    assert.is(progress.blocks, 3 * blocksOf(text).length / 16)
  })
}

aes('the preemptible version returns the same and passes a point per block', () => {
  const progress = { blocks: 0 }
  const text = 'text'.repeat(16)
  const steps = computations.encryptPreemptibly(text, key, 350, progress)
  let yields = 0
  let result
  do {
    budget.left = 8
    result = steps.next()
    yields++
  } while (!result.done)
  assert.is(hex(result.value), reference(blocksOf(text), 350))
  assert.is(progress.blocks, 1400)
  assert.ok(yields > 1400 / 8, `${yields}`)
})

aes.run()

// ------------------------------------------------------------------------------------------------ statistics
const statistics = suite('statistics')

statistics('a quantile is the least value that reaches its share of the values', () => {
  const values = Array.from({ length: 20 }, (_, i) => i + 1)
  assert.equal([0, 0.5, 0.95, 1].map(share => quantile(values, share)), [1, 10, 19, 20])
  assert.equal(spread([3, 1, 2]), { count: 3, median: 2, p95: 3, longest: 3 })
  assert.is(spread([]), null)
})

statistics('frame rates are computed from intervals, in total and per second', () => {
  const times = Array.from({ length: 151 }, (_, i) => 100 + 20 * i)
  assert.equal(frameRates(times), {
    mean: 50, minimum: 50, perSecond: [50, 50, 50], interval: { count: 150, median: 20, p95: 20, longest: 20 }
  })
})

statistics('a freeze leaves seconds without frames and counts up to its end', () => {
  const { mean, minimum, perSecond, interval } = frameRates([0, 500, 1000, 3500, 4000])
  assert.equal(perSecond, [2, 0, 0, 2])
  assert.is(mean, 1)
  assert.is(minimum, 0)
  assert.is(interval.longest, 2500)
})

statistics('less than a second has no minimum, and a single frame has no interval', () => {
  assert.equal(frameRates([0, 20, 40]).minimum, null)
  assert.equal(frameRates([5]), { mean: 0, minimum: null, perSecond: [], interval: null })
})

statistics('keys without an event-timing entry count as shorter than the threshold', () => {
  assert.equal(eventTiming([16, 40], 40), { count: 40, median: 8, p95: 8, p98: 40, longest: 40 })
  assert.is(eventTiming([], 0), null)
})

statistics.run()

// --------------------------------------------------------------------------------------------------- the run
const runs = suite('runs')

/**
 * The world of a benchmark on the virtual host. Jobs of the task set take their declared time, AES takes 40
 * ms.
 */
function worldOn(host, { blockTime = 0.05, ...more } = {}) {
  const moves = []
  const echoes = []
  const shown = []
  const field = Object.assign(new EventTarget(), { value: '' })
  const advance = (ms, progress) => {
    host.advance(ms)
    progress.worked += ms
  }
  const blocks = 800
  return {
    host,
    post: fn => host.post(fn),
    field,
    page: new EventTarget(),
    move: time => moves.push(time),
    echo: text => echoes.push(text),
    show: result => shown.push(result),
    taskSet,
    words: ['one', 'two', 'three'],
    computations: {
      encrypt(text, key, times, progress) {
        host.advance(blocks * blockTime)
        progress.blocks += blocks
        return text
      },
      *encryptPreemptibly(text, key, times, progress) {
        for (let block = 0; block < blocks; block++) {
          host.advance(blockTime)
          progress.blocks++
          if (--budget.left <= 0) yield
        }
        return text
      },
      spin: (wcet, now, progress) => advance(wcet, progress),
      *spinPreemptibly(wcet, now, progress) {
        for (let left = wcet; left > 0; left--) {
          advance(Math.min(left, 1), progress)
          if (--budget.left <= 0) yield
        }
      }
    },
    moves,
    echoes,
    shown,
    ...more
  }
}

async function drained(host, promise) {
  let settled
  promise.then(() => { settled = true }, () => { settled = true })
  while (!settled) await host.drain({ turns: 1 })
  return promise
}

const subtest = (way, name, options = {}, host = virtualHost({ frame: 20 })) => {
  const world = worldOn(host)
  return drained(host, runSubtest(world, way, name, { seconds: 4, ...options }))
    .then(outcome => ({ outcome, world, host }))
}

for (const way of ways) {
  runs(`${way.id}: without load, every frame moves the box and words are echoed`, async () => {
    const { outcome, world } = await subtest(way, 'none')
    assert.is(outcome.frames.mean, 50)
    assert.equal(outcome.frames.perSecond, [50, 50, 50, 50])
    assert.ok(Math.abs(world.moves.length - 200) <= 1, `${world.moves.length}`)
    assert.equal(world.echoes, ['one', 'two', 'three', 'one', 'two', 'three', 'one', 'two'])
    assert.equal(outcome.input, {
      count: 8, trusted: 0, lost: 0, latency: { count: 8, median: 0, p95: 0, longest: 0 }, timing: null
    })
    assert.equal(outcome.perSecond, { blocks: 0, worked: 0 })
    assert.is(outcome.jobs.late, 0)
    assert.is(outcome.longFrames, null)
  })

  runs(`${way.id}: each word is encrypted, repeated sixteen times`, async () => {
    const { outcome, world } = await subtest(way, 'aes')
    const texts = ['one', 'two', 'three', 'one', 'two', 'three', 'one'].map(word => word.repeat(16))
    assert.equal(world.shown.slice(0, 7), texts)
    assert.ok(outcome.perSecond.blocks >= 7 * 800 / 4)
  })
}

runs('plain JavaScript runs the task set in order of release and freezes the page', async () => {
  const { outcome, world } = await subtest(plain, 'tasks')
  assert.is(outcome.frames.minimum, 0)
  assert.ok(outcome.frames.mean < 10)
  // 56 + 738 + 1615 + 1815 ms end at 4224. Later tasks would start after the end, so they do not run.
  assert.is(outcome.frames.interval.longest, 4224)
  assert.is(Math.round(outcome.perSecond.worked * outcome.seconds), 56 + 738 + 1615 + 1815)
  assert.is(world.echoes.length, 8)
  assert.is(outcome.input.lost, 0)
  assert.ok(outcome.input.latency.longest > 3700)
  assert.is(outcome.scheduler, null)
})

for (const way of [byDeadline, byPriority]) {
  runs(`${way.id}: under AES and the task set, frames and words are all on time`, async () => {
    const { outcome } = await subtest(way, 'all')
    assert.ok(outcome.frames.mean >= 49.9, `${outcome.frames.mean}`)
    assert.ok(outcome.frames.minimum >= 49)
    assert.ok(outcome.frames.interval.p95 <= 25)
    assert.ok(outcome.input.latency.longest <= 7, `${outcome.input.latency.longest}`)
    assert.is(outcome.input.lost, 0)
    assert.ok(outcome.perSecond.worked > 850, `${outcome.perSecond.worked}`)
    assert.is(outcome.jobs.late, 0)
    assert.ok(outcome.scheduler.busy > 3900)
  })
}

runs('endless AES uses the remaining time', async () => {
  for (const way of ways) {
    const { outcome } = await subtest(way, 'endless')
    assert.ok(outcome.perSecond.blocks > 19_000, `${way.id} ${outcome.perSecond.blocks}`)
  }
})

for (const way of ways) {
  runs(`${way.id}: end() stops the load and the input field`, async () => {
    const host = virtualHost({ frame: 20 })
    const world = worldOn(host)
    const running = run(world, way, { typing: true, aes: true, tasks: true, endless: true })
    await host.drain({ until: 3000 })
    const ended = host.time
    await drained(host, running.end())
    assert.ok(host.time - ended < 50, `${host.time - ended}`)
    const before = [world.moves.length, world.echoes.length, running.watch.progress.worked]
    world.field.dispatchEvent(new Event('input'))
    await host.drain()
    assert.equal([world.moves.length, world.echoes.length, running.watch.progress.worked], before)
    assert.equal([host.timers.length, host.posts, host.frames], [0, 0, 0])
  })
}

runs('the latency of a key counts once, from its press', async () => {
  const host = virtualHost({ frame: 20 })
  const world = worldOn(host)
  const running = run(world, byDeadline, {})
  const at = (type, timeStamp) => Object.defineProperty(new Event(type), 'timeStamp', { value: timeStamp })
  host.after(100, () => {
    world.field.value = 'a'
    world.field.dispatchEvent(at('keydown', 90))
    world.field.dispatchEvent(at('input', 98))
  })
  host.after(200, () => world.field.dispatchEvent(at('input', 195)))
  await host.drain({ until: 300 })
  assert.equal(running.watch.latencies, [10, 5])
  assert.equal(world.echoes, ['a', 'a'])
  await drained(host, running.end())
})

runs('the load has the fifteen tasks of the paper and a list of words', async () => {
  const utilization = taskSet.tasks.reduce((sum, [wcet, period]) => sum + wcet / period, 0)
  assert.is(taskSet.tasks.length, 15)
  assert.ok(Math.abs(utilization - taskSet.utilization) < 1e-9, `${utilization}`)
  assert.ok((await loadWords()).every(word => /^[a-z']{6,17}$/.test(word)))
})

runs('lastWord returns the word that is being typed', () => {
  assert.equal(['', 'a', 'two words', 'word '].map(lastWord), ['', 'a', 'words', 'word'])
})

runs('under fixed priorities a shorter deadline is a higher priority', async () => {
  const host = virtualHost({ frame: 20 })
  const order = []
  const world = worldOn(host)
  const running = run(world, byPriority, { tasks: true, endless: true })
  const { spinPreemptibly } = world.computations
  world.computations.spinPreemptibly = function* (wcet, ...rest) {
    order.push(wcet)
    yield* spinPreemptibly(wcet, ...rest)
  }
  await host.drain({ until: 999 })
  const shortest = taskSet.tasks.toSorted((a, b) => a[1] - b[1]).map(([wcet]) => wcet)
  assert.equal(order, shortest.slice(0, order.length))
  assert.ok(order.length > 5)
  await drained(host, running.end())
})

runs('an automatic run has the four subtests of the paper for each way, with pauses', async () => {
  const host = virtualHost({ frame: 20 })
  const world = worldOn(host)
  const steps = stepsOf([plain, byDeadline])
  assert.equal(steps.map(({ way, subtest }) => `${way.id} ${subtest}`), [
    'plain none', 'plain aes', 'plain tasks', 'plain all', 'edf none', 'edf aes', 'edf tasks', 'edf all'
  ])
  const begun = []
  const outcomes = []
  await drained(host, (async () => {
    const onStart = (step, index, watch) => begun.push([index, step.subtest, watch instanceof Watch])
    for await (const outcome of runSteps(world, steps, { seconds: 1, onStart })) outcomes.push(outcome)
  })())
  assert.equal(begun, steps.map(({ subtest }, index) => [index, subtest, true]))
  assert.equal(outcomes.map(({ way, subtest }) => `${way} ${subtest}`), steps.map(
    ({ way, subtest }) => `${way.id} ${subtest}`))
  assert.ok(outcomes.every(({ seconds }) => seconds >= 1))
})

runs('a stopped run rejects with the reason and leaves no job or timer', async () => {
  for (const [way, name] of [[plain, 'aes'], [byDeadline, 'all']]) {
    const host = virtualHost({ frame: 20 })
    const controller = new AbortController()
    host.after(1000, () => controller.abort(new Error('enough')))
    const running = runSubtest(worldOn(host), way, name, { seconds: 4, signal: controller.signal })
    const reason = await drained(host, running).catch(error => error.message)
    assert.is(reason, 'enough')
    await host.drain()
    assert.equal([host.timers.length, host.posts, host.frames], [0, 0, 0])
  }
})

runs.run()

// --------------------------------------------------------------------------------------------- a hidden page
const hidden = suite('a hidden page')

const visibility = (host, world, isHidden) => {
  host.isHidden = isHidden
  world.page.dispatchEvent(new Event('visibilitychange'))
}

for (const way of [plain, byDeadline]) {
  hidden(`${way.id}: the time in a hidden page is not measured`, async () => {
    const host = virtualHost({ frame: 20 })
    const world = worldOn(host, { blockTime: 0.01 })
    host.after(1010, () => visibility(host, world, true))
    host.after(6010, () => visibility(host, world, false))
    const outcome = await drained(host, runSubtest(world, way, 'aes', { seconds: 2 }))
    assert.ok(host.time > 7000 && host.time < 7100, `${host.time}`)
    // Up to one slice and one budget of the load that runs at the end.
    assert.ok(outcome.seconds >= 2 && outcome.seconds <= 2.0012, `${outcome.seconds}`)
    const { perSecond } = outcome.frames
    assert.ok(perSecond.every(count => Math.abs(count - 50) <= 1), `${perSecond}`)
    assert.ok(outcome.frames.interval.longest <= 40, `${outcome.frames.interval.longest}`)
    // Four words are typed in two visible seconds. Words of the hidden time were also encrypted.
    assert.ok(outcome.perSecond.blocks <= 4 * 800 / 2, `${outcome.perSecond.blocks}`)
    // All words are echoed, but words of the hidden time are not part of the latencies.
    assert.is(world.echoes.length, 14)
    const { count, lost, latency } = outcome.input
    assert.equal([count, lost, latency.count], [14, 0, 4])
  })
}

hidden('frames that are drawn while the page is hidden do not count', async () => {
  const host = virtualHost({ frame: 20 })
  const page = new EventTarget()
  let isHidden = false
  const watch = new Watch({ host: { ...host, hidden: () => isHidden }, page })
  const change = hides => () => {
    isHidden = hides
    page.dispatchEvent(new Event('visibilitychange'))
  }
  host.after(50, change(true))
  host.after(110, change(false))
  await host.drain({ until: 150 })
  watch.end()
  assert.equal(watch.frames, [0, 20, 40, 60, 80])
})

hidden('plain JavaScript skips the periods that passed while the page was hidden', async () => {
  const host = virtualHost({ frame: 20 })
  const world = worldOn(host)
  let started = 0
  world.computations.spin = wcet => { if (wcet === 29) started++ }
  const running = run(world, plain, { tasks: true })
  host.advance(60_000)
  await host.drain({ until: 65_500 })
  // A late run at the start, and the runs after the pause.
  assert.is(started, 7)
  await drained(host, running.end())
})

hidden('after the page is shown again, the box and each task have one job', async () => {
  const host = virtualHost({ frame: 20 })
  const world = worldOn(host)
  const running = run(world, byDeadline, { tasks: true })
  let started = 0
  const { spinPreemptibly } = world.computations
  world.computations.spinPreemptibly = function* (...given) {
    started++
    yield* spinPreemptibly(...given)
  }
  await host.drain({ until: 9000 })
  visibility(host, world, true)
  const moves = world.moves.length
  // The machine was suspended, so nothing ran for a minute.
  host.advance(60_000)
  started = 0
  await host.drain({ turns: 1 })
  visibility(host, world, false)
  await host.drain({ until: host.time + 30 })
  assert.ok(world.moves.length - moves <= 2, `${world.moves.length - moves} moves`)
  assert.ok(started <= taskSet.tasks.length, `${started} jobs`)
  await drained(host, running.end())
})

hidden.run()

// ------------------------------------------------------------------------------------------------ the report
const reports = suite('reports')

const outcomeOf = (way, name, perSecond) => ({
  way,
  title: way.toUpperCase(),
  subtest: name,
  loads: {},
  seconds: perSecond.length,
  frames: {
    mean: 60,
    minimum: Math.min(...perSecond),
    perSecond,
    interval: { count: 60, median: 16.7, p95: 17.24, longest: 18 }
  },
  input: {
    count: 2, trusted: 0, lost: 0, latency: { count: 2, median: 1, p95: 16.4, longest: 17 }, timing: null
  },
  perSecond: { blocks: 12345.6, worked: 0 },
  jobs: { ended: 200, late: 3, longest: 4 },
  longFrames: null,
  scheduler: null
})

reports('a row shows the measured values and marks those that meet their goal', () => {
  assert.equal(cellsOf(outcomeOf('edf', 'aes', [60, 58])), [
    { text: '60.0', isGood: true }, { text: '58', isGood: true }, { text: '17', isGood: true },
    { text: '16', isGood: false }, { text: '12\u202f346' }, { text: '–' }, { text: '1.5\u202f%' }
  ])
  const silent = outcomeOf('edf', 'none', [56])
  silent.input.latency = null
  silent.frames.interval.p95 = 23
  assert.equal(cellsOf(silent).slice(1, 4), [
    { text: '56', isGood: false }, { text: '23', isGood: false }, { text: '–' }
  ])
})

reports('numbers are rounded to the digits that they need', () => {
  assert.equal([0.04, 9.94, 9.96, 1626].map(figure), ['0.0', '9.9', '10', '1626'])
  assert.equal([999, 1e6].map(grouped), ['999', '1\u202f000\u202f000'])
  assert.equal([0, 0.001, 0.25, 1].map(percent), ['0\u202f%', '0.1\u202f%', '25\u202f%', '100\u202f%'])
})

reports('the figure has a panel per way and a step per second, side by side per subtest', () => {
  const svg = figureOf([
    outcomeOf('plain', 'none', [60, 60]), outcomeOf('plain', 'all', [0, 3]),
    outcomeOf('edf', 'none', [60, 59])
  ], 430)
  assert.match(svg, /^<svg [^>]*viewBox="0 0 430 324"/)
  assert.match(svg, />PLAIN, frames per second</)
  assert.match(svg, />EDF, frames per second</)
  const found = pattern => [...svg.matchAll(pattern)].map(([, what]) => what)
  assert.equal(found(/stroke="var\(--(plain|edf)\)"/g), ['plain', 'plain', 'edf'])
  // A column is 200 wide, with two steps of 100. 60 frames are at a seventh from the top.
  assert.match(svg, /d="M30 45.1h100L130 45.1h100"/)
  assert.equal(found(/>(neither|AES|task set|both)</g), ['neither', 'both'])
})

reports('the graph has a bin per half second that has passed, also without frames', () => {
  const frames = [100, 600, 700, 1700, 2200].map(time => ({ time, color: time < 1000 ? '--plain' : '--edf' }))
  assert.equal(binned(frames, 2300), [
    { time: 500, value: 4, color: '--plain' }, { time: 1000, value: 0, color: '--plain' },
    { time: 1500, value: 2, color: '--edf' }
  ])
  assert.equal(binned([], 5000), [])
})

reports('latencies have a logarithmic scale of four decades', () => {
  assert.equal([0, 1, 100, 1e4, 1e6].map(heightOf), [0, 0, 0.5, 1, 1])
})

reports.run()
