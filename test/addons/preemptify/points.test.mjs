import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { after } from '../../../alarms.mjs'
import { Reservation } from '../../../addons/reservations.mjs'
import { budget, fp, Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { budgets, sloppy } from '../../fixtures/preemptify/both-ways.mjs'
import { drive, driveAsync } from '../../support/drive.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

// Each golden pair shows one idea: `idea.in.js` is a script whose value is the result of preemptify, `idea.out.js`
// its text. After an intended change of the compiler this command writes the texts again; read them before a commit:
//   UPDATE=1 node test/run.mjs --no-browsers preemptify.points
const folder = new URL('../../fixtures/preemptify/', import.meta.url)
const files = readdirSync(folder)
const ideas = files.filter(file => file.endsWith('.in.js')).map(file => file.slice(0, -'.in.js'.length))
const script = new Function('preemptify', 'source', 'return eval(source)')
const read = file => readFileSync(new URL(file, folder), 'utf8')
const rewritten = idea => `${script(preemptify, read(`${idea}.in.js`)).source}\n`

const golden = suite('golden pairs')

for (const idea of ideas) {
  golden(idea, () => {
    const actual = rewritten(idea)
    const file = new URL(`${idea}.out.js`, folder)
    if (process.env.UPDATE) writeFileSync(file, actual)
    assert.ok(existsSync(file), `${idea}.out.js is missing; UPDATE=1 writes it`)
    assert.fixture(actual, read(`${idea}.out.js`))
  })
}

golden('every golden text has a script', () => {
  const texts = files.filter(file => file.endsWith('.out.js')).map(file => file.slice(0, -'.out.js'.length))
  assert.equal(texts.filter(idea => !ideas.includes(idea)), [])
  assert.ok(ideas.length > 0)
})

golden.run()

/**
 * Drives a generator to completion with a budget of `limit` points.
 *
 * @returns {{ spent: number, yields: number }} the points passed and the yields among them
 */
function count(work, args, limit) {
  let spent = 0
  let yields = -1 // the last point is the end
  drive(work(...args), { limit, onPoint: points => {
    spent += points
    yields++
  } })
  return { spent, yields }
}

/**
 * Points of a run by the rules of RT.js (III-B, Table I): entry, rounds, call statements. A loop in chunks may
 * count its last test as well; the second number is the maximum number of these tests.
 */
const counted = {
  'entry': [[], 1, 0, () => {}],
  'entry of an arrow function': [[1], 1, 0, x => x],
  'for': [[5], 6, 1, n => { for (let i = 0; i < n; i++); }],
  'for, no round': [[0], 1, 1, n => { for (let i = 0; i < n; i++); }],
  'for in': [[{ a: 1, b: 2 }], 3, 0, object => { for (const key in object) object[key] = 0 }],
  'for of': [[[1, 2, 3]], 4, 0, list => { for (const x of list) list[0] += x }],
  'while': [[5], 6, 1, n => { while (n > 0) n-- }],
  'do while': [[5], 6, 0, n => { do n--; while (n > 0) }],
  'do while, one round': [[0], 2, 0, n => { do n--; while (n > 0) }],
  'loops in loops': [[3], 1 + 3 + 9 + 27, 9, n => {
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) for (let k = 0; k < n; k++);
  }],
  'rounds that continue': [[6], 7, 1, n => { for (let i = 0; i < n; i++) { if (i % 2) continue } }],
  'a round that breaks': [[6], 1 + 4, 0, n => { for (let i = 0; i < n; i++) if (i === 3) break }],
  'a round that returns': [[6], 1 + 4, 0, n => { for (let i = 0; i < n; i++) if (i === 3) return i }],
  'rounds with calls': [[4, x => x], 5, 1, (n, f) => { for (let i = 0; i < n; i++) n = f(n) }],
  'rounds with call statements': [[4, x => x], 1 + 4 + 4, 0, (n, f) => { for (let i = 0; i < n; i++) f(n) }],
  'call statements': [[x => x], 3, 0, f => { f(1); f(2) }],
  'a call that is no statement': [[x => x], 1, 0, f => f(f(1)) + f(2)]
}

const counts = suite('counting')

for (const [name, [args, points, tests, fn]] of Object.entries(counted)) {
  const isCount = number => {
    assert.ok(number >= points && number <= points + tests, `${number}, not ${points}`)
  }

  counts(`each entry, round and call statement costs one point: ${name}`, () => {
    const { spent, yields } = count(preemptify(fn), args, 2 ** 30)
    isCount(spent)
    assert.is(yields, 0)
  })

  counts(`a budget of 1 yields at every point: ${name}`, () => isCount(count(preemptify(fn), args, 1).yields))

  counts(`budgeted: false yields at every point: ${name}`, () => {
    assert.is(count(preemptify(fn, { budgeted: false }), args, 1).yields, points)
  })
}

