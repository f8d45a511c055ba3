import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, budget } from '../../rt.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

const MOST = 4096
const FLOOR = 0.006
const CEILING = 0.1

// Clock resolutions of Chromium, Firefox and Node, isolated or not, in ms. 0 is an exact clock.
const RESOLUTIONS = [0, 0.005, 0.02, 0.1, 1]

/**
 * The execution time after which a job's cost per point is measured, ms. A coarse clock must tick a few times
 * first.
 */
const known = resolution => 20 * resolution + 1

// ms per point
const CHEAP = [0.00001, 0.0001, 0.0003, 0.0007, 0.0009]

/** The ideal number of points: worth eight points, but at least FLOOR ms and at most `target` ms. */
const ideal = (price, target = CEILING) => {
  const worth = Math.min(target, Math.max(FLOOR, 8 * price))
  return Math.max(1, Math.min(MOST, Math.floor(worth / price + 1e-6)))
}

const kinds = {
  bare: () => true,
  counted: () => --budget.left <= 0,
  mixed: n => n % 3 !== 0 || --budget.left <= 0
}

/**
 * A job that records each granted budget and its time.
 *
 * @param {ReturnType<typeof virtualHost>} host
 * @param {(n: number) => number | undefined} price returns the cost of point `n` in ms; `undefined` ends the
 * job
 * @param {{ points: number, time: number, at: number }[]} granted
 * @param {(n: number) => boolean} [isYield]
 */
function* priced(host, price, granted, isYield = kinds.bare) {
  let reads = -1
  for (let n = 0; ; n++) {
    if (host.reads !== reads) {
      reads = host.reads
      granted.push({ points: budget.left, time: host.time, at: n })
    }
    const ms = price(n)
    if (ms === undefined) return
    host.advance(ms)
    if (isYield(n)) yield
  }
}

/** ms per point, from 10 ns to 100 us */
const PRICES = Array.from({ length: 13 }, (_, n) => 10 ** (n / 3 - 5))

/**
 * The duration of each budget in ms, from the budget in which the cost of a point changes. The job passes all
 * points of a budget without a yield between them.
 */
function stretches(before, after, change, resolution) {
  const host = virtualHost({ resolution, start: 0.37 })
  const scheduler = new Scheduler({ host })
  const found = []
  scheduler.spawn(function* () {
    for (let at = 0; found.length < 8;) {
      const points = budget.left
      const cheap = Math.min(points, Math.max(0, change - at))
      const ms = cheap * before + (points - cheap) * after
      if (cheap < points) found.push(ms)
      host.advance(ms)
      at += points
      budget.left = 0
      yield
    }
  })
  host.run()
  return found
}

/** The budgets that are granted to a single job. */
function budgetsOf(price, { kind = 'bare', resolution = 0, start = 0.37, ...options } = {}) {
  const host = virtualHost({ resolution, start })
  const scheduler = new Scheduler({ host, ...options })
  const granted = []
  scheduler.spawn(priced(host, n => price(n, host), granted, kinds[kind]))
  host.run()
  return granted
}

const steady = (price, until) => (n, host) => host.time < until ? price : undefined

/** The duration of each budget except the last, ms. */
const lengths = granted => granted.slice(1).map(({ time }, n) => time - granted[n].time)

const pointsOf = granted => granted.map(({ points }) => points)

const auto = suite("budget: 'auto'")

