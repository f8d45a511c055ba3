// Stays and claims: plain code that jobs suspend keeps run-to-completion.
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, budget, extend } from '../../../rt.mjs'
import { sleep } from '../../../alarms.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { addSites, adoptSites, lockOf } from '../../../addons/preemptify/claims.mjs'
import { standInOf } from '../../../addons/preemptify/helpers.mjs'
import { takeExpected } from '../../../addons/preemptify/run.mjs'
import { Mutex, Resource } from '../../../sync.mjs'
import { rewrittenModule, written } from '../../support/modules.mjs'
import { switchesOf } from '../../support/switches.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href

/** Jobs take turns at each point. */
const scheduler = (options = {}) =>
  new Scheduler({ host: virtualHost({ read: 0.01 }), slice: 0.001, round: 1e6, budget: 1, ...options })

async function settled(jobs, { host }) {
  const results = Promise.allSettled(jobs)
  await host.drain()
  return (await results).map(({ value, reason }) => reason === undefined ? value : `${reason.name}: ${reason.message}`)
}

/** A typical parser with a current token. */
const PARSER = `
let at = 0, text = ''
const peek = () => text[at]
function skip() { for (let i = 0; i < 3; i++) peek() }
function sum() { let total = 0; for (;;) { skip(); total += Number(text[at++]); if (peek() !== '+') return total; at++ } }
export function parse(given) { text = given; at = 0; return sum() }
export const position = () => at
export function pure(n) { let total = 0; for (let i = 0; i < n; i++) total += i; return total }
`
const parser = await rewrittenModule(PARSER)

const stays = suite('stays')

stays('two jobs of a parser with state give the results of successive calls', async () => {
  const own = scheduler()
  const jobs = ['1+2+3', '4+5', '6+7+8+9'].map(text => own.spawn(parser.parse, {}, text))
  assert.equal(await settled(jobs, own), [6, 9, 30])
})

stays('two jobs without contested state interleave', async () => {
  const own = scheduler()
  const switches = switchesOf(own)
  assert.equal(await settled([own.spawn(parser.pure, {}, 20), own.spawn(parser.pure, {}, 20)], own), [190, 190])
  assert.ok(switches.count > 20, `${switches.count} switches`)
})

stays('a plain `yield` of hand-written code ends a stay', async () => {
  const own = scheduler()
  const seen = []
  const twice = function* (text) {
    parser.parse(text)
    seen.push(parser.position())
    for (let i = 0; i < 5; i++) yield
    seen.push(parser.position())
  }
  // The plain calls of the first job run in one piece; the second job changes the state between its yields.
  await settled([own.spawn(twice, {}, '1+2'), own.spawn(parser.parse, {}, '1+2+3+4')], own)
  assert.equal(seen[0], 3)
  assert.is.not(seen[1], 3)
})

const calls = {
  'yield* of a twin': function* (twin, text) { return [yield* twin(text), parser.position()] },
  'a yield of a twin': function* (twin, text) { return [yield twin(text), parser.position()] }
}
for (const [name, call] of Object.entries(calls)) {
  stays(`${name} in hand-written code continues its stay`, async () => {
    const twin = preemptify(parser.parse)
    const own = scheduler()
    const jobs = [own.spawn(call, {}, twin, '1+2'), own.spawn(parser.parse, {}, '1+2+3+4')]
    assert.equal(await settled(jobs, own), [[3, 3], 10])
  })
}

stays('a job that waits in hand-written code ends its stay', async () => {
  const own = scheduler()
  const job = own.spawn(function* () {
    parser.parse('1+2')
    yield sleep(5)
    return parser.position()
  })
  const other = own.spawn(parser.parse, { release: own.now() + 1 }, '1+2+3+4')
  assert.equal(await settled([job, other], own), [7, 10])
})

stays('an async function claims again after an await', async () => {
  const { load } = await rewrittenModule(`
    let total = 0
    function slow() { for (let i = 0; i < 5; i++); }
    export async function load(n) { await null; const before = total; slow(); slow(); total = before + n; return total }
  `)
  const own = new Scheduler({ slice: 0.001, budget: 1 })
  const jobs = [1, 2, 3].map(n => own.spawn(load, {}, n))
  const results = await Promise.all(jobs)
  assert.equal(Math.max(...results), 6)
})

stays('a point of a generator that a loop iterates does not end the stay', async () => {
  const { update } = await rewrittenModule(`
    let total = 0
    function* steps(n) { for (let i = 0; i < n; i++) yield i }
    export function update(n) {
      const before = total
      for (const step of steps(n)) void step
      total = before + 1
      return total
    }
  `)
  const own = scheduler()
  assert.equal(await settled([own.spawn(update, {}, 5), own.spawn(update, {}, 5)], own), [1, 2])
})

