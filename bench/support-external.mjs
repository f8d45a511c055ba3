// Latencies of messages to another thread or machine; also runs in pages of browsers.
import { connect } from '../addons/connect.mjs'
import { rt } from '../rt.mjs'

/**
 * The messages, and the number sent in a row. Large buffers are transferred to workers, except with
 * `isCopied`.
 *
 * @type {{ name: string, bytes: number, count: number, isCopied?: boolean }[]}
 */
const messages = [
  { name: 'a number', bytes: 0, count: 200 },
  { name: '1 kB', bytes: 1000, count: 200 },
  { name: '10 kB', bytes: 10_000, count: 200 },
  { name: '66 kB', bytes: 66_000, count: 60 },
  { name: '1 MB', bytes: 1_000_000, count: 30 },
  { name: '1 MB, copied', bytes: 1_000_000, count: 30, isCopied: true }
]

/** Receives endlessly: in a job from one channel, and in async code from another. @param {any} endpoint */
export function receive(endpoint) {
  const [inJob, awaited] = ['job', 'await'].map(name => connect(endpoint, name))
  const job = rt.spawn(function* () { for (;;) yield inJob.receive() })
  const loop = (async () => { for await (const _ of awaited); })()
  for (const end of [job, loop]) end.catch(() => {})
}

/**
 * Creates a new message, because a buffer may have been transferred.
 *
 * @param {number} bytes 0 means a number
 */
const messageOf = bytes => bytes === 0 ? 0 : new Uint8Array(bytes)

/**
 * Compares the time of a message and an empty answer over a bare endpoint with the time of a send over a
 * channel, which ends when the message has been received. All ways take turns, so that a disturbance affects
 * all of them.
 *
 * @param {any} bare an endpoint whose peer answers every message
 * @param {any} endpoint an endpoint whose peer has channels
 * @param {{ passes?: number }} [options]
 * @returns {Promise<{
 *   name: string, bytes: number, bare: number, awaited: number, inJob: number, ratios: number[]
 * }[]>} us per message, medians over the passes; `ratios`: medians of the ratios to `bare` within a pass,
 *   awaited and in jobs
 */
export async function compare(bare, endpoint, { passes = 25 } = {}) {
  const [inJob, awaited] = ['job', 'await'].map(name => connect(endpoint, name))
  const rows = []
  for (const { name, bytes, count, isCopied = false } of messages) {
    // A socket always copies.
    if (isCopied && !bare.postMessage) continue
    const options = isCopied ? { transfer: [] } : {}
    const byBare = bareSender(bare, bytes >= 2 ** 16 && !isCopied)
    const ways = [
      async times => { for (let i = 0; i < times; i++) await byBare.send(messageOf(bytes)) },
      async times => { for (let i = 0; i < times; i++) await awaited.send(messageOf(bytes), options) },
      times => rt.spawn(function* () {
        for (let i = 0; i < times; i++) yield inJob.send(messageOf(bytes), options)
      })
    ]
    for (const way of ways) for (let i = 0; i < 5; i++) await way(count)
    const samples = ways.map(() => [])
    for (let pass = 0; pass < passes; pass++) {
      for (let turn = 0; turn < ways.length; turn++) {
        const way = (turn + pass) % ways.length
        const begun = performance.now()
        await ways[way](count)
        samples[way].push((performance.now() - begun) * 1000 / count)
      }
    }
    byBare.end()
    const [plain, ...channels] = samples
    rows.push({
      name,
      bytes,
      bare: middle(plain),
      awaited: middle(channels[0]),
      inJob: middle(channels[1]),
      ratios: channels.map(times => middle(times.map((time, pass) => time / plain[pass])))
    })
  }
  for (const channel of [inJob, awaited]) channel.close()
  return rows
}

/** Compares in a page. @param {string} address the address of a WebSocket server or of a worker */
export async function compareTo(address) {
  const ends = ['bare', 'channels'].map(path =>
    address.startsWith('ws:') ? new WebSocket(address + path) : new Worker(address, { type: 'module' }))
  await Promise.all(ends.map(end => end instanceof WebSocket && new Promise(done => { end.onopen = done })))
  return compare(ends[0], ends[1], { passes: 15 })
}

/**
 * @param {any} endpoint
 * @param {boolean} transfers
 * @returns {{ send(message: any): Promise<void>, end(): void }} `send` resolves when the answer arrives
 */
function bareSender(endpoint, transfers) {
  /** @type {() => void} */
  let answered
  const answer = () => answered()
  if (endpoint.addEventListener) endpoint.addEventListener('message', answer)
  else endpoint.on('message', answer)
  return {
    send: message => new Promise(resolve => {
      answered = () => resolve(undefined)
      if (!endpoint.postMessage) endpoint.send(message === 0 ? '0' : message)
      else if (transfers) endpoint.postMessage(message, [message.buffer])
      else endpoint.postMessage(message)
    }),
    end() {
      if (endpoint.removeEventListener) endpoint.removeEventListener('message', answer)
      else endpoint.off('message', answer)
    }
  }
}

/** @param {number[]} values */
const middle = values => [...values].sort((a, b) => a - b)[values.length >> 1]
