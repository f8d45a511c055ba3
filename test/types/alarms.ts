import { Task, rt, type Job } from 'rt.mjs'
import {
  Alarm, AsyncEvent, after, at, events, every, frames, nextPeriod, on, periodic, sleep, sporadic, timeout, until
} from 'rt.mjs/alarms'
import type { Handling, Periodic } from 'rt.mjs/alarms'
import { is } from './equal.js'

function* tick() { yield }
function* draw(lines: number) { yield; return `${lines}` }

// --- alarms

is<Alarm>()(after(5, time => { is<number>()(time) }))
is<Alarm>()(at(5, tick, { deadline: 5 }))
is<Alarm>()(every(5, async () => {}, { phase: 1, catchUp: 'all' }))
// @ts-expect-error: jobs of alarms have no arguments
every(5, async (job: Job) => { await job.yield() })
is<number | undefined>()(every(5, new Task(tick)).time)
// @ts-expect-error
after('5', tick)
// @ts-expect-error: jobs of alarms have no arguments
after(5, draw)
// @ts-expect-error
after(5, new Task(draw))
// @ts-expect-error
after(5, function* () { yield 5 })
// @ts-expect-error
after(5, async function* () { yield })
// @ts-expect-error
every(5, tick, { cuont: 3 })
// @ts-expect-error
after(5)

// --- waiting

function* waits() {
  is<void>()(yield* sleep(5))
  is<void>()(yield* until(5))
  is<Response>()(yield* timeout(5, fetch('url')))
  is<number>()(yield* nextPeriod())
  yield nextPeriod()
}
// @ts-expect-error: TS7057, because `yield` has no type: use `yield*`
rt.spawn(function* () { const slept = yield sleep(5); return slept })
is<Job<void>>()(rt.spawn(function* () { const slept: void = yield sleep(5); return slept }))
is<void>()(await sleep(5))
is<void>()(await sleep(5, { signal: AbortSignal.timeout(3) }).finally(() => {}))
timeout(5, rt.spawn(tick), { cancel: true })
is<number>()(await timeout(5, Promise.resolve(3)))
// @ts-expect-error
sleep('5')
// @ts-expect-error
timeout(5, 5)

// --- releases

const loops: Periodic = periodic(waits, { period: 5, excess: 'queue' })
is<number>()(loops.jitter().release.p99)
is<number>()(loops.jobs)
// @ts-expect-error
periodic(draw, { period: 5 })
// @ts-expect-error
periodic(tick, { period: 5, excess: 'drop' })
// @ts-expect-error: made by periodic()
import { Periodic as Made } from 'rt.mjs/alarms'; new Made()
// @ts-expect-error: for addons
import { EventHandler } from 'rt.mjs/alarms'; new EventHandler()

const release = sporadic(draw, { interarrival: 5, late: 'drop', excess: 'latest' })
is<Job<string> | null>()(release(3))
// @ts-expect-error
release('x')
is<Job<string> | null>()(sporadic(draw)(3))
// @ts-expect-error: 'drop' is a value of `late`
sporadic(draw, { excess: 'drop' })
// @ts-expect-error: was renamed 'restart'
on(window, 'click', tick, { excess: 'abort' })

is<boolean>()(frames(time => { is<number>()(time) }).cancel())
frames(draw)
frames(function* () { yield })
// @ts-expect-error
frames(function* (title: string) { yield })

// --- events

declare const field: HTMLInputElement, socket: WebSocket, type: string
is<Handling>()(on(window, 'keydown', event => { is<KeyboardEvent>()(event) }))
on(field, 'keydown', function* (event) { yield; is<KeyboardEvent>()(event) })
on(socket, 'message', ({ data }) => data)
on(field, 'input', function* (text) { yield; is<string>()(text) }, { before: () => field.value })
// Targets without such a handler, and types that are not known: the handler names the event.
on(window, 'focusin', event => { is<Event>()(event) })
on(window, 'focusin', (event: FocusEvent) => event.relatedTarget)
on(field, type, event => { is<Event>()(event) })
on(new EventTarget(), 'job', event => { is<Event>()(event) })
on(window, 'keydown', function* (event: KeyboardEvent) { yield; event.key })
on(window, 'keydown', tick, { deadline: 16, size: 5 })
on(window, 'keydown', text => { is<string>()(text) }, { before: (event: KeyboardEvent) => event.key })
on(window, 'keydown', async (event: KeyboardEvent) => event.key)
// @ts-expect-error
on(window, 'keydown', (text: number) => text, { before: (event: KeyboardEvent) => event.key })
// @ts-expect-error
on(window, 'keydown', (text: string) => text)
// @ts-expect-error
on(window, 'keydown', tick, { befor: () => 5 })
// @ts-expect-error: interrupt() takes a capacity
on(window, 'keydown', tick, { capacity: 1, period: 5 })

is<KeyboardEvent>()(await events(field, 'keydown'))
is<CustomEvent>()(await events<CustomEvent>(window, 'job'))
const keys = events(window, 'keydown', { size: 10, overflow: 'slide' })
for await (const key of keys) is<KeyboardEvent>()(key)
is<KeyboardEvent>()(await keys)
function* reads() { is<KeyboardEvent>()(yield* keys.receive()); yield keys }
rt.spawn(reads)
// @ts-expect-error
events(window, 'keydown', { overflow: 'queue' })

const event = new AsyncEvent<[number]>()
event.handle(draw)
event.handle(n => { is<number>()(n) })
event.handle(tick)
event.fire(5)
// @ts-expect-error
event.handle((text: string) => text)
// @ts-expect-error
event.fire('x')