stays.run()

const claims = suite('claims')

claims('a plain call outside of jobs finishes the suspended holder first', async () => {
  const own = scheduler({ round: 0.001 })
  const job = own.spawn(parser.parse, {}, '1+2+3')
  own.host.run({ turns: 6 })
  assert.is(job.state, 'ready')
  assert.is(parser.parse('4+5'), 9)
  assert.is(job.state, 'done')
  assert.is(await job, 6)
})

claims('a plain call also finishes the jobs that get the lock from the holder', async () => {
  const { add } = await rewrittenModule('let n = 0; export function add(k) { const before = n; for (let i = 0; i < 5; i++); n = before + k; return n }')
  for (const isInJob of [false, true]) {
    const before = add(0)
    const own = scheduler({ round: 0.001 })
    const blocked = []
    own.observe(({ type, job }) => { if (type === 'block') blocked.push(job) })
    const jobs = [1, 2, 4].map(k => own.spawn(add, {}, k))
    while (blocked.length < 2) own.host.run({ turns: 1 })
    if (isInJob) jobs.push(own.spawn(function* () { return add(8) }, { priority: 1 }))
    else assert.is(add(8), before + 15)
    await settled(jobs, own)
    assert.is(add(0), before + 15, `${isInJob}`)
  }
})

claims('a holder inherits the rank of a waiting claim', async () => {
  const own = scheduler()
  const order = []
  const low = own.spawn(parser.parse, { priority: 1 }, '1+2+3+4')
  const note = function* (name, text) { order.push(`${name} ${text === undefined ? '' : yield* parserTwin(text)}`) }
  const parserTwin = preemptify(parser.parse)
  own.host.run({ turns: 0 })
  const host = own.host
  const start = own.now()
  own.spawn(note, { priority: 2, release: start + 0.2, name: 'middle' }, 'middle')
  own.spawn(note, { priority: 3, release: start + 0.1, name: 'high' }, 'high', '5+6')
  low.then(() => order.push('low'))
  await host.run()
  await low
  assert.equal(order.filter(name => !name.startsWith('low')), ['high 11', 'middle '])
})

claims('shared claims do not exclude each other', async () => {
  const { read, write } = await rewrittenModule(`
    let table = 3
    export function read(n) { let total = 0; for (let i = 0; i < n; i++) total += table; return total }
    export function write(n) { for (let i = 0; i < n; i++) table = i }
  `)
  const own = scheduler()
  const switches = switchesOf(own)
  assert.equal(await settled([own.spawn(read, {}, 20), own.spawn(read, {}, 20)], own), [60, 60])
  assert.ok(switches.count > 20)
  void write
})

claims('the record of a block names the function and the location', async () => {
  const own = scheduler()
  const records = []
  own.observe(record => { if (record.type === 'block') records.push(record) })
  await settled(['1+2', '3+4'].map(text => own.spawn(parser.parse, {}, text)), own)
  assert.ok(records.length > 0)
  assert.is(records[0].function, 'parse')
  assert.ok(['at', 'text'].includes(records[0].location), records[0].location)
})

claims('a critical section does not wait: it finishes the holder', async () => {
  const own = scheduler()
  const resource = new Resource({ name: 'r' })
  const twin = preemptify(parser.parse)
  const low = own.spawn(parser.parse, {}, '1+2+3')
  const high = own.spawn(function* () {
    return yield* resource.use(function* () { return yield* twin('4+5') })
  }, { uses: [resource], priority: 1, deadline: 1000, release: own.now() + 0.05 })
  assert.equal(await settled([low, high], own), [6, 9])
})

claims('the second of two readers that become writers succeeds with a warning', async () => {
  const { update, total } = await rewrittenModule(`
    let value = 1
    function later() { for (let i = 0; i < 3; i++); }
    const set = n => { for (let i = 0; i < 2; i++); value = n }
    export const named = { ['s' + 'et']: set }
    export function update(n) { const before = value; later(); named['set'](before + n); return value }
    export const total = () => value
  `)
  const own = scheduler()
  const said = []
  const { warn } = console
  console.warn = text => said.push(text)
  try {
    await settled([own.spawn(update, {}, 1), own.spawn(update, {}, 2)], own)
  } finally {
    console.warn = warn
  }
  assert.ok(total() === 4 && !said.some(text => /each waits/.test(text)) || said.some(text => /each waits for the other/.test(text)), said.join())
})

