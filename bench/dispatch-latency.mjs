import { setMaxListeners } from 'node:events'
import { AsyncEvent } from '../alarms.mjs'
import { defaultHost, fp, Scheduler } from '../rt.mjs'
import { figure, heading, mean, median, statistics, statisticsColumns, synchronousHost, table, target } from './support.mjs'

// RTJPerf, dispatch delay and priority inversion of asynchronous events (Corsaro and Schmidt 2003, 4.3.3).
const counts = [0, 10, 100, 1000]
const most = counts[counts.length - 1]
const passes = 8
const warmUps = 2
const fires = 20
const clock = performance.now.bind(performance)

let fired = 0
let latency = 0
let handled = 0

function handle() {
  latency = (clock() - fired) * 1000
}

function other() {
  handled++
}

const functions = { handle, other }
const generators = {
  * handle() { handle() },
  * other() { other() }
}

/**
 * Registers handlers by increasing priority, so that a list in order of registration calls the best one last.
 */
function eventWith(scheduler, { handle, other }, others) {
  const event = new AsyncEvent({ scheduler })
  for (let i = 0; i < others; i++) event.handle(other, { priority: 1 + i })
  if (handle) event.handle(handle, { priority: 2 + others })
  return event
}

/**
 * Returns the number of handlers that run between two fires. All variants then run equally many handlers, so
 * that all meet the same state of the processor's caches.
 */
const between = others => most - others

function check() {
  if (handled !== fires * most) throw new Error(`${handled} of ${fires * most} handlers ran`)
}

/** A job fires, and resumes when all handlers have finished. */
const fromJob = handlers => others => {
  const host = synchronousHost()
  const scheduler = new Scheduler({ policy: fp, host, round: Infinity })
  const event = eventWith(scheduler, handlers, others)
  const rest = eventWith(scheduler, { other: handlers.other }, between(others))
  return samples => {
    handled = 0
    scheduler.spawn(function* () {
      for (let i = 0; i < fires; i++) {
        fired = clock()
        event.fire()
        yield
        samples.push(latency)
        rest.fire()
        yield
      }
    }, { priority: 0 })
    host.drain()
    check()
  }
}

/** Code outside of jobs fires. The handler runs in the next event-loop turn. */
function fromOutside(others) {
  const scheduler = new Scheduler({ policy: fp, host: defaultHost() })
  const event = eventWith(scheduler, functions, others)
  const rest = eventWith(scheduler, { other }, between(others))
  return async samples => {
    handled = 0
    for (let i = 0; i < fires; i++) {
      fired = clock()
      event.fire()
      await scheduler.idle()
      samples.push(latency)
      rest.fire()
      await scheduler.idle()
    }
    check()
  }
}

function targetWith(listener, others) {
  const subject = new EventTarget()
  setMaxListeners(0, subject)
  for (let i = 0; i < others; i++) subject.addEventListener('fired', () => other())
  if (listener) subject.addEventListener('fired', listener)
  return subject
}

function eventTarget(others) {
  const subject = targetWith(handle, others)
  const rest = targetWith(undefined, between(others))
  return samples => {
    handled = 0
    for (let i = 0; i < fires; i++) {
      fired = clock()
      subject.dispatchEvent(new Event('fired'))
      samples.push(latency)
      rest.dispatchEvent(new Event('fired'))
    }
    check()
  }
}

const variants = [
  ['AsyncEvent of functions, fired in a job', fromJob(functions)],
  ['AsyncEvent of generator functions, fired in a job', fromJob(generators)],
  ['AsyncEvent of functions, fired outside of jobs', fromOutside],
  ['EventTarget, in order of registration', eventTarget]
].map(([name, make]) => ({ name, runs: counts.map(make), passes: counts.map(() => []) }))

for (let pass = -warmUps; pass < passes; pass++) {
  for (const { runs, passes } of variants) {
    for (let turn = 0; turn < runs.length; turn++) {
      const at = (turn + pass + warmUps) % runs.length
      const samples = []
      await runs[at](samples)
      // Discard the first passes as warm-up.
      if (pass >= 0) passes[at].push(samples)
    }
  }
}

// With a coarse clock most fires take 0 ms, so only the means of many fires are meaningful.
const isCoarse = variants.some(({ passes }) => passes.some(samples => median(samples.flat()) === 0))
const middle = isCoarse ? mean : median

/** Compares runs of the same pass, because they share the current load of the machine. */
const growth = ({ passes }, at) => isCoarse ? mean(passes[at].flat()) / mean(passes[0].flat())
  : median(passes[at].map((samples, pass) => median(samples) / median(passes[0][pass])))

heading('from firing an event to its most eligible handler',
  `wall time, ${figure(passes * fires)} fires each, the next one when all handlers are done and ` +
  `${figure(most)} have run; us (RTJPerf, Table 4 and figure 14: jRate 39.9 ± 0.2)`)
table(
  ['event', 'less eligible handlers', ...statisticsColumns, 'ratio to no others', 'ratio to EventTarget'],
  variants.flatMap(variant => counts.map((others, at) => {
    const samples = variant.passes[at].flat()
    const plain = variants[variants.length - 1].passes[at].flat()
    return [
      variant.name, String(others), ...statistics(samples), growth(variant, at),
      middle(samples) / middle(plain)
    ]
  }))
)
for (const variant of variants.slice(0, -1)) {
  target(`${variant.name}: 1000 others to none`, growth(variant, counts.length - 1), { most: 1.3 })
}