for (const resolution of RESOLUTIONS) {
  const clock = resolution ? `a clock of ${resolution} ms` : 'an exact clock'

  auto(`${clock}: the first budget is one point, later ones at most double, up to 4096`, () => {
    for (const price of [0, 0.000001, ...CHEAP, 0.005, 0.03, 2]) {
      for (const kind of Object.keys(kinds)) {
        let count = 0
        const forSome = (n, host) => host.time < 5 && count++ < 30000 ? price : undefined
        const granted = pointsOf(budgetsOf(forSome, { kind, resolution }))
        assert.is(granted[0], 1)
        for (const [n, points] of granted.entries()) {
          const note = `budget ${n} of ${kind} points at ${price} ms`
          assert.is(points >= 1 && points <= MOST && Number.isInteger(points), true, `${note}: ${points}`)
          const last = n === 0 ? 1 : granted[n - 1]
          assert.is(points <= 2 * last, true, `${note}: ${points} after ${last}`)
        }
      }
    }
  })

  auto(`${clock}: points without cost get the largest budget`, () => {
    assert.is(pointsOf(budgetsOf(n => n < 800_000 ? 0 : undefined, { resolution })).at(-1), MOST)
  })

  auto(`${clock}: budgets converge to the ideal number of points`, () => {
    for (const price of [...CHEAP, 0.002, 0.005, 0.009]) {
      for (const kind of Object.keys(kinds)) {
        const granted = budgetsOf(steady(price, known(resolution) + 4), { kind, resolution })
        const settled = pointsOf(granted.filter(({ time }) => time > known(resolution)))
        const seen = [...new Set(settled)].join(' ')
        const note = `${kind} points at ${price} ms, ideally ${ideal(price)}: ${seen}`
        assert.is(settled.every(points => points >= 0.75 * ideal(price) - 1), true, note)
        assert.is(settled.every(points => points <= 1.25 * ideal(price) + 1), true, note)
      }
    }
  })

  auto(`${clock}: budgets of expensive points settle at about 0.1 ms`, () => {
    for (const price of [0.011, 0.03, 0.08]) {
      const granted = budgetsOf(steady(price, known(resolution) + 10), { kind: 'counted', resolution })
      const settled = pointsOf(granted.filter(({ time }) => time > known(resolution)))
      const mean = settled.reduce((sum, points) => sum + points, 0) / settled.length
      assert.is(mean * price <= 1.25 * CEILING, true, `${mean} points at ${price} ms`)
      assert.is(mean * price >= 0.4 * CEILING, true, `${mean} points at ${price} ms`)
    }
  })

  auto(`${clock}: the stall after a rise in cost per point stays within its bound`, () => {
    for (const price of PRICES) {
      const most = Math.min(MOST, Math.ceil(CEILING / price - 1e-9))
      for (const factor of [10, 1000]) {
        let longest = 0
        // A young job, a job whose cost per point is known, and a job that tries the other budget length.
        for (const time of [0.3, 2, 14].map(time => time + 8 * resolution)) {
          const first = Math.ceil(time / price)
          const step = Math.max(1, Math.floor(most / 61))
          for (let change = first; change <= first + most; change += step) {
            const lengths = stretches(price, factor * price, change, resolution)
            longest = Math.max(longest, ...lengths)
          }
        }
        const bound = factor * price * most
        const note = `from ${price} ms to ${factor} times as much: ${longest} ms, at most ${bound}`
        assert.is(longest <= bound * (1 + 1e-9), true, note)
        if (resolution === 0) assert.is(longest >= 0.4 * bound, true, note)
      }
    }
  })

  auto(`${clock}: budgets recover soon after one outlier`, () => {
    const price = 0.0003
    const before = Math.ceil(known(resolution) / price)
    const granted = budgetsOf((n, host) => {
      if (n === before) return 50
      return host.time < 50 + 3 * known(resolution) ? price : undefined
    }, { resolution })
    const since = granted.filter(({ at }) => at > before)
    const fell = since[0]
    const recovered = since.find(({ points }) => points >= 0.75 * ideal(price))
    const soon = Math.max(0.2, 9 * resolution)
    assert.is(fell.points < ideal(price) / 4, true, `fell to ${fell.points}`)
    assert.is(recovered !== undefined && recovered.time - fell.time < soon, true,
      `recovered after ${recovered?.time - fell.time} ms`)
  })
}

auto('a bare yield and a counted point use up the budget equally', () => {
  // Powers of two, so that sums are exact.
  for (const price of [2 ** -13, 2 ** -10, 2 ** -8, 2 ** -5, 2 ** -4]) {
    const [bare, counted, mixed] = Object.keys(kinds).map(kind => {
      return pointsOf(budgetsOf(n => n < 2000 ? price : undefined, { kind, start: 0 })).slice(0, 200)
    })
    assert.equal(bare, counted, `points at ${price} ms`)
    assert.equal(mixed, counted, `points at ${price} ms`)
  }
})

