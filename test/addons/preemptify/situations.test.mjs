// Situations of programs in which plain code keeps run-to-completion.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { sleep } from '../../../alarms.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { written } from '../../support/modules.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'
import { TEMPLATES } from '../../support/templates.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href
let files = 0

/** Resolves to the namespace of a rewritten module. `place` says whether it belongs to a package. */
const moduleAt = (place, text) =>
  import(written(preemptify.source(text, { runtime, url: `file:///${++files}/${place}` })))
const packageOf = (name, text) => moduleAt(`node_modules/${name}/index.mjs`, text)
const application = text => moduleAt('app.mjs', text)

/** Jobs take turns at each point. */
const scheduler = (options = {}) =>
  new Scheduler({ host: virtualHost({ read: 0.01 }), slice: 0.001, round: 1e6, budget: 1, ...options })

async function settled(jobs, { host }) {
  const results = Promise.allSettled(jobs)
  await host.drain()
  return (await results).map(({ value, reason }) => reason === undefined ? value : `${reason.name}: ${reason.message}`)
}

/** Calls `fn` and returns the warnings of the console in the meantime. */
async function warningsOf(fn) {
  const { warn } = console
  const said = []
  console.warn = text => said.push(text)
  try {
    await fn()
  } finally {
    console.warn = warn
  }
  return said
}

/** The expected page of a request. */
const page = (name, list) => `<h1>${name}</h1>${list.map(item => `<li>${item}</li>`).join('')}`

const requests = suite('requests')

/** An application like Express: a chain of handlers, and a package that all requests share. */
async function server() {
  const { render } = await packageOf('templates', TEMPLATES)
  const { application: make } = await application(`
    export function application() {
      const handlers = []
      return {
        use(fn) { handlers.push(fn) },
        handle(request, response) {
          let at = 0
          const next = () => { if (at < handlers.length) handlers[at++](request, response, next) }
          next()
        }
      }
    }
  `)
  const { list, answer } = await application(`
    export function list(request, response, next) {
      const found = []
      for (let i = 0; i < request.count; i++) if (i % 2) found.push(i)
      response.list = found
      next()
    }
    export const answer = render => function answer(request, response) { response.body = render(request.name, response.list) }
  `)
  const app = make()
  app.use(list)
  app.use(answer(render))
  return app
}

requests('two requests of one application that share a package get their own pages', async () => {
  const app = await server()
  const own = scheduler()
  const given = [{ name: 'a', count: 9 }, { name: 'b', count: 14 }]
  const responses = given.map(() => ({}))
  const handle = app.handle
  const jobs = given.map((request, i) => own.spawn(handle, {}, request, responses[i]))
  await settled(jobs, own)
  assert.equal(responses.map(({ body }) => body), [page('a', [1, 3, 5, 7]), page('b', [1, 3, 5, 7, 9, 11, 13])])
})

requests.run()

const frames = suite('frames')

/** A render loop, a click handler and a heavy timer of one page. */
const PAGE = `
let items = [1, 2, 3, 4, 5, 6, 7, 8]
let drawn = 0
export function sum() {
  let total = 0
  for (let i = 0; i < items.length; i++) { for (let k = 0; k < 5; k++); total += items[i].valueOf() }
  return total
}
export function clear() { items = []; for (let i = 0; i < 3; i++); return items.length }
export function draw(n) { for (let i = 0; i < n; i++) drawn++; return drawn }
`

frames('a frame callback that clears a list waits for the timer that iterates it', async () => {
  const { sum, clear } = await application(PAGE)
  const own = scheduler()
  const timer = own.spawn(sum, { priority: 0 })
  const frame = own.spawn(clear, { priority: 1, release: own.now() + 0.1 })
  assert.equal(await settled([timer, frame], own), [36, 0])
  assert.ok(timer.finished < frame.finished)
})

frames('a frame callback without shared variables does not wait for a heavy timer', async () => {
  const { sum, draw } = await application(PAGE)
  const own = scheduler()
  const timer = own.spawn(sum, { priority: 0 })
  const frame = own.spawn(draw, { priority: 1, release: own.now() + 0.1 }, 3)
  assert.equal(await settled([timer, frame], own), [36, 3])
  assert.ok(frame.finished < timer.finished)
})

frames.run()

const generators = suite('hand-written generators')

for (const [name, twice] of Object.entries({
  'yield': function* (render, length) { return [yield render('x', [1]), yield render('yy', [1, 2]), length()] },
  'yield*': function* (render, length) { return [yield* render('x', [1]), yield* render('yy', [1, 2]), length()] }
})) {
  generators(`two calls of a twin by ${name} belong to one stay`, async () => {
    const { render, length } = await packageOf('templates', TEMPLATES)
    const own = scheduler()
    const twin = preemptify(render)
    const jobs = [own.spawn(twice, {}, twin, length), own.spawn(render, {}, 'other', [1, 2, 3, 4])]
    const expected = [page('x', [1]), page('yy', [1, 2])]
    assert.equal((await settled(jobs, own))[0], [...expected, expected[1].length])
  })
}

