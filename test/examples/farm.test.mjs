import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Workers } from '../../addons/workers.mjs'
import { farm } from '../../examples/farm/farm.mjs'
import { share } from '../../examples/farm/share.mjs'
import { computeRow, escapeTime, whole, zoomed } from '../../examples/farm/mandelbrot.mjs'
import { rt } from '../../rt.mjs'
import { Channel, ChannelError } from '../../sync.mjs'
import { crewOf } from '../support/crew.mjs'
import { execute } from '../support/virtual-host.mjs'
import { world } from '../support/world.mjs'

const farming = suite('examples/farm')

const view = { ...whole(24, 16), depth: 30 }

const expected = Array.from({ length: view.height }, (_, row) => {
  const steps = computeRow(view, row)
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
})

/** A farm of workers with messages that take 1 ms. Each row takes time on the virtual host. */
function setUp(count, options) {
  const here = world()
  const works = {
    * computeRow(view, row) {
      yield* execute(here.host, 2)
      return yield* computeRow(view, row)
    }
  }
  const crew = crewOf(here, works, { size: count, ...options })
  const rows = []
  const spawn = harvest => here.scheduler.spawn(farm(crew.workers, view, (row, pixels) => {
    assert.is(rows[row], undefined)
    rows[row] = pixels
    harvest?.(rows.filter(Boolean).length)
  }))
  return { ...here, ...crew, rows, spawn }
}

for (const count of [1, 2, 5]) {
  farming(`${count} workers produce the same picture as one loop, each row once`, async () => {
    const { host, rows, spawn, workers } = setUp(count)
    const job = spawn()
    await host.drain()
    await job
    assert.equal(rows, expected)
    assert.ok(workers.stats().workers.every(({ jobs }) => jobs >= 3))
  })
}

farming('a picture can have more rows than the workers accept at once', async () => {
  const { host, rows, spawn } = setUp(2, { limit: 3 })
  const job = spawn()
  await host.drain()
  await job
  assert.equal(rows, expected)
})

farming('a cancelled picture stops, and the workers compute the next one', async () => {
  const { host, rows, spawn, workers } = setUp(2)
  const job = spawn(count => {
    if (count === 5) job.cancel()
  })
  job.catch(() => {})
  await host.drain()
  assert.is(job.state, 'cancelled')
  assert.ok(rows.filter(Boolean).length < 12) // a message can contain several rows
  assert.is(workers.unfinished, 0)
  rows.length = 0
  spawn()
  await host.drain()
  assert.equal(rows, expected)
})

farming('when a worker dies, another computes its rows, or the farm fails', async () => {
  for (const restart of [true, false]) {
    const { host, rows, spawn, sites, workers } = setUp(3, { restart })
    const outcome = spawn(count => {
      if (count === 5) sites[1].kill()
    }).then(() => null, error => error)
    await host.drain()
    const error = await outcome
    if (restart) assert.equal(rows, expected)
    else assert.instance(error, ChannelError)
    assert.is(workers.unfinished, 0)
  }
})

farming('the farm works on real threads', async () => {
  const workers = new Workers(new URL('../../examples/farm/mandelbrot.mjs', import.meta.url), { size: 2 })
  const rows = []
  await rt.spawn(farm(workers, view, (row, pixels) => { rows[row] = pixels }))
  assert.equal(rows, expected)
  await workers.close()
})

farming('escapeTime is maximal inside the set, and the picture is symmetric', () => {
  assert.is(escapeTime(0, 0, 100), 100)
  assert.is(escapeTime(-1, 0, 100), 100)
  assert.ok(escapeTime(2, 2, 100) < 3)
  const mirrored = expected.map((_, row) => expected[view.height - 1 - row])
  assert.equal(mirrored, expected)
})

farming('zooming keeps the clicked point in place', () => {
  const near = zoomed(view, 3, 5)
  assert.is(near.span, view.span / 4)
  const point = ({ x, span, width }, column) => x + (column + 0.5 - width / 2) * span / width
  assert.ok(Math.abs(near.x - point(view, 3)) < 1e-12)
})

const encode = text => new TextEncoder().encode(text)
const malformed = {
  'not JSON': '{', 'null': 'null', 'a number': '5', 'without numbers': '{"width":"x","height":{}}',
  'huge': JSON.stringify({ ...view, width: 1e9, height: 1e9 }), 'of a fractional height': JSON.stringify({ ...view, height: 1.5 }),
  'without an end': JSON.stringify({ ...view, depth: 1e12 })
}

farming('a member survives malformed views and rows, and takes the next view', async () => {
  const { host, scheduler } = world()
  const messages = new Channel(Infinity)
  const bus = { messages, publish() {}, member: 'a' }
  const views = [], rows = []
  const job = scheduler.spawn(share(bus, {
    labours: false, begin: view => views.push(view), harvest: (row, pixels) => rows.push([row, pixels.length])
  }))
  for (const text of Object.values(malformed)) messages.offer({ topic: 'view', value: encode(text) })
  messages.offer({ topic: 'view', value: encode(JSON.stringify(view)) })
  const id = Object.values(view).join(',')
  for (const row of ['-1', '99', 'x', '1.5']) messages.offer({ topic: `row/${id}/${row}`, value: encode('b\0' + ' '.repeat(96)) })
  messages.offer({ topic: `row/${id}/2`, value: encode('b\0short') })
  messages.offer({ topic: `row/${id}/3`, value: encode('b\0' + ' '.repeat(96)) })
  await host.drain()
  assert.equal([job.state, views, rows, host.errors], ['waiting', [view], [[3, 96]], []])
  job.cancel()
})

farming.run()
