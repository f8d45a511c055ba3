import { MessageChannel } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { farm, labour } from '../examples/farm/farm.mjs'
import { computeRow, escapeTime, whole, zoomed } from '../examples/farm/mandelbrot.mjs'
import { Scheduler } from '../rt.mjs'
import { ChannelError } from '../sync.mjs'
import { endpoints } from './fixtures/channels/fakes.mjs'
import { virtualHost } from './support/virtual-host.mjs'

const farming = suite('examples/farm')

const view = { ...whole(24, 16), depth: 30 }

const expected = Array.from({ length: view.height }, (_, row) => {
  const steps = computeRow(view, row)
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
})

/** Workers a ms away, each on a scheduler of its own. */
function setUp(count) {
  const host = virtualHost()
  const shape = 'postMessage, addEventListener'
  const pairs = Array.from({ length: count }, () => endpoints(shape, { clock: host }))
  const labourers = pairs.map(({ b }) => new Scheduler({ host }).spawn(labour(b)))
  return { host, scheduler: new Scheduler({ host }), workers: pairs.map(({ a }) => a), labourers }
}

for (const count of [1, 2, 5]) {
  farming(`${count} workers make the picture that one loop makes, each row once`, () => {
    const { host, scheduler, workers } = setUp(count)
    const rows = []
    const job = scheduler.spawn(farm(workers, view, (row, pixels) => {
      assert.is(rows[row], undefined)
      rows[row] = pixels
    }))
    host.run()
    assert.is(job.state, 'done')
    assert.equal(rows, expected)
  })
}

farming('every worker gets its share, and the farm may be used again', async () => {
  const { host, scheduler, workers } = setUp(4)
  for (let turn = 0; turn < 3; turn++) {
    const job = scheduler.spawn(farm(workers, view))
    await host.drain()
    const shares = await job
    assert.is(shares.reduce((sum, share) => sum + share, 0), view.height)
    assert.ok(shares.every(share => share >= 3), shares.join())
  }
})

farming('cancelled in the midst it stops, and the workers wait for another', async () => {
  const { host, scheduler, workers, labourers } = setUp(2)
  let rows = 0
  const job = scheduler.spawn(farm(workers, view, () => {
    if (++rows === 5) job.cancel()
  }))
  job.catch(() => {})
  await host.drain()
  assert.is(job.state, 'cancelled')
  assert.ok(rows < 9)
  assert.ok(labourers.every(({ state }) => state === 'waiting'))
  const again = []
  scheduler.spawn(farm(workers, view, (row, pixels) => { again[row] = pixels }))
  await host.drain()
  assert.equal(again, expected)
})

farming('when a worker dies the farm fails, and the others are let go of', async () => {
  const { host, scheduler, workers, labourers } = setUp(3)
  let rows = 0
  const job = scheduler.spawn(farm(workers, view, () => {
    if (++rows === 5) workers[1].happen('close')
  }))
  const error = job.then(() => null, error => error)
  await host.drain()
  const seen = await error
  assert.ok([seen, ...seen.errors ?? []].some(error => error instanceof ChannelError), String(seen))
  assert.is(labourers[0].state, 'waiting')
  assert.is(labourers[2].state, 'waiting')
})

farming('it works over real ports', async () => {
  const { port1, port2 } = new MessageChannel()
  const labourer = new Scheduler().spawn(labour(port2))
  const rows = []
  const shares = await new Scheduler().spawn(farm([port1], view, (row, pixels) => { rows[row] = pixels }))
  assert.equal(shares, [view.height])
  assert.equal(rows, expected)
  labourer.cancel()
  await labourer.catch(() => {})
  port1.close()
})

farming('points inside are inside, and the picture has the axis in its middle', () => {
  assert.is(escapeTime(0, 0, 100), 100)
  assert.is(escapeTime(-1, 0, 100), 100)
  assert.ok(escapeTime(2, 2, 100) < 3)
  const mirrored = expected.map((_, row) => expected[view.height - 1 - row])
  assert.equal(mirrored, expected)
})

farming('zooming keeps the point that was clicked', () => {
  const near = zoomed(view, 3, 5)
  assert.is(near.span, view.span / 4)
  const point = ({ x, span, width }, column) => x + (column + 0.5 - width / 2) * span / width
  assert.ok(Math.abs(near.x - point(view, 3)) < 1e-12)
})

farming.run()