generators.run()

const cancellation = suite('cancellation')

cancellation('a cancelled infinite loop that writes a variable ends within 100 ms', async () => {
  const { spin, rounds } = await packageOf('endless', `
    let count = 0
    export function spin() { for (;;) count++ }
    export const rounds = () => count
  `)
  const own = scheduler({ round: 1 })
  const job = own.spawn(spin)
  own.host.run({ turns: 3 })
  const request = own.now()
  job.cancel()
  const [result] = await settled([job], own)
  assert.match(result, /^AbortError/)
  assert.ok(job.finished - request <= 102, `${job.finished - request} ms`)
  const count = rounds()
  assert.ok(count > 0)
  const next = own.spawn(rounds)
  assert.equal(await settled([next], own), [count])
})

cancellation.run()

const awaits = suite('awaits')

awaits('a job that awaits inside a package lets another job in, and claims again', async () => {
  const { load, use } = await packageOf('loader', `
    let current = ''
    function slow() { for (let i = 0; i < 4; i++); }
    export async function load(name, wait) {
      current = name
      slow()
      const first = current
      await wait()
      const between = current
      current = name
      slow()
      return [first, between, current]
    }
    export function use(name) { current = name; slow(); return current }
  `)
  const own = scheduler()
  const job = own.spawn(load, {}, 'a', () => own.spawn(function* () { yield sleep(5) }))
  const other = own.spawn(use, {}, 'b')
  const late = own.spawn(use, { release: own.now() + 2 }, 'c')
  assert.equal(await settled([job, other, late], own), [['a', 'c', 'a'], 'b', 'c'])
})

awaits.run()

const packages = suite('packages')

const EACH = `
let depth = 0
let most = 0
function slow() { for (let i = 0; i < 3; i++); }
export function each(list, fn) {
  const result = []
  const before = depth
  slow()
  depth = before + 1
  most = Math.max(most, depth)
  for (const item of list) result.push(fn(item))
  slow()
  depth--
  return [depth, result]
}
export function mark(n) { const before = most; slow(); most = before; return n * 2 }
`

packages('a package that calls back into another package and returns keeps its state', async () => {
  const [one, other] = [await packageOf('one', EACH), await packageOf('other', EACH)]
  const own = scheduler()
  const jobs = [[1, 2], [3, 4, 5]].map(list => own.spawn(one.each, {}, list, other.mark))
  assert.equal(await settled(jobs, own), [[0, [2, 4]], [0, [6, 8, 10]]])
})

packages('calls of two packages into each other finish, and a warning names the cycle', async () => {
  const [one, other] = [await packageOf('one', EACH), await packageOf('other', EACH)]
  const own = scheduler()
  let results
  const said = await warningsOf(async () => {
    results = await settled([own.spawn(one.each, {}, [1, 2], other.mark), own.spawn(other.each, {}, [3], one.mark)], own)
  })
  assert.equal(results, [[0, [2, 4]], [0, [6]]])
  assert.is(said.filter(text => /each waits for the other/.test(text)).length, 1)
  assert.match(said[0], /each|mark/)
})

packages('recursion into the same package does not wait for itself', async () => {
  const { each } = await packageOf('one', EACH)
  const own = scheduler()
  const blocks = []
  own.observe(({ type, job }) => { if (type === 'block') blocks.push(job.name) })
  const nested = item => each([item, item + 1], n => n)
  const jobs = ['a', 'b'].map(name => own.spawn(each, { name }, [1, 2], nested))
  const expected = [0, [[1, [1, 2]], [1, [2, 3]]]]
  assert.equal(await settled(jobs, own), [expected, expected])
  assert.equal(blocks, ['b'])
})

packages.run()

const deadlines = suite('deadlines')

deadlines('a deadline that is missed while a claim waits is reported, and the claim still succeeds', async () => {
  const { render } = await packageOf('templates', TEMPLATES)
  const own = scheduler()
  const missed = []
  own.observe(({ type, job }) => { if (type === 'miss') missed.push(job.name) })
  const list = Array.from({ length: 20 }, (_, i) => i)
  const holder = own.spawn(render, { name: 'holder' }, 'a', list)
  const urgent = own.spawn(render, { name: 'urgent', deadline: 0.5, release: own.now() + 0.1 }, 'b', [1])
  assert.equal(await settled([holder, urgent], own), [page('a', list), page('b', [1])])
  assert.equal(missed, ['urgent'])
})

deadlines("a job with miss: 'abort' that waits for a claim ends at its deadline", async () => {
  const { render } = await packageOf('templates', TEMPLATES)
  const own = scheduler({ round: 0.05 })
  const list = Array.from({ length: 20 }, (_, i) => i)
  const holder = own.spawn(render, {}, 'a', list)
  const urgent = own.spawn(render, { deadline: 0.5, miss: 'abort', release: own.now() + 0.1 }, 'b', [1])
  const [first, second] = await settled([holder, urgent], own)
  assert.is(first, page('a', list))
  assert.match(second, /^DeadlineError/)
  assert.ok(urgent.finished < holder.finished)
})

deadlines.run()
