import { DeadlineError, Job, Scheduler, Task, budget, edf, fp, rt } from 'rt.mjs'
import { preemptify } from 'rt.mjs/preemptify'
import { schedulable } from 'rt.mjs/schedulable'
import type { Awaitable, Host, JobOptions, Policy, SchedulerOptions, TaskOptions, TraceRecord } from 'rt.mjs'
import { is } from './equal.js'

declare const pause: Awaitable<void>

function* draw(lines: number, title?: string) {
  for (let i = 0; i < lines; i++) if (--budget.left <= 0) yield
  yield* pause
  return `${title}: ${lines}`
}

// --- spawn: a generator function

is<Job<string>>()(rt.spawn(draw, { deadline: 5 }, 3))
is<Job<string>>()(rt.spawn(draw, {}, 3, 'lines'))
is<Job<number>>()(rt.spawn(function* (n: number) { yield; return n }, { deadline: 5 }, 3))
is<Job<void>>()(rt.spawn(function* () { yield* pause }))
is<string>()(await rt.spawn(draw, undefined, 3))
// @ts-expect-error
rt.spawn(draw)
// @ts-expect-error
rt.spawn(draw, {}, '3')
// @ts-expect-error
rt.spawn(draw, {}, 3, 'lines', 5)
// @ts-expect-error
rt.spawn(function* (n: number) { yield; return n }, {}, 'x')

// --- a generator object, a function, an async function

is<Job<string>>()(rt.spawn(draw(3)))
is<Job<number>>()(rt.spawn((a: number, b: number) => a + b, {}, 1, 2))
is<Job<void>>()(rt.spawn(() => pause))
is<Job<Response>>()(rt.spawn(() => fetch('url')))
is<Job<number>>()(rt.spawn(async () => { await rt.current!.yield(); return 1 }))
is<Job<string>>()(rt.spawn(async (n: number) => `${n}`, {}, 3))
// @ts-expect-error
rt.spawn(draw(3), {}, 3)
// @ts-expect-error
rt.spawn((a: number) => a, {}, 'x')
// @ts-expect-error
rt.spawn(async (n: number) => n)
// @ts-expect-error
rt.spawn(async (n: number) => n, {}, 'x')
// @ts-expect-error
rt.spawn(async function* () { yield })
// @ts-expect-error
rt.spawn(5)
// @ts-expect-error
rt.spawn()

// --- methods and generic functions

class Index<T> {
  constructor(private items: T[]) {}
  search(text: string, limit = 5): T[] { return text ? this.items.slice(0, limit) : [] }
  *walk(from: number) { yield; return this.items.slice(from) }
  find<K>(key: K): K { return key }
  size = 5
}
const index = new Index([1, 2])
is<Job<number[]>>()(rt.spawn([index, 'search'], { deadline: 5 }, 'text'))
is<Job<number[]>>()(rt.spawn([index, 'walk'], {}, 5))
is<Job<unknown>>()(rt.spawn([index, 'find'], {}, 5))
// @ts-expect-error
rt.spawn([index, 'search'], {}, 5)
// @ts-expect-error
rt.spawn([index, 'serch'], {}, 'text')

function first<T>(items: T[]) { return items[0] as T }
is<Job<unknown>>()(rt.spawn(first, {}, [1]))
is<Job<number>>()(rt.spawn(first<number>, {}, [1]))
// @ts-expect-error
rt.spawn(first, {}, 5)
rt.spawn(draw, { signal: rt.current?.signal }, 3)

// --- what a job may not yield

// @ts-expect-error
rt.spawn(function* () { yield 5 })
// @ts-expect-error
rt.spawn(function* () { yield* pause; yield [Promise.resolve()] })

// --- yields

rt.spawn(function* () {
  is<string>()(yield* draw(3))
  is<string>()(yield* rt.spawn(draw, {}, 3))
  is<void>()(yield* pause)
  yield Promise.resolve()
  yield draw(3)
  const response: Response = yield fetch('url')
  return response.ok
})

// --- Task

const task = new Task(draw, { deadline: 5, name: 'draw' })
is<Task<[lines: number, title?: string], string>>()(task)
is<Job<string>>()(task.release(3))
is<Job<string>>()(rt.spawn(task, { release: 7 }, 3))
is<number>()(task.deadline)
is<Job<number>>()(new Task((n: number) => n).release(3))
is<Job<number>>()(new Task(async (n: number) => n).release(3))
// @ts-expect-error
task.release('x')
// @ts-expect-error
rt.spawn(task, {}, 'x')
// @ts-expect-error
new Task(draw, { dedline: 5 })
// @ts-expect-error
new Task(5)
// @ts-expect-error: what a job may not yield
new Task(function* () { yield 5 })
// @ts-expect-error
task.deadline = 'soon'

