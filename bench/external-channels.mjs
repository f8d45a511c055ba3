import { createServer } from 'node:http'
import { Worker, isMainThread, parentPort } from 'node:worker_threads'
import { acceptWebSocket } from '../examples/chat/web-socket.mjs'
import { openWebSocket } from '../test/fixtures/channels/open-web-socket.mjs'
import { barChart, lineChart, picture } from './support-chart.mjs'
import { compare, receive } from './support-external.mjs'
import { heading, optionsOf, table, target } from './support.mjs'

/** Serves WebSockets in a separate thread: `/bare` answers every message, other paths have channels. */
async function serveSockets() {
  const server = createServer()
  server.on('upgrade', (request, socket, head) => {
    const connection = acceptWebSocket(request, socket, head, { anyOrigin: true })
    if (request.url === '/bare') connection.on('message', () => connection.send('0'))
    else receive(connection)
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
}

const places = []

/** Draws figures 4, 5 and 7 of Communicating Generators. */
async function draw() {
  const ways = { bare: 'bare, there and back', inJob: 'channel, in jobs' }
  const of = kind => places.filter(({ place }) => place.includes(kind))
  for (const [figure, kind] of [[4, 'WebSocket'], [5, 'worker']]) {
    await picture(`csp-figure-${figure}`, barChart({
      title: `us to send a number over a ${kind}`, least: 1,
      // Published in words: for WebSockets, twice the time of a message one way; for workers, only "less".
      groups: of(kind).map(({ place, rows: [{ bare, inJob }] }) => ({
        label: place, bars: [{ name: ways.bare, value: bare }, { name: ways.inJob, value: inJob, beside: kind === 'WebSocket' ? bare : undefined }]
      }))
    }))
  }
  await picture('csp-figure-7', lineChart({
    title: 'us to send a message over a WebSocket (published: linear beyond 100 kB)', across: 'bytes', logarithmic: true,
    curves: of('WebSocket').flatMap(({ place, rows }) => Object.entries(ways).map(([way, name]) => ({
      name: `${place.split(/[ ,]/)[0]}: ${name}`, points: rows.filter(({ bytes }) => bytes > 0).map(row => [row.bytes, row[way]])
    })))
  }))
}

function print(place, rows) {
  places.push({ place, rows })
  console.log(`### ${place}\n`)
  table(
    ['message', 'bare there and back, us', 'channel, awaited', 'in jobs', 'ratio, awaited', 'ratio, in jobs'],
    rows.map(({ name, bare, awaited, inJob, ratios }) => [name, bare, awaited, inJob, ...ratios])
  )
  const small = rows[0]
  const large = rows.at(-1)
  for (const [way, index] of [['awaited', 0], ['in jobs', 1]]) {
    target(`${place}, ${small.name}, ${way}`, small.ratios[index], { most: 2 })
    target(`${place}, ${large.name}, ${way}`, large.ratios[index], { most: 1.1 })
  }
  console.log()
}

async function inNode(port) {
  const workers = [1, 2].map(() => new Worker(new URL('./support-echo.mjs', import.meta.url)))
  print('Node, worker', await compare(workers[0], workers[1]))
  for (const worker of workers) await worker.terminate()
  const sockets = [await openWebSocket({ port, path: '/bare' }), await openWebSocket({ port })]
  print('Node, WebSocket to another thread', await compare(sockets[0], sockets[1]))
  for (const socket of sockets) socket.terminate()
}

async function inBrowsers(port) {
  const { callIn, eachBrowser, kinds } = await import('./support-browsers.mjs')
  await eachBrowser(kinds, async (browser, server) => {
    for (const [place, address] of [['worker', '/bench/support-echo.mjs'], ['WebSocket to Node', `ws://127.0.0.1:${port}/`]]) {
      print(`${browser.name}, ${place}`, await callIn(browser, server, 'isolated', '/bench/support-external.mjs', 'compareTo', address))
    }
  })
}

if (isMainThread) {
  const values = optionsOf({ browsers: false })
  heading('what a channel adds to a message between threads or machines',
    'wall time; bare: the message goes there, an answer comes back; workers get large buffers transferred')
  // The kernel may run two threads on one core or on different cores. On different cores each message wakes a
  // core.
  console.log('Two threads on one core meet within 10 us, on two within 70; only those that are placed alike compare ' +
    '(taskset -c 0).\n')
  const server = new Worker(new URL(import.meta.url))
  const port = await new Promise(resolve => server.once('message', resolve))
  await inNode(port)
  if (values.browsers) await inBrowsers(port)
  await draw()
  await server.terminate()
} else await serveSockets()
