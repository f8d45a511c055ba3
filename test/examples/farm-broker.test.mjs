import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { computeRow, whole } from '../../examples/farm/mandelbrot.mjs'
import { look, share } from '../../examples/farm/share.mjs'
import { Scheduler, rt } from '../../rt.mjs'
import { Channel } from '../../sync.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

const farming = suite('examples/farm over a broker')

function pictureOf(view) {
  return Array.from({ length: view.height }, (_, row) => {
    const steps = computeRow(view, row)
    let step = steps.next()
    while (!step.done) step = steps.next()
    return step.value
  })
}

/** A broker with retained messages. Each message takes 1 ms to the broker and 1 ms to each member. */
function brokerOf(host) {
  const kept = new Map()
  const members = new Set()
  const tell = (bus, topic, value) => host.after(1, () => {
    if (members.has(bus)) bus.messages.offer({ topic, value })
  })
  const publish = (topic, value, keeps) => {
    if (keeps) value.length > 0 ? kept.set(topic, value) : kept.delete(topic)
    for (const bus of members) tell(bus, topic, value)
  }
  return {
    kept,
    join(member) {
      const bus = {
        member,
        messages: new Channel(Infinity),
        publish: (...given) => host.after(1, () => { if (members.has(bus)) publish(...given) })
      }
      members.add(bus)
      for (const [topic, value] of kept) tell(bus, topic, value)
      return bus
    },
    kill(bus) {
      members.delete(bus)
      publish(`gone/${bus.member}`, new Uint8Array(1), false)
    }
  }
}

/** Collects a picture and asserts that each row arrives once. */
function harvestOf(view, rows) {
  return {
    begin: seen => {
      assert.equal(seen, view)
      rows.length = 0
    },
    harvest: (row, pixels) => {
      assert.is(rows[row], undefined, `row ${row} came twice`)
      rows[row] = pixels
    }
  }
}

const view = { ...whole(12, 16), depth: 30 }
const expected = pictureOf(view)

farming('members join and are killed at random, and each viewer gets each row once', () =>
  forSeeds(100, random => {
    const host = virtualHost()
    const broker = brokerOf(host)
    const come = name => {
      const rows = []
      const bus = broker.join(name)
      const job = new Scheduler({ host }).spawn(share(bus, { ...harvestOf(view, rows), random: () => random.integer(0, 999) / 1000 }))
      job.catch(() => {})
      return { rows, bus, job }
    }
    const members = ['a', 'b', 'c'].map(come)
    look(members[0].bus, view)
    for (let i = random.integer(1, 4); i > 0; i--) {
      host.after(random.integer(5, 60), () => {
        if (random.chance(0.3) || members.length === 1) return members.push(come(`late ${i}`))
        const [victim] = members.splice(random.integer(0, members.length - 1), 1)
        broker.kill(victim.bus)
        victim.job.cancel()
      })
    }
    host.run({ until: 5000 })
    for (const { rows } of members) assert.equal(rows, expected)
  }))

farming('another view starts another picture without rows of the last one', () => {
  const host = virtualHost()
  const broker = brokerOf(host)
  const other = { ...view, x: view.x + 1 }
  const seen = []
  const bus = broker.join('a')
  new Scheduler({ host }).spawn(share(bus, { begin: view => seen.push(view), harvest: row => seen.push(row) }))
  host.after(1, () => look(bus, view))
  host.after(1000, () => look(bus, other))
  host.run({ until: 3000 })
  assert.equal(seen.filter(one => typeof one === 'object'), [view, other])
  assert.is(seen.length, 2 + 2 * view.height)
  assert.is(broker.kept.size, 1 + view.height)
})

const folder = new URL('../../examples/farm/broker/', import.meta.url)
const mosquitto = process.env.PATH.split(':').concat('/usr/sbin').map(path => join(path, 'mosquitto')).find(existsSync)
const isInstalled = mosquitto !== undefined && existsSync(new URL('node_modules/mqtt', folder))

// The broker and its client are not dependencies of this project. `.ci/run` installs them.
if (isInstalled) farming('over mosquitto, with one of three processes killed, the picture is complete', async () => {
  const { default: mqtt } = await import(new URL('node_modules/mqtt/build/index.js', folder).href)
  const { openBus } = await import('../../examples/farm/broker/bus.mjs')
  const port = await new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
  const config = join(mkdtempSync(join(tmpdir(), 'farm-')), 'mosquitto.conf')
  writeFileSync(config, `listener ${port} 127.0.0.1\nallow_anonymous true\n`)
  const url = `mqtt://127.0.0.1:${port}`
  const broker = spawn(mosquitto, ['-c', config], { stdio: 'ignore' })
  const program = fileURLToPath(new URL('process.mjs', folder))
  const members = [1, 2, 3].map(() => spawn(process.execPath, [program, url], { stdio: ['ignore', 'pipe', 'inherit'] }))
  const names = await Promise.all(members.map(({ stdout }) => new Promise(resolve => {
    stdout.once('data', text => resolve(String(text).trim().replace('member ', '')))
  })))
  const view = { ...whole(60, 90), depth: 3000 }
  const rows = []
  const shares = new Map()
  const bus = openBus(mqtt, url)
  try {
    await new Promise(resolve => {
      const { begin, harvest } = harvestOf(view, rows)
      let left = view.height
      const job = rt.spawn(share(bus, {
        begin,
        harvest(row, pixels, member) {
          harvest(row, pixels)
          shares.set(member, (shares.get(member) ?? 0) + 1)
          // The member has sent a row, so it is killed while it computes.
          if (member === names[0] && shares.get(member) === 1) members[0].kill('SIGKILL')
          if (--left === 0) resolve(job.cancel())
        },
        labours: false
      }))
      job.catch(() => {})
      look(bus, view)
    })
    assert.equal(rows, pictureOf(view))
    assert.is([...shares.values()].reduce((sum, share) => sum + share), view.height)
  } finally {
    bus.end()
    const ends = [...members, broker].map(child => new Promise(resolve => {
      if (child.exitCode !== null || child.signalCode !== null) resolve()
      else child.once('exit', resolve).kill('SIGKILL')
    }))
    await Promise.all(ends)
  }
})

farming.run()
