import { Schedule, endOf, firstFrom, nameOf } from './gantt/intervals.mjs'
import { accusation } from './gantt/words.mjs'

/**
 * Converts a schedule to the Trace Event format, which https://ui.perfetto.dev and chrome://tracing open.
 *
 *   const recording = record(scheduler, { limit: 100_000 })
 *   ...
 *   save(JSON.stringify(traceEvents(recording.records)))
 *
 * The trace has one process, with a thread per task and one for the rounds. Executions of a job are complete
 * events (X). Release, deadline, miss, overrun, depletion, stall and alarm are instants (i). A wake-up is a
 * flow (s, f) from the execution during which it happened to the execution that it caused. The number of
 * ready jobs is a counter (C).
 *
 * @typedef {import('./gantt/intervals.mjs').TraceRecord} TraceRecord
 * @typedef {import('./gantt/intervals.mjs').Activation} Activation
 * @typedef {import('./gantt/intervals.mjs').Run} Run
 * @typedef {{ activation: Activation, time: number, cause: Activation | null }} Wake `cause`: null for an
 *   alarm
 * @typedef {{ ph: string, name: string, pid: number, tid?: number, ts?: number, dur?: number, cat?: string,
 *   cname?: string, id?: number, s?: string, bp?: string, args?: { [name: string]: any } }} TraceEvent
 */

const ends = new Set(['finish', 'cancel', 'fail'])
const getReady = new Set(['release', 'preempt', 'wake'])
const getBusy = new Set(['start', 'resume', 'deplete'])
const ROUNDS = 1

/** Converts ms to microseconds, rounded to the nanosecond. @param {number} time ms */
const microseconds = time => Math.round(time * 1e6) / 1e3

/** Returns undefined for Infinity and NaN, because JSON cannot represent them. */
const finite = value => typeof value === 'number' && !Number.isFinite(value) ? undefined : value

/**
 * @param {Iterable<TraceRecord>} records sorted records of `scheduler.observe` or of `record`
 * @param {object} [options]
 * @param {string} [options.name] name of the process; default 'rt.mjs'
 * @param {number} [options.pid] default 1
 * @returns {{ traceEvents: TraceEvent[], displayTimeUnit: 'ms' }}
 */
export function traceEvents(records, { name = 'rt.mjs', pid = 1 } = {}) {
  const schedule = new Schedule()
  const ready = new Ready(pid)
  /** @type {Wake[]} */
  const wakes = []
  /** The last record that can wake jobs at its own time: the end of a job, or an alarm. */
  let last = { time: NaN, cause: /** @type {Activation | null} */ (null) }
  for (const record of records) {
    const { type, time, job } = record
    const ending = job && ends.has(type) ? schedule.find(job) : undefined
    schedule.add(record)
    ready.add(record)
    if (type === 'alarm') last = { time, cause: null }
    else if (ending) last = { time, cause: ending }
    else if (type === 'start' || type === 'resume') last = { time: NaN, cause: null }
    else if (type === 'wake' && job) {
      const cause = last.time === time ? last.cause : schedule.running
      if (cause !== null || last.time === time) wakes.push({ activation: schedule.find(job), time, cause })
    }
  }
  schedule.close()

  const threads = new Map(schedule.rows.map((row, i) => [row, ROUNDS + 1 + i]))
  const meta = (tid, event, args) => ({ ph: 'M', name: event, pid, tid, args })
  const named = [...threads].map(([row, tid]) => [tid, row.name])
  const events = [
    ...schedule.runs.map(run => execution(run, pid, threads)),
    ...schedule.rows.flatMap(row => schedule.activations(row).flatMap(activation =>
      instants(activation, schedule, pid, /** @type {number} */ (threads.get(row))))),
    ...schedule.stalls.map(({ activation: { row }, from, to }) =>
      instant('stall', to, pid, threads.get(row), { ms: to - from }, 'bad')),
    ...schedule.marks.map(({ activation: { row, id }, time, type, reservation }) =>
      instant(type, time, pid, threads.get(row), { id, ...reservation ? { reservation } : {} }, 'bad')),
    ...schedule.rounds.map(({ from, to }) => ({
      ph: 'X', name: 'round', cat: 'round', pid, tid: ROUNDS, ts: microseconds(from), ...duration(from, to)
    })),
    ...schedule.alarms.map(({ type, time, due, reservation }) =>
      instant(type, time, pid, ROUNDS, { lateness: time - due, ...reservation ? { reservation } : {} })),
    ...flows(wakes, schedule, pid, threads),
    ...ready.events
  ]
  // The longest of several events with equal starts comes first, because it contains the shorter ones.
  events.sort((a, b) => a.ts - b.ts || (b.dur ?? -1) - (a.dur ?? -1))
  return {
    traceEvents: [
      meta(0, 'process_name', { name }),
      ...[[ROUNDS, 'rounds'], ...named].flatMap(([tid, name]) => [
        meta(tid, 'thread_name', { name }), meta(tid, 'thread_sort_index', { sort_index: tid })
      ]),
      ...events
    ],
    displayTimeUnit: 'ms'
  }
}

