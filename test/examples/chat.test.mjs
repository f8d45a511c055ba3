import { request } from 'node:http'
import { PassThrough } from 'node:stream'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { accept, connect } from '../../addons/connect.mjs'
import { converse } from '../../examples/chat/conversation.mjs'
import { Hub } from '../../examples/chat/hub.mjs'
import { openChat, path } from '../../examples/chat/server.mjs'
import { acceptWebSocket } from '../../examples/chat/web-socket.mjs'
import { serve } from '../../examples/server.mjs'
import { Scheduler } from '../../rt.mjs'
import { Channel, ChannelError } from '../../sync.mjs'
import { endpoints } from '../fixtures/channels/fakes.mjs'
import { openWebSocket } from '../fixtures/channels/open-web-socket.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

const chat = suite('examples/chat')

/** A chat hub, and a function that adds members, whose messages take 1 ms per direction. */
function setUp(options) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const hub = new Hub({ scheduler, now: () => host.time, ...options })
  const come = name => {
    const typed = new Channel(Infinity)
    const shown = []
    const lines = []
    const open = () => {
      const { a, b } = endpoints('WebSocket', { clock: host })
      lines.push({ a, b })
      accept(b, session => hub.join(session), { scheduler })
      return a
    }
    const job = scheduler.spawn(converse({
      open, name, typed, options: { scheduler },
      show: ({ kind, name, text }) => shown.push(kind === 'said' ? `${name}: ${text}` : `${name} ${kind}`)
    }))
    job.catch(() => {})
    const cut = () => {
      for (const end of Object.values(lines.at(-1))) end.happen('close')
    }
    return { typed, shown, job, cut, lines }
  }
  return { host, hub, come, wait: ms => host.drain({ until: host.time + ms }) }
}

chat('all members receive all messages in the same order', async () => {
  const { hub, come, wait } = setUp()
  const [anna, ben] = ['Anna', 'Ben'].map(come)
  await wait(50)
  anna.typed.offer('hello')
  ben.typed.offer('hi')
  await wait(50)
  assert.is(hub.size, 2)
  assert.equal(anna.shown.slice(0, 2).sort(), ['Anna came', 'Ben came'])
  assert.equal([...anna.shown.slice(2)].sort(), ['Anna: hello', 'Ben: hi'])
  assert.equal(ben.shown.slice(-2), anna.shown.slice(-2))
})

chat('a late member gets the latest messages, and long or empty names are replaced', async () => {
  const { come, wait } = setUp({ keep: 5 })
  const anna = come('  Anna the first of a rather long name ')
  await wait(20)
  for (let i = 0; i < 9; i++) anna.typed.offer(` ${i} `)
  await wait(2000)
  const late = come('   ')
  await wait(50)
  const name = 'Anna the first of a rath'
  assert.equal(late.shown, [5, 6, 7, 8].map(i => `${name}: ${i}`).concat('Somebody came'))
})

chat('messages typed while disconnected arrive once and in order after a reconnect', async () => {
  const { hub, come, wait } = setUp()
  const [anna, ben] = ['Anna', 'Ben'].map(come)
  await wait(50)
  ben.typed.offer('before')
  await wait(50)
  anna.cut()
  await wait(10)
  assert.is(hub.size, 2)
  for (const text of ['one', 'two', 'three']) anna.typed.offer(text)
  await wait(30)
  await wait(2000)
  assert.equal(ben.shown.filter(line => line.startsWith('Anna')),
    ['Anna came', 'Anna: one', 'Anna: two', 'Anna: three'])
  assert.equal(anna.shown.filter(line => /: /.test(line)),
    ['Ben: before', 'Anna: one', 'Anna: two', 'Anna: three'])
})

chat('flooding the chat slows its sender down and delays no other member', async () => {
  const { host, come, wait } = setUp({ pause: 100 })
  const [anna, ben] = ['Anna', 'Ben'].map(come)
  await wait(50)
  for (let i = 0; i < 100; i++) anna.typed.offer(`${i}`)
  ben.typed.offer('me too')
  await wait(1000)
  assert.ok(ben.shown.includes('Ben: me too'))
  const count = anna.shown.filter(line => /^Anna: /.test(line)).length
  assert.ok(count >= 8 && count <= 11, `${count} until ${host.time}`)
  assert.is(anna.typed.length + count, 99)
})

