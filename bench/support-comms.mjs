// CommsTime (Brinch Hansen's benchmark of CSP): four processes in a ring, four communications a cycle.
import { Channel } from '../sync.mjs'

/**
 * A channel of the handwritten version; contains the process that waits for it. Declared outside of `byHand`,
 * so that all runs share one hidden class.
 */
class Slot {
  waiting = null
}
const give = (slot, message) => ({ slot, gives: true, message })
const take = slot => ({ slot, gives: false, message: undefined })

/**
 * Runs the lower bound: generators, a first-in-first-out queue of them, and slots.
 *
 * @param {number} cycles the number of messages that the consumer receives
 */
export function byHand(cycles) {
  const [a, b, c, d] = [new Slot(), new Slot(), new Slot(), new Slot()]
  const queue = new Array(8)
  let first = 0
  let size = 0
  const push = (process, input) => {
    process.input = input
    queue[(first + size++) & 7] = process
  }
  const works = [
    function* () { for (yield give(a, 0); ;) yield give(a, yield take(b)) },
    function* () {
      for (;;) {
        const message = yield take(a)
        yield give(c, message)
        yield give(d, message)
      }
    },
    function* () { for (;;) yield give(b, (yield take(c)) + 1) },
    function* () { for (let i = 0; i < cycles; i++) yield take(d) }
  ]
  for (const work of works) push({ generator: work(), input: undefined, message: undefined }, undefined)
  for (;;) {
    const process = queue[first]
    first = (first + 1) & 7
    size--
    const step = process.generator.next(process.input)
    if (step.done) return
    const { slot, gives, message } = step.value
    const other = slot.waiting
    if (other === null) {
      process.message = message
      slot.waiting = process
      continue
    }
    slot.waiting = null
    push(other, gives ? message : undefined)
    push(process, gives ? undefined : other.message)
  }
}

/** The process that sends each message twice, sequentially. */
export function* sequential(a, c, d) {
  for (;;) {
    const message = yield a.receive()
    yield c.send(message)
    yield d.send(message)
  }
}

/**
 * Runs the four processes as jobs until the consumer has received `cycles` messages.
 *
 * @param {import('../rt.mjs').Scheduler} scheduler @param {number} cycles
 * @param {(a: any, c: any, d: any) => Generator} [delta] the process that sends each message twice
 * @param {number} [size] size of the channels
 */
export async function commsTime(scheduler, cycles, delta = sequential, size = 0) {
  const [a, b, c, d] = Array.from({ length: 4 }, () => new Channel(size))
  const others = [
    scheduler.spawn(function* () { for (yield a.send(0); ;) yield a.send(yield b.receive()) }),
    scheduler.spawn(() => delta(a, c, d)),
    scheduler.spawn(function* () { for (;;) yield b.send((yield c.receive()) + 1) })
  ]
  const consumer = scheduler.spawn(function* () {
    let message
    for (let i = 0; i < cycles; i++) message = yield d.receive()
    return message
  })
  if (await consumer !== cycles - 1) throw new Error(`the last message was not ${cycles - 1}`)
  for (const job of others) job.cancel()
  await scheduler.idle()
}

/**
 * Runs the same processes as async functions.
 *
 * @param {number} cycles @param {() => any} channel makes a channel
 * @param {(channel: any, message: number) => unknown} send
 * @param {(channel: any) => any} receive
 */
export async function asyncCommsTime(cycles, channel, send, receive) {
  const [a, b, c, d] = Array.from({ length: 4 }, channel)
  let stopped = false
  const works = [
    async () => { for (await send(a, 0); !stopped;) await send(a, await receive(b)) },
    async () => {
      while (!stopped) {
        const message = await receive(a)
        await send(c, message)
        await send(d, message)
      }
    },
    async () => { while (!stopped) await send(b, (await receive(c)) + 1) }
  ]
  for (const work of works) work()
  let message
  for (let i = 0; i < cycles; i++) message = await receive(d)
  stopped = true // some processes still wait; the collector removes them
  if (message !== cycles - 1) throw new Error(`the last message was not ${cycles - 1}`)
}
