import { Task, rt } from 'rt.mjs'
import { sleep } from 'rt.mjs/alarms'
import { Barrier, Channel, Mutex, Resource, Semaphore, choice, nonPreemptive, par, race } from 'rt.mjs/sync'
import { is } from './equal.js'

function* draw(lines: number) { yield; return `${lines}` }
const texts = new Channel<string>(5, { overflow: 'slide' })
const numbers = new Channel<number>()

// --- channels

function* talks() {
  is<string>()(yield* texts.receive())
  is<void>()(yield* texts.send('x'))
  yield texts.send('x')
  is<void>()(yield* texts.forEach(text => is<string>()(text)))
}
is<string>()(await texts.receive())
is<string[]>()([texts, new Mutex(), new Semaphore(1), new Barrier(2), new Resource()].map(({ name }) => name))
is<string | undefined>()(texts.poll())
for await (const text of texts) is<string>()(text)
is<unknown>()(await new Channel().receive())
// @ts-expect-error
texts.send(5)
// @ts-expect-error
texts.offer(5)
// @ts-expect-error
new Channel(5, { overflow: 'wait' })
// @ts-expect-error
const text: number = await texts.receive()

// --- choice

const chosen = await choice([
  { receive: texts },
  { receive: numbers, when: true, action: (n: number) => n > 5 },
  { send: texts, value: 'x' },
  { timeout: 5 },
  { wait: rt.spawn(draw, {}, 3) },
  { wait: sleep(5), action: function* () { yield; return new Date() } }
])
is<0 | 1 | 2 | 3 | 4 | 5>()(chosen.index)
if (chosen.index === 0) is<string>()(chosen.value)
if (chosen.index === 1) is<boolean>()(chosen.value)
if (chosen.index === 2) is<undefined>()(chosen.value)
if (chosen.index === 4) is<string>()(chosen.value)
if (chosen.index === 5) is<Date>()(chosen.value)
function* chooses() {
  const { value } = yield* choice([{ receive: texts }, { receive: numbers }], { fair: true })
  is<string | number>()(value)
}
// @ts-expect-error
choice([{ recieve: texts }])
// @ts-expect-error
choice([{ send: texts, value: 5 }])
// @ts-expect-error
choice([{ receive: numbers, action: (text: string) => text }])
// @ts-expect-error: the type of an action's parameter is to be written
choice([{ receive: numbers, action: text => text.length }])
// @ts-expect-error
choice({ receive: texts })

// --- par and race

is<[string, number, Response, void, boolean]>()(await par(
  draw(3), function* () { yield; return 5 }, fetch('url'), sleep(5), new Task(() => true)))
is<[number]>()(await par(async () => 5, { scheduler: rt, signal: AbortSignal.timeout(5) }))
function* gathers() {
  const [response, text] = yield* par(fetch('url'), draw(3))
  is<Response>()(response)
  is<string>()(text)
  const first = yield* race(fetch('url'), sleep(5))
  is<{ index: 0, value: Response } | { index: 1, value: void }>()(first)
  is<Response>()((yield* race(...['url'].map(url => fetch(url)))).value)
}
// @ts-expect-error
par([draw(3), draw(5)])
// @ts-expect-error
par(5)
// @ts-expect-error: works have no arguments
par(draw)
// @ts-expect-error
race()

// --- sections

const mutex = new Mutex({ name: 'm' })
function* locks() {
  is<string>()(yield* mutex.use(() => draw(3)))
  is<number>()(yield* nonPreemptive(() => 5))
  is<string>()(yield* new Resource({ ceiling: 5 }).use(function* () { yield; return 'x' }))
  is<void>()(yield* new Semaphore(1).acquire())
  is<void>()(yield* new Barrier(2).wait())
  yield mutex.lock()
  mutex.unlock()
}
is<number>()(await mutex.use(() => 5))
// @ts-expect-error
mutex.use(5)
// @ts-expect-error
mutex.use(function* () { yield 5 })
// @ts-expect-error
new Semaphore({ name: 's' })
// @ts-expect-error: for the addons only
import { Exchange } from 'rt.mjs/sync'; new Exchange(0, 'block', 'x')
// @ts-expect-error: SharedMutex
new Mutex({ shared: true })
