import { rt } from 'rt.mjs'
import { devtools } from 'rt.mjs/examples/devtools.mjs'
import { Gantt, toSVG } from 'rt.mjs/examples/gantt.mjs'
import { Region } from 'rt.mjs/examples/region.mjs'
import { record, traceEvents } from 'rt.mjs/examples/trace-events.mjs'
import { is } from './equal.js'

is<() => void>()(devtools(rt, { group: 'jobs' }))
// @ts-expect-error
devtools(5)

const gantt = new Gantt(document.body, { span: 500 })
is<() => void>()(gantt.observe(rt))
is<{ from: number, span: number }>()(gantt.view)
is<string>()(gantt.toSVG())
// @ts-expect-error
new Gantt()

const { records } = record(rt, { limit: 1000 })
is<string>()(toSVG(records))
is<string>()(JSON.stringify(traceEvents(records, { name: 'page' })))
const region = new Region(1 << 16)
is<InstanceType<Float64ArrayConstructor>>()(region.array(Float64Array, 8))
is<number>()(await rt.spawn(region.enter(function* (length: number) { yield; return length }, 8)))
// @ts-expect-error
region.array(Array, 8)
// @ts-expect-error: internal
await import('rt.mjs/examples/gantt/drawing.mjs')
