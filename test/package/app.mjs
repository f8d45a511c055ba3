// An application that uses the package, in Node, Bun, Deno and pages. A page shows the result in its title.
import { rt } from 'rt.mjs'
import { sleep } from 'rt.mjs/alarms'
import { preemptify } from 'rt.mjs/preemptify'
import { Channel, par } from 'rt.mjs/sync'
import { devtools } from 'rt.mjs/examples/devtools.mjs'
import { Gantt } from 'rt.mjs/examples/gantt.mjs'
import { traceEvents } from 'rt.mjs/examples/trace-events.mjs'

const records = []
const stop = rt.observe(record => records.push(record))
const stopTracks = devtools(rt)
const channel = new Channel()
const sum = preemptify(function sum(n) {
  let total = 0
  for (let i = 0; i < n; i++) total += i
  return total
})
const receiver = rt.spawn(function* () { return yield* channel.receive() })
await rt.spawn(function* () {
  yield* sleep(5)
  yield* channel.send(yield sum(1e5))
}, { name: 'sender' })
const [received] = await par(receiver)
stop()
stopTracks()
const names = new Set(traceEvents(records).traceEvents.map(({ name }) => name))
const result = JSON.stringify({ received, isTraced: names.has('sender'), chart: typeof Gantt })
if (globalThis.document) document.title = result
else console.log(result)