/** Computes the duration from the rounded start and end, so that neighbouring events do not overlap. */
const duration = (from, to) => ({ dur: Math.round((microseconds(to) - microseconds(from)) * 1e3) / 1e3 })

/** @param {Run} run @returns {TraceEvent} */
function execution({ activation, from, to, how }, pid, threads) {
  const { name, id, row, release, deadline } = activation
  return {
    ph: 'X',
    name,
    cat: 'job',
    pid,
    tid: threads.get(row),
    ts: microseconds(from),
    ...duration(from, to),
    ...to > deadline ? { cname: 'terrible' } : {},
    args: { id, release, deadline: finite(deadline), ...how ? { ended: how } : {} }
  }
}

/** @returns {TraceEvent} */
function instant(name, time, pid, tid, args, cname) {
  const ts = microseconds(time)
  return { ph: 'i', name, cat: 'event', pid, tid, ts, s: 't', ...cname ? { cname } : {}, args }
}

/** Returns the release, deadline, miss and end of a job. @returns {TraceEvent[]} */
function instants(activation, schedule, pid, tid) {
  const { id, release, deadline, ended, outcome, cost, missed } = activation
  const events = [instant('release', release, pid, tid, { id, deadline: finite(deadline) })]
  if (missed) {
    const blame = schedule.blame(activation)
    const ran = Object.fromEntries(blame.others.map(({ name, ms }) => [name, ms]))
    const lateness = ended === undefined ? undefined : ended - deadline
    const args = { id, lateness, ran, why: accusation(blame) }
    events.push(instant('miss', deadline, pid, tid, args, 'terrible'))
  } else if (deadline < Infinity) {
    events.push(instant('deadline', deadline, pid, tid, { id }))
  }
  if (ended !== undefined) {
    events.push(instant(outcome, ended, pid, tid, { id, cost, lateness: finite(ended - deadline) },
      outcome === 'fail' ? 'terrible' : undefined))
  }
  return events
}

/** @param {Wake[]} wakes @returns {TraceEvent[]} */
function flows(wakes, schedule, pid, threads) {
  const events = []
  let id = 0
  for (const { activation, time, cause } of wakes) {
    const from = covering(cause === null ? schedule.rounds : cause.row.runs, time)
    // A wake-up by the page itself, between rounds, has no source event.
    if (from === undefined || cause === activation || cause !== null && from.activation !== cause) continue
    const own = activation.row.runs
    let next = firstFrom(own, time, endOf)
    while (next < own.length && !(own[next].activation === activation && own[next].from >= time)) next++
    if (next === own.length) continue
    const flow = { name: 'wake', cat: 'wake', id: ++id, pid }
    // A flow must start inside an event. The end of an execution is already outside.
    const begin = Math.min(time, Math.max(from.from, from.to - 1e-3))
    events.push(
      { ph: 's', ...flow, tid: cause === null ? ROUNDS : threads.get(cause.row), ts: microseconds(begin) },
      { ph: 'f', ...flow, tid: threads.get(activation.row), ts: microseconds(own[next].from), bp: 'e' }
    )
  }
  return events
}

