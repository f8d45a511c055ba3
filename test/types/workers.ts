import { edf } from 'rt.mjs'
import { AdmissionError, Workers } from 'rt.mjs/workers'
import { is } from './equal.js'

type Works = { version: string, add(a: number, b: number): number, render(scene: string): Generator<undefined, Date>, load: (url: string) => Promise<5> }
const workers = new Workers<Works>(new URL('works.mjs', import.meta.url), { size: 2, restart: true })
is<number>()(await workers.spawn('add', { deadline: 5, transfer: [] }, 1, 2))
is<Date>()(await workers.spawn('render', {}, 'scene'))
is<5>()(await workers.spawn('load', {}, 'url'))
// @ts-expect-error
workers.spawn('add', {}, '1', 2)
// @ts-expect-error
workers.spawn('subtract', {}, 1, 2)
// @ts-expect-error
workers.spawn('add', { uses: [] }, 1, 2)
is<unknown>()(await new Workers('works.mjs').spawn('anything', {}, 1, 2))
is<number[]>()(Workers.partition([{ wcet: 1, period: 10 }], { size: 2 }))
is<number>()(new AdmissionError('x', edf, { utilization: 1, demand: 1, bound: 1, share: 1, test: 'schedulable' }).bound)
is<number>()(await workers.run.add(2, 3))
is<Date>()(await workers.run.render('scene'))
is<5>()(await workers.run.load('url'))
// @ts-expect-error
workers.run.add('2', 3)
// @ts-expect-error
workers.run.subtract(2, 3)
// @ts-expect-error: an export that is not work
workers.spawn('version', {})
// @ts-expect-error
workers.run.version()
is<unknown>()(await new Workers('works.mjs').run.anything(1, 'x'))