auto('points that become cheaper by a factor get larger budgets by the same factor', () => {
  const granted = budgetsOf((n, host) => n < 1000 ? 0.0008 : host.time < 3 ? 0.0001 : undefined)
  assert.is(Math.abs(granted.filter(({ at }) => at < 1000).at(-1).points - 8) <= 1, true)
  assert.is(Math.abs(granted.at(-1).points - 60) <= 3, true)
})

/** The last budget of a job whose points cost `price` ms (by default 2 ** -8, about 0.0039). */
function settled(configure = () => {}, options = {}, price = 2 ** -8) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, ...options })
  configure(scheduler)
  const granted = []
  scheduler.spawn(priced(host, n => n < 2000 ? price : undefined, granted, kinds.counted))
  host.run()
  return granted.at(-1).points
}

auto('a shorter slice or round lowers the time limit of a budget', () => {
  const under = options => settled(undefined, options)
  assert.is(under({}), 8)
  assert.is(under({ slice: Infinity, round: Infinity }), 8)
  assert.is(settled(undefined, { slice: Infinity, round: Infinity }, 2 ** -6), 6)
  assert.is(under({ slice: 0.2 }), 5)
  assert.is(under({ round: 0.1 }), 2)
  assert.is(under({ slice: 0.1, round: 0.4 }), 2)
  assert.is(under({ slice: 0.01 }), 1)
})

auto('configure() changes the time limit of a budget', () => {
  assert.is(settled(scheduler => scheduler.configure({ slice: 0.2 })), 5)
  assert.is(settled(scheduler => scheduler.configure({ round: 50 }), { round: 0.1 }), 8)
})

auto('jobs are tuned separately', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const prices = [0.0001, 0.0008, 0.03, 0.5]
  const granted = prices.map(price => {
    const own = []
    scheduler.spawn(priced(host, n => n * price < 10 ? price : undefined, own, kinds.counted))
    return own
  })
  host.run()
  assert.equal(granted.map(own => own[0].points), [1, 1, 1, 1])
  for (const [n, own] of granted.entries()) {
    const { points } = own.at(-1)
    assert.is(Math.abs(points - ideal(prices[n])) <= 1, true, `${points} points at ${prices[n]} ms`)
  }
})

auto('a job or task can combine its own budget with the default of the scheduler', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 3 })
  const granted = [[], [], []]
  const work = own => priced(host, n => n < 30000 ? 0.0001 : undefined, own, kinds.counted)
  scheduler.spawn(work(granted[0]))
  scheduler.spawn(work(granted[1]), { budget: 'auto' })
  scheduler.spawn(new Task(() => work(granted[2]), { budget: 'auto' }))
  host.run()
  assert.equal(granted.map(own => own.at(-1).points), [3, 60, 60])
})

auto('a budget that a preemption cuts short leaves the tuning unchanged', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, slice: Infinity, round: Infinity })
  const granted = []
  const cheap = 20000
  const cut = 30
  scheduler.spawn(priced(host, n => {
    if (n < cheap) return 0.0001
    if (n === cheap + 2 * cut) return undefined
    // A few expensive points, and a job that preempts.
    scheduler.spawn(function* () {}, { deadline: 1 })
    return 0.01
  }, granted), { deadline: 100 })
  host.run()
  const [last] = granted.filter(({ at }) => at < cheap).slice(-1)
  const during = granted.filter(({ at }) => at >= cheap + 100 || (at > cheap && at < cheap + cut))
  assert.is(during.length, cut - 1)
  assert.equal([...new Set(pointsOf(during))], [last.points])
})

auto('a job that waits often still learns the cost of its points', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const granted = []
  scheduler.spawn(function* () {
    for (let n = 0; n < 300; n++) {
      yield* priced(host, k => k < 100 ? 0.0001 : undefined, granted, kinds.counted)
      yield { then(resolve) { resolve() } }
    }
  })
  host.run()
  assert.is(granted.at(-1).points, 60)
})

