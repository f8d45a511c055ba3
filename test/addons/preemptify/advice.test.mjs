// Advice for jobs that call preemptible functions from code that was not rewritten.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { rewrittenModule } from '../../support/modules.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const LIBRARY = `
export class Index {
  constructor(pause) { this.pause = pause }
  lookUp(n) { for (let i = 0; i < n; i++) this.pause(); return n }
}
export function lookUpAll(n, pause) { for (let i = 0; i < n; i++) pause(); return n }
`

/** A scheduler on virtual time, and an index of a rewritten library whose search takes 5 ms. */
async function setup() {
  const { Index, lookUpAll } = await rewrittenModule(LIBRARY)
  const host = virtualHost()
  const stalls = []
  const scheduler = new Scheduler({ host, onStall: (job, ms, advice) => stalls.push(advice) })
  return { host, scheduler, stalls, lookUpAll, index: new Index(() => host.advance(5)) }
}

/** Runs `act`, and returns the warnings of the console. */
async function warningsOf(act) {
  const { warn } = console
  const warnings = []
  console.warn = text => warnings.push(text)
  try {
    await act()
  } finally {
    console.warn = warn
  }
  return warnings
}

const advice = suite('advice')

advice('a stall in a plainly called twin is explained, and the console warns once', async () => {
  const { host, scheduler, stalls, index } = await setup()
  const warnings = await warningsOf(async () => {
    for (let i = 0; i < 2; i++) {
      scheduler.spawn(() => index.lookUp(1))
      await host.drain()
    }
  })
  assert.is(stalls.length, 2)
  for (const text of stalls) assert.match(text, "lookUp() can be preempted, but plain code called it. Write rt.spawn([object, 'lookUp'], options, ...args)")
  assert.is(warnings.length, 1)
  assert.match(warnings[0], 'lookUp()')
})

advice('a stall of a continuation is reported without advice', async () => {
  const { host, scheduler, stalls } = await setup()
  const work = async () => {
    await scheduler.yield()
    host.advance(5)
  }
  const end = work()
  await host.drain()
  await end
  assert.equal(stalls, [undefined])
})

advice('functions, bound methods, generators and tasks are explained', async () => {
  const { host, scheduler, stalls, index, lookUpAll } = await setup()
  await warningsOf(async () => {
    const works = [
      () => lookUpAll(1, () => host.advance(5)), index.lookUp.bind(index, 1), function* () { yield; index.lookUp(1) },
      new Task(() => index.lookUp(1))
    ]
    for (const work of works) {
      scheduler.spawn(work)
      await host.drain()
    }
  })
  assert.equal(stalls.map(text => /lookUp\w*/.exec(text)[0]), ['lookUpAll', 'lookUp', 'lookUp', 'lookUp'])
  assert.match(stalls[0], 'rt.spawn(lookUpAll, options, ...args)')
})

advice('a stall in other code gets no advice', async () => {
  const { host, scheduler, stalls, index } = await setup()
  const warnings = await warningsOf(async () => {
    scheduler.spawn(() => host.advance(5))
    scheduler.spawn([index, 'lookUp'], {}, 1)
    await host.drain()
  })
  assert.equal(stalls, [undefined, undefined])
  assert.equal(warnings, [])
})

advice('a job that only declares or mentions the name of a twin gets no advice', async () => {
  const { host, scheduler, stalls } = await setup()
  const pause = () => host.advance(5)
  const works = [
    () => {
      pause()
      function lookUpAll() {}
      return lookUpAll()
    },
    () => [pause(), { lookUp(n, m = (1)) { return n + m } }],
    () => [pause(), class { static async lookUp(n) {} }],
    () => pause(/* lookUp(1) */ 'lookUpAll(1)') // lookUpAll(2)
  ]
  const warnings = await warningsOf(async () => {
    for (const work of works) {
      scheduler.spawn(work)
      await host.drain()
    }
  })
  assert.equal(stalls, works.map(() => undefined))
  assert.equal(warnings, [])
})

advice('a call whose arguments are calls is found before a block', async () => {
  const { host, scheduler, stalls, index } = await setup()
  await warningsOf(async () => {
    scheduler.spawn(() => { if (index.lookUp(Math.min(1, 2))) { host.now() } })
    await host.drain()
  })
  assert.match(stalls[0], 'lookUp()')
})

advice('spawn throws for a method of undefined and names the method', () => {
  const scheduler = new Scheduler()
  assert.throws(() => scheduler.spawn([undefined, 'lookUp']), /work\[0\], whose method is lookUp, must be an object, got undefined/)
})

advice.run()

const evaluated = suite('evaluate')

/** The number of preemption points of a job. */
async function pointsOf(work, ...args) {
  let points = 0
  const scheduler = new Scheduler({ host: { ...virtualHost(), post: fn => setImmediate(fn), after: (ms, fn) => { const t = setTimeout(fn, ms); return () => clearTimeout(t) }, now: () => points++ } })
  const value = await scheduler.spawn(work, { budget: 1 }, ...args)
  return { value, points }
}

evaluated('members and variables that evaluate reaches are called as twins', async () => {
  const { lookUpAll, Index } = await rewrittenModule(LIBRARY)
  const index = new Index(() => {})
  const pause = () => {}
  for (const fn of [n => index.lookUp(n), n => lookUpAll(n, pause), n => [index][0].lookUp(n), n => index?.lookUp(n)]) {
    const { value, points } = await pointsOf(preemptify(fn, { evaluate: text => eval(text) }), 300)
    assert.is(value, 300)
    assert.ok(points > 300, String(fn))
  }
})

evaluated('a class that evaluate reaches is constructed as a twin', async () => {
  const { Long } = await rewrittenModule('export class Long { constructor(n) { for (let i = 0; i < n; i++) this.n = i } }')
  const { value, points } = await pointsOf(preemptify(n => new Long(n).n, { evaluate: text => eval(text) }), 300)
  assert.is(value, 299)
  assert.ok(points > 300)
})

evaluated('generator functions that evaluate reaches make iterators', async () => {
  const items = { *each(n) { for (let i = 0; i < n; i++) yield i } }
  function* each(n) { yield* items.each(n) }
  const fn = preemptify(n => [[...items.each(n)], [...each(n)]], { evaluate: text => eval(text) })
  assert.equal((await pointsOf(fn, 3)).value, [[0, 1, 2], [0, 1, 2]])
})

evaluated('generator functions in scope are called, also beside evaluate', async () => {
  const helper = preemptify(function helper(n) { for (let i = 0; i < n; i++); return n })
  const object = { helper }
  const fn = preemptify(n => helper(n) + object.helper(n), { evaluate: text => eval(text), scope: { object }, calls: { helper } })
  assert.is((await pointsOf(fn, 3)).value, 6)
})

evaluated('direct eval, with and super are unchanged', async () => {
  const inner = preemptify(function (x) { return eval('x + 1') }, { evaluate: text => eval(text) })
  assert.is((await pointsOf(inner, 3)).value, 4)
  const object = { f() { return this.y }, y: 5 }
  const within = preemptify(new Function('o', 'with (o) { return f() }'), { evaluate: text => (0, eval)(text) })
  assert.is((await pointsOf(within, object)).value, 5)
})

evaluated.run()