claims('a job with a mutex that waits for a claim does not deadlock with the holder of the claim', async () => {
  const twin = preemptify(parser.parse)
  const own = scheduler()
  const mutex = new Mutex()
  const one = own.spawn(function* () {
    return yield* mutex.use(function* () { yield; return yield* twin('1+2+3') })
  })
  const two = own.spawn(function* () {
    const first = yield* twin('4+5')
    return yield* mutex.use(function* () { return first + (yield* twin('1+1')) })
  })
  assert.equal(await settled([one, two], own), [6, 11])
})

/** Two modules: the first has an object, and the second changes the object in a loop. */
const OBJECT = `
  export const counter = { value: 0 }
  export function add() { const before = counter.value; for (let i = 0; i < 4; i++); return counter.value = before + 1 }
`
const USER = `
  import { counter } from 'object'
  export function add() { const before = counter.value; for (let i = 0; i < 4; i++); return counter.value = before + 1 }
`
for (const [title, object, user] of [
  ['two packages', 'node_modules/one/a.mjs', 'node_modules/two/b.mjs'], ['two modules of own code', 'a.mjs', 'b.mjs'],
  ['own code and a package', 'node_modules/one/a.mjs', 'b.mjs']
]) {
  claims(`${title} that change one object claim one lock`, async () => {
    const at = `file:///${title.replaceAll(' ', '-')}/`
    const get = specifier => specifier === 'object' ? { url: at + object, text: OBJECT } : undefined
    const texts = [[USER, user], [OBJECT, object]].map(([text, path]) => preemptify.source(text, { runtime, url: at + path, get }))
    const first = written(texts[1])
    const [one, other] = [await import(first), await import(written(texts[0].replace("'object'", JSON.stringify(`${first}`))))]
    const own = scheduler()
    assert.equal((await settled([own.spawn(one.add), own.spawn(other.add)], own)).sort(), [1, 2])
  })
}

claims('a function with eval claims all locations of its text', async () => {
  const { update, change } = await rewrittenModule(`
    let total = 0
    export function update(text) { const before = eval(text); for (let i = 0; i < 4; i++); return eval(text + ' = ' + (before + 1)) }
    export function change() { const before = total; for (let i = 0; i < 4; i++); total = before + 1; return total }
  `)
  const own = scheduler()
  assert.equal((await settled([own.spawn(update, {}, 'total'), own.spawn(change)], own)).sort(), [1, 2])
})

claims('a function with eval claims no state of its own activation', async () => {
  const { update } = await rewrittenModule(`
    let total = 0
    export function update(o) {
      const before = eval('total')
      o.add = n => { for (let i = 0; i < 3; i++) o.x = n; return total + o.x }
      return before
    }
  `)
  const own = scheduler()
  assert.equal(await settled([own.spawn(update, {}, {})], own), [0])
})

claims('a job in a section that finishes a holder lets it close its own section', async () => {
  const own = scheduler()
  const twin = preemptify(parser.parse)
  const [low, high] = [new Resource({ name: 'low' }), new Resource({ name: 'high' })]
  let urgent
  const holder = own.spawn(function* () {
    const first = yield* twin('1+2')
    return yield* low.use(function* () {
      urgent = own.spawn(() => high.use(function* () { return yield* twin('1+1') }), { uses: [high], deadline: 1 })
      return first + (yield* twin('4+5'))
    })
  }, { uses: [low], deadline: 1000 })
  assert.equal(await settled([holder], own), [12])
  assert.is(await urgent, 2)
})

claims('a job that finishes a holder in a plain call stops it at the end of its stay', async () => {
  const twin = preemptify(parser.parse)
  for (let delay = 0; delay < 40; delay++) {
    const own = scheduler({ budget: 10 })
    const holder = own.spawn(function* () {
      const first = yield* twin('1+2+3+4')
      yield
      return [first, yield* twin('4+5+6'), parser.position()]
    })
    const other = own.spawn(function* () {
      for (let i = 0; i < delay; i++) yield
      return [parser.parse('7+8+9'), parser.position()]
    })
    assert.equal(await settled([holder, other], own), [[10, 15, 5], [24, 5]], `after ${delay} yields`)
  }
})