auto('the budgets of a new job start near 0.1 ms and become short soon', () => {
  const granted = budgetsOf(steady(0.001, 3))
  const worth = time => 0.001 * granted.findLast(one => one.time - 0.37 <= time).points
  assert.is(worth(0.3) > 0.9 * CEILING && worth(0.3) <= CEILING, true)
  assert.is(worth(2), 8 * 0.001)
})

auto('budgets stay short most of the time if long ones gain nothing', () => {
  for (const resolution of RESOLUTIONS) {
    const granted = budgetsOf(steady(0.0007, 300), { kind: 'counted', resolution })
    const began = granted[0].time
    const times = lengths(granted)
    const inLong = (from, to) => times.reduce((sum, ms, n) =>
      granted[n].time - began >= from && granted[n].time - began < to && ms > 0.02 ? sum + ms : sum, 0)
    const from = known(resolution)
    assert.is(inLong(from, 300) < 0.06 * (300 - from), true, `a clock of ${resolution} ms: ${inLong(from, 300)} ms`)
  }
})

auto('rare interruptions do not decide the length of budgets', () => {
  const price = 0.0007
  for (const resolution of RESOLUTIONS) {
    for (const often of [400, 1000, 3000]) {
      const interrupted = (n, host) => host.time < 300 ? price + (n % often === 0 ? 2 : 0) : undefined
      const granted = budgetsOf(interrupted, { kind: 'counted', resolution })
      const late = granted.filter(({ time }) => time > known(resolution))
      const inLong = late.reduce((sum, { points }) => sum + (points * price > 0.02 ? points : 0), 0)
      const share = inLong / late.reduce((sum, { points }) => sum + points, 0)
      assert.is(share < 0.12, true, `every ${often} points, a clock of ${resolution} ms: ${share}`)
    }
  }
})

/**
 * A JavaScript engine that needs some points after a resume until it runs fast code again.
 *
 * @param {number} slow number of points after each resume that cost `dear` ms
 */
function resumed({ slow, dear, cheap, from = 0, until, resolution }) {
  const host = virtualHost({ resolution })
  const scheduler = new Scheduler({ host })
  const budgets = []
  const began = host.time
  scheduler.spawn(function* () {
    while (host.time - began < until) {
      const points = budget.left
      const isSlow = host.time - began >= from
      const late = isSlow ? Math.min(points, slow) : 0
      const ms = late * dear + (points - late) * cheap
      budgets.push({ time: host.time - began, points, ms })
      host.advance(ms)
      budget.left = 0
      yield
    }
  })
  host.run()
  return budgets
}

/** Points per ms. */
const speed = budgets => budgets.reduce((sum, { points }) => sum + points, 0) /
  budgets.reduce((sum, { ms }) => sum + ms, 0)

// Measured in Firefox, for loops that take 3 to 8 ns per iteration.
const ENGINES = [
  { slow: 1000, dear: 0.00007, cheap: 0.000003 },
  { slow: 200, dear: 0.00005, cheap: 0.000003 },
  { slow: 100, dear: 0.00002, cheap: 0.000005 }
]

auto('budgets become long if a resume makes the next points expensive', () => {
  for (const engine of ENGINES) {
    const { slow, dear, cheap } = engine
    const best = Math.min(MOST, slow + (CEILING - slow * dear) / cheap)
    const fastest = best / (slow * dear + (best - slow) * cheap)
    for (const resolution of RESOLUTIONS) {
      const found = speed(resumed({ ...engine, until: 200 + 100 * resolution, resolution }))
      const note = `${JSON.stringify(engine)}, a clock of ${resolution} ms: ${found} of ${fastest} points per ms`
      assert.is(found >= fastest / 1.5, true, note)
    }
  }
})