const shapes = {
  'for': (n, pass) => { for (let i = 0; i < n; i++) pass.count++ },
  'while': (n, pass) => { while (pass.count < n) pass.count++ },
  'do while': (n, pass) => { do pass.count++; while (pass.count < n) },
  'for of': (n, pass) => { for (const x of new Array(n).fill(1)) pass.count += x },
  'for, with a call': (n, pass) => { for (let i = 0; i < Math.min(n, n); i++) pass.count++ },
  'while, with a call': (n, pass) => { while (Math.min(n, pass.count) < n) pass.count++ },
  'do while, with a call': (n, pass) => { do pass.count++; while (Math.min(n, pass.count) < n) },
  'for, left and entered again': (n, pass) => {
    for (let i = 0; i < n; i++) {
      for (;;) {
        pass.count++
        if (pass.count % 3) break
      }
    }
  },
  'labelled': (n, pass) => {
    outer: for (let i = 0; i < n; i++) {
      for (let j = 0; ; j++) {
        pass.count++
        if (j === 2) continue outer
      }
    }
  },
  'for, its own throws caught in it': (n, pass) => {
    for (let i = 0; i < n; i++) {
      try {
        throw i
      } catch {
        pass.count++
      }
    }
  },
  'for, errors of a return caught in it': (n, pass) => {
    for (let i = 0; i < n; i++) {
      try {
        return pass.count.none.none
      } catch {
        pass.count++
      }
    }
  },
  'for, a break that finally takes back': (n, pass) => {
    for (let i = 0; i < n; i++) {
      try {
        break
      } finally {
        pass.count++
        continue
      }
    }
  },
  'for, left by an error that is caught around it': (n, pass) => {
    for (let i = 0; i < n; i++) {
      try {
        for (let j = 0; ; j++) {
          pass.count++
          if (j === 2) throw j
        }
      } catch {}
    }
  },
  'for, left by an error of the engine': (n, pass) => {
    for (let i = 0; i < n; i++) {
      try {
        for (let j = 0; ; j++) {
          pass.count++
          if (j === 2) pass.none.none()
        }
      } catch {}
    }
  }
}

for (const [name, fn] of Object.entries(shapes)) {
  counts(`a loop yields within its budget and charges each round: ${name}`, () => {
    const work = preemptify(fn)
    for (const limit of budgets) {
      for (const n of [0, 1, 2, 6, 7, 8, 40]) {
        const pass = { count: 0 }
        let before = 0
        let spent = 0
        drive(work(n, pass), { limit, onPoint: points => {
          const passed = pass.count - before
          assert.ok(passed <= limit, `${n}: ${passed} rounds in a budget of ${limit}`)
          before = pass.count
          spent += points
        } })
        assert.ok(spent >= pass.count, `${n}: ${pass.count} rounds lower a budget of ${limit} by ${spent}`)
      }
    }
  })
}

counts('a loop does not yield before its budget is used up', () => {
  const work = preemptify(function (n, list) {
    for (let i = 0; i < n; i++) list.length = i
    do n--; while (n > 0)
    for (const x of list) list.last = x
    for (let i = 0; i < list.length; i++) list[i] = Math.max(i, n)
    for (let i = 0; i < 9; i++) list.push(i)
  })
  for (const limit of [2, 3, 7, 50]) {
    const spent = []
    drive(work(20, []), { limit, onPoint: points => spent.push(points) })
    spent.pop() // the end
    assert.ok(spent.length > 0)
    assert.equal(spent.filter(points => points < limit), [], `budget ${limit}: ${spent}`)
  }
})

counts('setting the budget to 0 in a loop yields at the next point', () => {
  const work = preemptify(function (n, cut) {
    for (let i = 0; i < n; i++) n = cut(i) ? n : n
    return n
  })
  let rounds = 0
  budget.left = 1000
  const steps = work(10, i => {
    rounds++
    if (i === 4) budget.left = 0
    return true
  })
  assert.equal(steps.next(), { value: undefined, done: false })
  assert.is(rounds, 5)
  budget.left = 1000
  assert.equal(steps.next(), { value: 10, done: true })
})

counts('a budget that is already used up yields at the first point', () => {
  for (const left of [1, 0, -5]) {
    budget.left = left
    assert.equal(preemptify(function () { return 1 })().next(), { value: undefined, done: false }, `${left}`)
  }
})

counts('a point yields undefined, and await yields a promise', () => {
  async function wait() {
    await undefined
  }
  const steps = preemptify(wait)()
  budget.left = 1
  assert.is(steps.next().value, undefined)
  assert.instance(steps.next().value, Promise)
})