class Encrypt extends Task {
  *run(text: string) {
    yield
    return text.length
  }
}
const encrypt = new Encrypt({ deadline: 5 })
is<Job<number>>()(encrypt.release('text'))
is<Job<number>>()(rt.spawn(encrypt, {}, 'text'))
// @ts-expect-error
encrypt.release(5)
const anyTask: Task = encrypt

// --- Job

const job = rt.spawn(draw, {}, 3)
is<'pending' | 'ready' | 'running' | 'waiting' | 'depleted' | 'done' | 'failed' | 'cancelled'>()(job.state)
is<number | undefined>()(job.lateness)
is<Promise<number>>()(job.then(text => text.length))
is<Promise<string | Error>>()(job.catch((error): Error => error))
is<Promise<string>>()(job.finally(() => {}))
is<boolean>()(job.cancel(new DeadlineError('late')))
const anyJob: Job = job
const promise: PromiseLike<string> = job
// @ts-expect-error
new Job()
// @ts-expect-error
job.cost = 5
// @ts-expect-error
job.deadline = '5'

// --- options

const options: TaskOptions & JobOptions = { budget: 'auto', miss: 'abort', onMiss: job => is<Job>()(job) }
rt.spawn(draw, options, 3)
// @ts-expect-error
rt.spawn(draw, { dedline: 5 }, 3)
// @ts-expect-error
rt.spawn(draw, { miss: 'ignore' }, 3)
const settings: SchedulerOptions = { policy: edf, onStall: (by, ms) => { is<number>()(ms) } }
// @ts-expect-error
rt.configure({ slize: 5 })
// @ts-expect-error
new Scheduler({ policy: 'fp' })
is<Host>()(new Scheduler(settings).host)
is<Policy>()(fp)
is<Job | null>()(rt.current)
is<boolean>()(rt.paused)
is<number>()(rt.slice)
is<() => void>()(rt.observe((record: TraceRecord) => { is<string>()(record.type) }))
is<boolean>()(schedulable([{ wcet: 1, period: 5 }], { policy: fp }).schedulable)
// @ts-expect-error
schedulable([{ period: 5 }])

// --- the async shim

is<Promise<void>>()(rt.yield({ priority: 3 }))
// @ts-expect-error
rt.yield({ priority: 'background' })

// --- preemptify

const product = preemptify((a: number[], factor: number) => a.map(x => x * factor), { scope: { x: 5 } })
is<Job<number[]>>()(rt.spawn(product, {}, [1], 2))
is<string>()(product.source)
is<Job<number>>()(rt.spawn(preemptify(async (n: number) => n), {}, 3))
is<Job<string>>()(rt.spawn(preemptify(draw), {}, 3))
rt.spawn(function* () { is<number[]>()(yield* product([1], 2)) })
// @ts-expect-error
product('x', 2)
// @ts-expect-error
rt.spawn(product, {}, 'x', 2)
// @ts-expect-error
preemptify(() => {}, { strikt: true })

class Parser {
  kind = 'json'
  parse(text: string) { return text.length }
}
const Preemptible = preemptify(Parser, { methods: ['parse'] })
const parser = new Preemptible()
is<string>()(parser.kind)
is<Job<number>>()(rt.spawn(parser.parse('text')))
is<Job<number>>()(rt.spawn(preemptify({ step: (n: number) => n }, { methods: ['step'] }).step, {}, 3))
is<Job<number>>()(rt.spawn(preemptify({ step(n: number) { return n } }, { methods: ['step'] }).step, {}, 3))
// @ts-expect-error
preemptify(Parser, { methods: ['format'] })
is<string>()(preemptify.source('let a', { type: 'script' }))
preemptify.import('./parser.mjs', { base: import.meta.url }).then(({ parse }) => parse)
const { sleep } = await preemptify.import<typeof import('rt.mjs/alarms')>('rt.mjs/alarms')
is<typeof import('rt.mjs/alarms').sleep>()(sleep)
is<string[]>()(preemptify.report(draw).map(({ reason }) => reason))
// @ts-expect-error
preemptify.source('let a', { tipe: 'script' })
// @ts-expect-error: for rewritten code only
preemptify.runtime
// @ts-expect-error: for rewritten code only
budget.room

// @ts-expect-error: for alarms.mjs and sync.mjs only
import { seam } from 'rt.mjs'