claims('a text that is too long for messages still claims changed arguments', async () => {
  const dense = Array.from({ length: 60 }, (_, i) => `const f${i}=(a,b)=>a(b(a(b(b))));`).join('')
  const { add, update } = await rewrittenModule(`${dense}
    let total = 0
    export function add(o) { const before = o.x; for (let i = 0; i < 4; i++); o.x = before + 1 }
    export function update() { const before = total; for (let i = 0; i < 4; i++); total = before + 1; return total }
  `, { padding: '' })
  const own = scheduler()
  const object = { x: 0 }
  const records = []
  own.observe(record => { if (record.type === 'block') records.push(record) })
  await settled([own.spawn(add, {}, object), own.spawn(add, {}, object)], own)
  assert.is(object.x, 2)
  await settled([own.spawn(update), own.spawn(update)], own)
  assert.is(records.at(-1).location, 'total')
})

claims('a script before the run-time support registers the names of its claims', async () => {
  const { runtime: standIn } = runInNewContext(standInOf('globalThis'))
  standIn.sites('first\none')
  const site = standIn.sites('second\ntwo')
  adoptSites(standIn.said)
  const lock = lockOf('a script', true)
  const own = scheduler()
  const records = []
  own.observe(record => { if (record.type === 'block') records.push(record) })
  const hold = function* () {
    if (lock.X(site)) yield takeExpected()
    for (let i = 0; i < 5; i++) yield budget.p
  }
  assert.equal(await settled([own.spawn(hold), own.spawn(hold)], own), [undefined, undefined])
  assert.equal(records.map(({ function: name, location }) => [name, location]), [['second', 'two']])
})

claims('a claim waits again after a point between the claim and its wait', async () => {
  // `grow` ends with a call, so it claims before it is suspended.
  const { use, grow } = await rewrittenModule(`
    const list = [1, 2, 3]
    function turn(n) { for (let i = 0; i < n; i++); return n }
    function read(step) { let sum = 0; for (let i = 0; i < 3; i++) sum += list[i]; return sum + step(3) }
    export function use(step) { const result = read(step); return result }
    export function grow(n) { list[0]++; return turn(n) }
  `)
  const { warn } = console
  const said = []
  console.warn = text => { said.push(text) }
  try {
    const own = scheduler()
    assert.equal(await settled([own.spawn(use, {}, grow), own.spawn(use, {}, grow)], own), [9, 9])
  } finally {
    console.warn = warn
  }
  assert.match(said.join(), /grow and read interleave, because each waits for the other/)
})

claims('a join of two locks that closes a cycle of claims grants a waiting claim', async () => {
  const site = addSites('one\nfirst\ntwo\nsecond\nthree\nthird')
  const locks = ['joined 1', 'joined 2', 'joined 3'].map(name => lockOf(name, true))
  const ends = []
  const work = function* (name, held, join) {
    for (const i of held) {
      if (locks[i].X(site + i)) yield takeExpected()
      for (let k = 0; k < 5; k++) yield budget.p
    }
    if (join) lockOf('joined 1\njoined 3', true)
    for (let k = 0; k < 5; k++) yield budget.p
    ends.push(name)
  }
  const { warn } = console
  const said = []
  console.warn = text => { said.push(text) }
  try {
    const own = scheduler()
    const jobs = [own.spawn(work, {}, 'a', [0, 1]), own.spawn(work, {}, 'b', [1, 2]), own.spawn(work, {}, 'c', [2], true)]
    assert.equal(await settled(jobs, own), [undefined, undefined, undefined])
  } finally {
    console.warn = warn
  }
  assert.equal(ends.sort(), ['a', 'b', 'c'])
  assert.match(said.join(), /each waits for the other/)
})

claims.run()

const cancellation = suite('cancellation')

cancellation('an infinite loop that writes a variable ends 100 ms after the request', async () => {
  const { spin, pure } = await rewrittenModule(`
    let rounds = 0
    export function spin() { for (;;) rounds = (rounds * 2 + 1) % 7 }
    export function pure() { for (;;); }
  `)
  const own = scheduler({ round: 1 })
  const job = own.spawn(spin)
  const other = own.spawn(pure)
  own.host.run({ turns: 5 })
  const asked = own.now()
  job.cancel()
  other.cancel()
  const results = await settled([job, other], own)
  assert.ok(results.every(text => /AbortError/.test(text)))
  assert.ok(other.finished - asked < 2, `${other.finished - asked} ms`)
  assert.ok(job.finished - asked >= 100 && job.finished - asked < 102, `${job.finished - asked} ms`)
})

cancellation('a stay with an exclusive claim is cancelled at its end, and leaves consistent state', async () => {
  const own = scheduler({ round: 0.05 })
  const job = own.spawn(parser.parse, {}, '1+2+3')
  own.host.run({ turns: 2 })
  assert.is(job.state, 'ready')
  job.cancel(new Error('not needed'))
  await own.host.run()
  assert.is(job.state, 'cancelled')
  assert.is(parser.position(), 5)
})