counts('the object of a with statement is not searched for generated names', () => {
  const asked = []
  const object = new Proxy({ n: 3 }, {
    has(target, key) {
      if (typeof key === 'string') asked.push(key)
      return key in target
    }
  })
  const fn = sloppy(`function (object, f) {
    with (object) { while (n > 0) n--; f(n); for (const x of [1]) n = x }
    return 7
  }`)
  for (const budgeted of [true, false]) {
    asked.length = 0
    const work = preemptify(fn, { budgeted })
    assert.is(drive(work({ n: 3 }, () => {}), { limit: 1 }), 7)
    assert.is(drive(work(object, () => {}), { limit: 1 }), 7)
    assert.equal([...new Set(asked)].sort(), ['f', 'n'])
  }
  assert.ok(count(preemptify(fn), [{ n: 30 }, () => {}], 2 ** 30).spent >= 1 + 30 + 1 + 1)
})

counts('for await has a point in each round', async () => {
  const work = preemptify(async function (source) {
    for await (const x of source) source.last = x
  })
  let spent = 0
  await driveAsync(work([1, 2, 3]), { onPoint: points => { spent += points } })
  assert.is(spent, 1 + 3)
})

counts.run()

const chunks = suite('chunks as jobs')

/** Runs `count` rounds of a microsecond each, in chunks. */
const work = preemptify(function (host, count) {
  for (let n = 0; n < count; n++) host.last = host.advance(0.001)
})

for (const resolution of [0, 0.005, 0.1, 1]) {
  const clock = resolution ? `a clock of ${resolution} ms` : 'an exact clock'

  chunks(`a single job yields once per slice and measures its budgets, with ${clock}`, () => {
    const host = virtualHost({ resolution })
    const scheduler = new Scheduler({ host, round: Infinity })
    const job = scheduler.spawn(work, undefined, host, 50_000)
    host.run()
    const { yields, busy, longestBudget } = scheduler.stats()
    assert.is(job.state, 'done')
    assert.is(yields >= 45 && yields <= 51, true, `${yields} yields`)
    assert.is(host.reads > 1000, true, `the clock was read ${host.reads} times`)
    assert.is(longestBudget <= 0.11 + resolution, true, `${longestBudget} ms`)
    assert.is(busy, job.cost)
    assert.is(Math.abs(busy - 50) <= resolution + 1e-6, true, `busy ${busy}`)
  })

  chunks(`a job released during the loop preempts it within one budget, with ${clock}`, () => {
    const host = virtualHost({ resolution })
    const scheduler = new Scheduler({ host })
    const late = []
    for (let release = 0.5; release < 50; release += 3.7) {
      scheduler.spawn(() => late.push(host.time - release), { release, deadline: 1 })
    }
    scheduler.spawn(work, undefined, host, 50_000)
    host.run()
    assert.is(late.length, 14)
    assert.is(Math.max(...late) <= 0.11 + resolution, true, `${late}`)
  })
}

chunks('a job keeps its own budget in points', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  scheduler.spawn(work, { budget: 7 }, host, 7000)
  host.run()
  assert.is(Math.abs(scheduler.stats().longestBudget - 0.007) < 1e-9, true)
})

chunks('a reservation is charged after each budget', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, policy: fp })
  const reservation = new Reservation({ capacity: 2, period: 10, depleted: 'wait', scheduler })
  const job = scheduler.spawn(work, { reservation }, host, 6000)
  host.run()
  assert.is(job.cost > 5.99 && job.cost < 6.01, true, `${job.cost}`)
  assert.is(job.finished > 22 && job.finished < 22.2, true, `finished at ${job.finished}`)
})

chunks('a stall and an overrun are reported at their times', () => {
  const host = virtualHost()
  const seen = []
  const scheduler = new Scheduler({
    host,
    budget: 10,
    onStall: (job, ms) => seen.push(`${job.name} stalls for ${ms} ms`),
    onOverrun: job => seen.push(`${job.name} overruns at ${host.time}, current ${scheduler.current}`)
  })
  const slow = preemptify(function (host) {
    for (let n = 0; n < 100; n++) host.last = host.advance(n === 9 ? 3 : 2 ** -10)
  })
  scheduler.spawn(slow, { name: 'slow', wcet: 3 + 2 ** -5 }, host)
  host.run()
  assert.equal(seen, [`slow stalls for ${3 + 9 * 2 ** -10} ms`, `slow overruns at ${3 + 37 * 2 ** -10}, current null`])
})

chunks('cancelling a job stops its loop at the end of the budget', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const job = scheduler.spawn(work, undefined, host, 50_000)
  job.catch(() => {})
  after(2.2, () => job.cancel(), { scheduler })
  host.run()
  assert.is(job.state, 'cancelled')
  assert.is(job.finished >= 2.2 && job.finished < 2.3, true, `finished at ${job.finished}`)
})

chunks.run()