/**
 * @template {{ from: number, to: number }} T
 * @param {T[]} spans @param {number} time @returns {T | undefined}
 */
function covering(spans, time) {
  const span = spans[firstFrom(spans, time, endOf)]
  return span !== undefined && span.from <= time && span.to > span.from ? span : undefined
}

/** Counts the jobs that are ready but not running. */
class Ready {
  /** @type {TraceEvent[]} */
  events = []
  #ready = new Set()

  /** @param {number} pid */
  constructor(pid) {
    this.pid = pid
  }

  /** @param {TraceRecord} record */
  add({ type, time, job }) {
    if (!job) return
    const before = this.#ready.size
    if (getReady.has(type)) this.#ready.add(job)
    else if (getBusy.has(type) || ends.has(type)) this.#ready.delete(job)
    if (this.#ready.size === before) return
    const ts = microseconds(time)
    const last = this.events[this.events.length - 1]
    const args = { jobs: this.#ready.size }
    // Changes at the same time become one event with the last value.
    if (last?.ts === ts) last.args = args
    else this.events.push({ ph: 'C', name: 'ready', pid: this.pid, tid: 0, ts, args })
  }
}

/**
 * Records the events of a scheduler with a copy of each job's fields. The fields of a job keep changing, and
 * keeping the job itself would keep its result.
 *
 * @param {{ observe(fn: (record: any) => void): () => void }} scheduler
 * @param {{ limit?: number }} [options] `limit`: number of latest records to keep; default 100 000
 * @returns {{ records: TraceRecord[], dropped: number, clear(): void, stop(): void }} `records`: a sorted
 *   copy
 * @throws {RangeError} if `limit` is not an integer > 0
 */
export function record(scheduler, { limit = 100_000 } = {}) {
  if (!Number.isInteger(limit) || limit <= 0) {
    throw new RangeError(`limit must be an integer > 0, got ${limit}`)
  }
  /** @type {TraceRecord[]} */
  let ring = []
  let count = 0
  /** The copied fields of each job. @type {WeakMap<object, any>} */
  const facts = new WeakMap()
  const stop = scheduler.observe(record => {
    ring[count++ % limit] = plain(record, facts)
  })
  return {
    get records() {
      return count <= limit ? ring.slice() : [...ring.slice(count % limit), ...ring.slice(0, count % limit)]
    },
    get dropped() {
      return Math.max(0, count - limit)
    },
    clear() {
      ring = []
      count = 0
    },
    stop
  }
}

/** @param {TraceRecord} record @param {WeakMap<object, any>} facts @returns {TraceRecord} */
function plain({ type, time, job, on, by, error, ...more }, facts) {
  const record = { type, time, job: job ? factsOf(job, type, facts) : null, ...more }
  if (type === 'block') record.on = { name: nameOf(on), holders: holdersOf(on) }
  if (by) record.by = nameOf(by)
  if (error !== undefined) record.error = String(error)
  return record
}

const holdersOf = on => typeof on?.owners === 'function' ? on.owners().filter(Boolean).map(nameOf) : []

/**
 * Returns the copied fields of a job. All records of a period share one object, which is updated with each
 * record.
 */
function factsOf(job, type, facts) {
  let known = facts.get(job)
  // A miss that is detected in the next period belongs to the previous one.
  if (known === undefined || known.release !== job.release && type !== 'miss') {
    known = { id: job.id, name: nameOf(job), release: job.release, absoluteDeadline: job.absoluteDeadline }
    facts.set(job, known)
  }
  if (known.release === job.release) known.absoluteDeadline = job.absoluteDeadline
  known.started = job.started
  return known
}