chat('a deaf member delays no other member and loses old messages', async () => {
  const { host, hub, come, wait } = setUp({ keep: 3, pause: 1 })
  const { a, b } = endpoints('WebSocket', { clock: host })
  hub.join(b)
  const [say, hear] = ['say', 'hear'].map(name => connect(a, name))
  say.send({ name: 'Deaf' }).then(() => {})
  await wait(20)
  const anna = come('Anna')
  await wait(20)
  for (let i = 0; i < 20; i++) anna.typed.offer(`${i}`)
  await wait(1000)
  assert.is(anna.shown.at(-1), 'Anna: 19')
  const heard = []
  hear.receive().then(function next(entry) {
    heard.push(entry.text)
    return hear.receive().then(next)
  }, () => {})
  await wait(50)
  // A message was on the way, and the job that sends to this member held another.
  assert.equal(heard.slice(-3), ['17', '18', '19'])
  assert.ok(heard.length <= 5, heard.join())
})

chat('malformed messages are ignored, long messages are truncated', async () => {
  const { host, hub, come, wait } = setUp({ pause: 1 })
  const anna = come('Anna')
  const { a, b } = endpoints('WebSocket', { clock: host })
  hub.join(b)
  const say = connect(a, 'say')
  ;(async () => {
    for (const message of [null, { text: 5 }, 'x', [], { text: '   ' }, { text: 'x'.repeat(1000) }]) {
      await say.send(message)
    }
  })()
  await wait(100)
  assert.equal(anna.shown.filter(line => line.startsWith('Somebody')),
    ['Somebody came', `Somebody: ${'x'.repeat(500)}`])
})

chat('the example server runs the chat over a real WebSocket', async () => {
  const server = await serve({ port: 0 })
  const socket = await openWebSocket({ port: server.port, path })
  const open = () => socket
  const [say, hear] = ['say', 'hear'].map(name => connect(open, name, { timeout: 500 }))
  await say.send({ name: 'Anna' })
  await say.send({ text: 'hello' })
  const heard = []
  while (heard.length < 2) heard.push(await hear.receive())
  assert.equal(heard.map(({ kind, name, text, here }) => [kind, name, text, here]),
    [['came', 'Anna', '', 1], ['said', 'Anna', 'hello', 1]])
  const end = hear.receive().then(() => null, error => error)
  await server.close()
  assert.instance(await end, ChannelError)
})

chat('other addresses, other origins and invalid WebSockets are rejected', async () => {
  const server = await serve({ port: 0 })
  const { port } = server
  const refusal = options =>
    openWebSocket({ port, path, ...options }).then(() => 'accepted', error => error.message)
  assert.is(await refusal({ path: '/elsewhere' }), 'the server answered 404')
  assert.is(await refusal({ headers: { origin: 'http://elsewhere.example' } }), 'the server answered 403')
  assert.is(await refusal({ headers: { 'sec-websocket-version': '8' } }), 'the server answered 400')
  const own = await openWebSocket({ port, path, headers: { origin: `http://127.0.0.1:${port}` } })
  own.terminate()
  const plain = await new Promise(resolve => request({ port, path, host: '127.0.0.1' },
    response => resolve(response.resume().statusCode)).end())
  assert.is(plain, 404)
  await server.close()
})

const upgrade = { connection: 'Upgrade', upgrade: 'websocket' }
const asked = { ...upgrade, host: '127.0.0.1', 'sec-websocket-version': '13', 'sec-websocket-key': 'abc' }
const refused = {
  'another path': ['/elsewhere', upgrade],
  'no key': [path, upgrade],
  'a foreign origin': [path, { ...asked, origin: 'http://evil.example' }],
  'nothing wrong': [path, asked]
}
for (const [title, [url, headers]] of Object.entries(refused)) {
  for (const [by, act] of [['the chat', openChat().upgrade], ['acceptWebSocket', acceptWebSocket]]) {
    chat(`a reset after an upgrade with ${title} ends the connection, not the process (${by})`, () => {
      const socket = new PassThrough()
      act(/** @type {any} */ ({ url, headers }), socket, Buffer.alloc(0))
      socket.emit('error', new Error('read ECONNRESET'))
      assert.is(socket.destroyed, true)
    })
  }
}

chat.run()