cancellation('a cancelled job that waits for a claim ends if it holds none', async () => {
  const own = scheduler()
  const low = own.spawn(parser.parse, {}, '1+2+3+4+5+6')
  const high = own.spawn(parser.parse, { priority: 1, release: own.now() + 0.1 }, '1')
  own.observe(({ type, job }) => { if (type === 'block' && job === high) high.cancel() })
  assert.equal((await settled([low, high], own))[0], 21)
  assert.is(high.state, 'cancelled')
})

cancellation.run()

const starts = suite('jobs that the scheduler starts')

starts('two jobs that change one object run one after the other; others interleave', async () => {
  const { fill } = await rewrittenModule(`
    export function fill(list, value) { const { length } = list; for (let i = 0; i < 5; i++) list[length + i] = value }
  `)
  const own = scheduler()
  const list = []
  await settled([1, 2].map(value => own.spawn(fill, {}, list, value)), own)
  assert.equal(list, [1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
  const switches = switchesOf(own)
  await settled([1, 2].map(value => own.spawn(fill, {}, [], value)), own)
  assert.ok(switches.count > 5, `${switches.count} switches`)
})

starts('a method claims its object', async () => {
  const { Counter } = await rewrittenModule(`
    export class Counter {
      total = 0
      add(n) { for (let i = 0; i < n; i++) { const { total } = this; this.pause(); this.total = total + 1 } }
      pause() { for (let i = 0; i < 3; i++); }
    }
  `)
  const own = scheduler()
  const counter = new Counter()
  await settled([7, 8].map(n => own.spawn([counter, 'add'], {}, n)), own)
  assert.is(counter.total, 15)
})

starts('a short function waits for the holder of its claim', async () => {
  const own = scheduler()
  const job = own.spawn(parser.parse, {}, '1+2+3')
  const blocked = []
  own.observe(({ type, job }) => { if (type === 'block') blocked.push(job) })
  const reader = own.spawn(parser.position, { priority: 1, release: own.now() + 0.2 })
  assert.equal(await settled([job, reader], own), [6, 5])
  assert.ok(blocked.includes(reader))
})

starts.run()

const identity = suite('claims of arguments')

/** Functions that change an object, each with points between its read and its write. */
const updates = await rewrittenModule(`
  const pause = () => { for (let i = 0; i < 4; i++); }
  export function add(o) { const before = o.x; pause(); pause(); o.x = before + 1; return o.x }
  export function read(o) { const before = o.x; pause(); pause(); return before + o.x }
  export function change(o) { o.x += 10; return o.x }
  export const set = (o, x = 5) => { o.x = x }
  export class Counter { x = 0; add() { const before = this.x; pause(); pause(); this.x = before + 1 } change() { this.x += 10 } }
  export async function later(o) { await null; return add(o) }
  export async function caught(o, wait) { try { await wait() } catch { return add(o) } }
  export async function drain(o, list) { for await (const item of list) { const before = o.x; pause(); o.x = before + item } return o.x }
  export function* steps(o, n) { for (let i = 0; i < n; i++) { yield; const before = o.x; pause(); o.x = before + 1 } return o.x }
`)

/** Runs a job until it is suspended in the middle of its update. */
function suspended(own, work, ...args) {
  const job = own.spawn(work, {}, ...args)
  own.host.run({ turns: 4 })
  assert.is(job.state, 'ready')
  return job
}

for (const [name, call, result] of [
  ['a plain call', o => updates.change(o), 11], ['a plain call of a long function', o => updates.add(o), 2],
  ['a plain call of an arrow function', o => updates.set(o), 5]
]) {
  identity(`${name} outside of jobs finishes the holder of its argument`, async () => {
    const own = scheduler({ round: 0.001 })
    const object = { x: 0 }
    const job = suspended(own, updates.add, object)
    call(object)
    assert.is(job.state, 'done')
    assert.is(object.x, result)
    assert.is(await job, 1)
  })
}

for (const [name, call, result] of [
  ['a plain call', o => updates.change(o), 11], ['a plain call of a long function', o => updates.add(o), 2],
  ['a plain call of an arrow function', o => updates.set(o), 5],
  ['a plain call after a call of a twin', function* (o) { yield preemptify(updates.add)({ x: 0 }); updates.change(o) }, 11]
]) {
  identity(`${name} in a hand-written job finishes the holder of its argument`, async () => {
    const own = scheduler()
    const object = { x: 0 }
    const work = function* () { yield call(object) }
    assert.is((await settled([own.spawn(updates.add, {}, object), own.spawn(work)], own))[0], 1)
    assert.is(object.x, result)
  })
}

identity('plain calls outside of jobs claim their arguments only while a job holds objects', async () => {
  const { counts } = extend.code
  const before = counts.held
  const own = scheduler({ round: 0.001 })
  const job = suspended(own, updates.add, { x: 0 })
  assert.is(counts.held, before + 1)
  await own.host.drain()
  assert.is(await job, 1)
  assert.is(counts.held, before)
})

identity('a hand-written stay keeps the claims of its plain calls', async () => {
  const twin = preemptify(parser.pure)
  const own = scheduler()
  const object = { x: 0 }
  const twice = own.spawn(function* () {
    const first = updates.add(object)
    yield* twin(20)
    return [first, updates.add(object)]
  })
  const once = own.spawn(updates.add, { release: own.now() + 0.05 }, object)
  assert.equal(await settled([twice, once], own), [[1, 2], 3])
})

identity('a plain call in rewritten code claims no argument', async () => {
  // Only the caller of rewritten code claims arguments, because an inner call can get many objects.
  const { outer } = await rewrittenModule(`
    const touch = o => { o.x = 1 }
    export function outer(keep) { for (let i = 0; i < 4; i++) touch(keep()) }
  `)
  const own = scheduler()
  const switches = switchesOf(own)
  const object = { x: 0 }
  await settled([own.spawn(updates.read, {}, object), own.spawn(outer, {}, () => object)], own)
  assert.is(object.x, 1)
  assert.ok(switches.count > 4, `${switches.count} switches`)
})

identity('a plain call of a method outside of jobs finishes the holder of its object', async () => {
  const own = scheduler({ round: 0.001 })
  const counter = new updates.Counter()
  const job = suspended(own, [counter, 'add'])
  counter.change()
  assert.is(job.state, 'done')
  assert.is(counter.x, 11)
})

identity('a plain call in a text at the limit of growth finishes the holder of its argument', async () => {
  let nested = ''
  for (let i = 1; i < 100; i++) nested = `async function f${i}(list, go) { await go(${i}); ${nested}; for (const x of list) await f${i - 1}(x, go) }`
  const long = await rewrittenModule(`${nested}
    export function add(o) { const before = o.x; for (let i = 0; i < 9; i++); o.x = before + 1; return o.x }
    export function change(o) { o.x += 10 }`, { padding: '' })
  const own = scheduler({ round: 0.001 })
  const object = { x: 0 }
  const job = suspended(own, long.add, object)
  long.change(object)
  assert.is(job.state, 'done')
  assert.is(object.x, 11)
})

identity('a plain call outside of jobs leaves the holder of another object', async () => {
  const own = scheduler({ round: 0.001 })
  const job = suspended(own, updates.add, { x: 0 })
  updates.change({ x: 0 })
  assert.is(job.state, 'ready')
  await settled([job], own)
})

identity('a plain call outside of jobs that reads leaves another reader', async () => {
  const own = scheduler({ round: 0.001 })
  const object = { x: 1 }
  const job = suspended(own, updates.read, object)
  assert.is(updates.read(object), 2)
  assert.is(job.state, 'ready')
  await settled([job], own)
})

identity('a step of a generator outside of jobs finishes the holder of its argument', async () => {
  const own = scheduler({ round: 0.001 })
  const object = { x: 0 }
  const steps = updates.steps(object, 2)
  steps.next()
  const job = suspended(own, updates.add, object)
  steps.next()
  assert.is(job.state, 'done')
  assert.is(object.x, 2)
})

identity('a short function that the scheduler starts waits for the holder of its argument', async () => {
  const own = scheduler()
  const object = { x: 0 }
  const jobs = [own.spawn(updates.add, {}, object), own.spawn(updates.change, { priority: 1, release: own.now() + 0.1 }, object)]
  assert.equal(await settled(jobs, own), [1, 11])
})

identity('twins that hand-written code calls claim their arguments', async () => {
  const add = preemptify(updates.add)
  const works = {
    'yield*': function* (o) { return yield* add(o) }, yield: function* (o) { return yield add(o) },
    generators: o => add(o)
  }
  for (const [name, work] of Object.entries(works)) {
    const own = scheduler()
    const object = { x: 0 }
    assert.equal(await settled([own.spawn(work, {}, object), own.spawn(work, {}, object)], own), [1, 2], name)
  }
  const own = scheduler()
  const object = { x: 0 }
  assert.equal(await settled([own.spawn(add(object)), own.spawn(add(object))], own), [1, 2])
})

identity('a twin that hand-written code calls keeps its name, its length and its identity', () => {
  const twin = preemptify(updates.add)
  assert.equal([twin.name, twin.length, preemptify(twin), preemptify(updates.add)], ['add', 1, twin, twin])
})

for (const [name, args] of [['later', []], ['caught', [() => Promise.reject(new Error('no'))]]]) {
  identity(`an async function claims its arguments again ${name === 'later' ? 'after an await' : 'in a handler'}`, async () => {
    const own = scheduler()
    const object = { x: 0 }
    const jobs = [1, 2, 3].map(() => own.spawn(updates[name], {}, object, ...args))
    assert.equal(await settled(jobs, own), [1, 2, 3])
  })
}

identity('a `for await` loop claims its arguments again at each step', async () => {
  const own = scheduler()
  const object = { x: 0 }
  await settled([own.spawn(updates.drain, {}, object, [1, 2]), own.spawn(updates.drain, {}, object, [3, 4])], own)
  assert.is(object.x, 10)
})

identity('a generator that is a job claims its arguments again at each step', async () => {
  const own = scheduler()
  const object = { x: 0 }
  await settled([own.spawn(updates.steps, {}, object, 3), own.spawn(updates.steps, {}, object, 4)], own)
  assert.is(object.x, 7)
})

identity.run()

const apart = suite('texts that are analysed separately')

/** A module whose table other texts can import, with a reader and points between its reads. */
const TABLE = `
  const pause = () => { for (let i = 0; i < 4; i++); }
  export const table = { x: 0 }
  export const other = { x: 0 }
  export let count = 0
  export function read() { const before = table.x; pause(); pause(); return table.x === before }
  export function increase() { const before = count; pause(); pause(); count = before + 1 }
`
const WRITER = `
  import { table } from 'SPECIFIER'
  const pause = () => { for (let i = 0; i < 4; i++); }
  export function write() { for (let i = 0; i < 4; i++) { table.x++; pause() } }
`
const COUNTER = `
  import * as all from 'SPECIFIER'
  const pause = () => { for (let i = 0; i < 4; i++); }
  export function isSteady() { const before = all.count; pause(); pause(); return all.count === before }
`
let places = 0

/** Resolves to two modules at their addresses. The second module imports the first one. */
async function twoModules([place, importer, specifier], first, second) {
  const base = `file:///apart-${places++}/`
  const textOf = (text, place) => preemptify.source(text, { runtime, url: base + place })
  const one = written(textOf(first, place))
  const other = textOf(second.replace('SPECIFIER', specifier), importer)
  return [await import(one), await import(written(other.replace(`'${specifier}'`, JSON.stringify(`${one}`))))]
}

for (const [title, ...place] of [
  ['one package', 'node_modules/p/a.mjs', 'node_modules/p/lib/b.mjs', '../a.mjs'],
  ['two packages', 'node_modules/p/a.mjs', 'node_modules/q/b.mjs', 'p'],
  ['two packages with scopes', 'npm/@s/p@1.2.0/a.mjs', 'npm/q@1/b.mjs', '@s/p/a.mjs'],
  ['own code and a package', 'node_modules/p/a.mjs', 'b.mjs', './node_modules/p/a.mjs'], ['own code', 'a.mjs', 'b.mjs', './a.mjs']
]) {
  apart(`in ${title}, a reader claims an exported object that an importer writes`, async () => {
    const [{ read, table }, { write }] = await twoModules(place, TABLE, WRITER)
    const own = scheduler()
    assert.equal(await settled([own.spawn(read), own.spawn(write), own.spawn(read)], own), [true, undefined, true])
    assert.is(table.x, 4)
  })

  apart(`in ${title}, an importer claims a variable that the exporting module writes`, async () => {
    const [{ increase }, { isSteady }] = await twoModules(place, TABLE, COUNTER)
    const own = scheduler()
    assert.equal(await settled([own.spawn(isSteady), own.spawn(increase), own.spawn(isSteady)], own), [true, undefined, true])
  })
}

apart('readers of an exported object interleave while no importer writes', async () => {
  const [{ read }] = await twoModules(['node_modules/readers/a.mjs', 'node_modules/other/b.mjs', 'readers'], TABLE, COUNTER)
  const own = scheduler()
  const blocks = []
  own.observe(({ type }) => { if (type === 'block') blocks.push(type) })
  const switches = switchesOf(own)
  assert.equal(await settled([own.spawn(read), own.spawn(read)], own), [true, true])
  assert.ok(switches.count > 5 && blocks.length === 0, `${switches.count} switches`)
})

/** An update of the exported table, with points between its read and its write. */
const update = table => `const before = ${table}.x; pause(); pause(); ${table}.x = before + 1`
const PAUSE = 'function pause() { for (let i = 0; i < 4; i++); }'

/**
 * Runs `add` of two CommonJS files as jobs. The first file exports a table.
 *
 * @param {string} place @param {string} importer the addresses of the files @param {string} text the second file
 * @returns {Promise<number>} the number of updates of the table
 */
async function updatesOf(place, importer, text) {
  const base = `file:///apart-${places++}/`
  const files = []
  for (const [at, own] of [[place, `const table = exports.table = { x: 0 }; exports.add = function add() { ${update('table')} }`], [importer, text]]) {
    const module = { exports: {} }
    const script = `(function (exports, require) {${PAUSE}\n${own}\n})`
    ;(0, eval)(preemptify.source(script, { type: 'script', url: base + at }))(module.exports, () => files[0])
    files.push(module.exports)
  }
  const own = scheduler()
  await settled(files.map(({ add }) => own.spawn(add)), own)
  return files[0].table.x
}

for (const [title, place, importer, specifier] of [
  ['two packages', 'node_modules/c/a.js', 'node_modules/d/b.js', 'c'], ['own code', 'a.js', 'b.js', './a.js']
]) {
  apart(`CommonJS files of ${title} that use one object exclude each other`, async () => {
    assert.is(await updatesOf(place, importer,
      `const { table } = require('${specifier}'); exports.add = function add() { ${update('table')} }`), 2)
  })

  apart(`a function of ${title} that calls require within an expression claims the object`, async () => {
    assert.is(await updatesOf(place, importer,
      `exports.add = function add() { ${update(`require('${specifier}').table`)} }`), 2)
  })

  apart(`a function of ${title} that calls require for a local variable claims the object`, async () => {
    assert.is(await updatesOf(place, importer,
      `exports.add = function add() { const { table } = require('${specifier}'); ${update('table')} }`), 2)
  })
}

apart.run()

const scripts = suite('scripts')

/** Runs a rewritten script of a page. */
const load = text => (0, eval)(preemptify.source(text, { type: 'script' }))

scripts('scripts that use one global variable exclude each other', async () => {
  load('var shared1 = 0; function add1(n) { for (let i = 0; i < n; i++) { const v = shared1; pause1(); shared1 = v + 1 } }\n' +
    'function pause1() { for (let i = 0; i < 3; i++); }')
  load('function sub1(n) { for (let i = 0; i < n; i++) { const v = shared1; pause1(); shared1 = v - 1 } }')
  const own = scheduler()
  await settled([own.spawn(globalThis.add1, {}, 9), own.spawn(globalThis.sub1, {}, 7)], own)
  assert.is(globalThis.shared1, 2)
})

scripts('a reader claims a global variable that a later script writes', async () => {
  load('var table2 = 5; function read2(n) { let sum = 0; for (let i = 0; i < n; i++) sum += table2; return sum }')
  const own = scheduler()
  const switches = switchesOf(own)
  assert.equal(await settled([1, 2].map(() => own.spawn(globalThis.read2, {}, 10)), own), [50, 50])
  assert.ok(switches.count > 5)
  load('function write2(n) { for (let i = 0; i < n; i++) table2 = i }')
  assert.equal(await settled([own.spawn(globalThis.read2, {}, 10), own.spawn(globalThis.write2, {}, 10)], own), [50, undefined])
})

scripts('a script that uses two groups together joins their locks', async () => {
  load('var a3 = 0, b3 = 0; function fillA3() { for (let i = 0; i < 50; i++) { a3 = i; for (let k = 0; k < 3; k++); } }\n' +
    'function fillB3() { for (let i = 0; i < 50; i++) { b3 = i; for (let k = 0; k < 3; k++); } }')
  const own = scheduler()
  const switches = switchesOf(own)
  await settled([own.spawn(globalThis.fillA3), own.spawn(globalThis.fillB3)], own)
  assert.ok(switches.count > 5, `${switches.count} switches`)
  load('function both3() { for (let i = 0; i < 50; i++) { a3 = 7; for (let k = 0; k < 3; k++); b3 = 7 } }')
  switches.count = 0
  await settled([own.spawn(globalThis.both3), own.spawn(globalThis.fillA3), own.spawn(globalThis.fillB3)], own)
  assert.ok(switches.count <= 12, `${switches.count} switches`)
})

scripts.run()