auto('short budgets become long as soon as resumes make points expensive', () => {
  for (const resolution of RESOLUTIONS) {
    const budgets = resumed({ ...ENGINES[0], from: 60, until: 600 + 400 * resolution, resolution })
    const before = budgets.filter(({ time }) => time > 30 && time < 60)
    const late = budgets.filter(({ time }) => time > 300 + 200 * resolution)
    if (resolution < 1) assert.is(Math.min(...before.map(({ points }) => points)) < 2500, true)
    assert.is(speed(late) > 3 * (1 / ENGINES[0].dear) / 1.5, true, `a clock of ${resolution} ms: ${speed(late)}`)
  }
})

auto.run()

const written = suite('values that jobs write to budget.left')

const HOSTILE = [
  NaN, Infinity, -Infinity, -1, 0, 1, 0.5, 1e9, 2 ** 53, '', 'points', '7', '1e9', true, null, undefined,
  {}, [], [3], 5n, Symbol('points'), () => 4, { valueOf: () => 3 },
  { valueOf() { throw new Error('valueOf') } }
]

const PRICE = 2 ** -10

const after = {
  'yields': () => undefined,
  'waits': () => Promise.resolve(),
  'calls': () => (function* () {})(),
  'waits for what is there': () => ({ then(resolve) { resolve() } })
}

/** Runs a job that writes `value` to `budget.left` concurrently with a well-behaved job. */
async function beside(value, yields) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const granted = []
  const hostile = scheduler.spawn(function* () {
    for (let n = 0; n < 400; n++) {
      host.advance(PRICE)
      if (value) budget.left = value.of
      yield yields()
    }
    return 'ended'
  })
  hostile.catch(() => {})
  const other = scheduler.spawn(priced(host, n => n < 4000 ? PRICE : undefined, granted))
  const last = scheduler.spawn(function* () { return budget.left })
  await host.drain()
  const { busy, jobs } = scheduler.stats()
  return { hostile, other, last, busy, jobs, granted: pointsOf(granted), scheduler, host }
}

for (const [n, value] of HOSTILE.entries()) {
  const title = typeof value === 'object' && value !== null ? `an object (${n})` : typeof value === 'string'
    ? `'${value}'` : `${String(value)}${typeof value === 'bigint' ? 'n' : ''}`

  written(`${title} in budget.left affects only the job that writes it`, async () => {
    for (const [how, yields] of Object.entries(after)) {
      const well = await beside(null, yields)
      const seen = await beside({ of: value }, yields)
      assert.is(['done', 'failed'].includes(seen.hostile.state), true, `${seen.hostile.state}, ${how}`)
      assert.equal([seen.other.state, seen.last.state], ['done', 'done'], how)
      assert.is(await seen.last, 1)
      assert.is(seen.other.cost, well.other.cost)
      assert.equal(seen.granted.slice(0, 300), well.granted.slice(0, 300), how)
      assert.is(seen.hostile.cost + seen.other.cost + seen.last.cost, seen.busy)
      assert.equal([seen.jobs, seen.scheduler.current, seen.host.errors], [3, null, []], how)
    }
  })
}

written('a job that once wrote an invalid budget.left is tuned as before', async () => {
  for (const value of [NaN, 'points', {}, undefined, -Infinity, -1e9, 0, 5000]) {
    for (const [how, yields] of Object.entries(after)) {
      const host = virtualHost()
      const scheduler = new Scheduler({ host })
      const granted = []
      scheduler.spawn(function* () {
        host.advance(0.0001)
        budget.left = value
        yield yields()
        yield* priced(host, n => n < 60000 ? 0.0001 : undefined, granted)
      })
      await host.drain()
      const { points } = granted.at(-1)
      assert.is(Math.abs(points - 60) <= 3, true, `${points} points after ${String(value)}, ${how}`)
    }
  }
})

written('a new job starts with its own budget, not with the value of the last job', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 7 })
  const seen = []
  const writes = function* (value) {
    seen.push(budget.left)
    budget.left = value
  }
  for (const value of [1e9, NaN, 0]) scheduler.spawn(writes, undefined, value)
  scheduler.spawn(writes, undefined, 1)
  host.run()
  assert.equal(seen, [7, 7, 7, 7])
})

written.run()
