/**
 * Turns the records of a scheduler into the intervals of a schedule: a row per task, the execution and
 * waiting times of its jobs, the missed deadlines, and the jobs that executed instead of a late job.
 *
 *   const schedule = new Schedule()
 *   const stop = scheduler.observe(record => schedule.add(record))
 *
 * A record is evaluated when it arrives and is not kept, because the fields of its job keep changing.
 *
 * @typedef {{ type: string, time: number, job?: any, [more: string]: any }} TraceRecord
 *
 * @typedef {object} Activation a job from its release to its end, one period of a periodic loop, or a
 *   callback that blocked the thread. Times are in ms.
 * @property {string} name
 * @property {number} id
 * @property {Row} row
 * @property {number} release
 * @property {number} deadline absolute; Infinity if there is none
 * @property {number | undefined} started
 * @property {number | undefined} ended
 * @property {'' | 'finish' | 'cancel' | 'fail'} outcome '' until the activation ends
 * @property {number} cost execution time
 * @property {number} preemptions
 * @property {boolean} missed
 * @property {Activation | null} before the previous activation of the same job
 * @property {number | undefined} paused start of the last wait
 * @property {{ from: number, state: 'waits' | 'depleted', on: string, holders: string[] } | null} wait the
 *   current wait
 *
 * @typedef {{ activation: Activation, from: number, to: number, how: string }} Run an interval of execution;
 *   `how` is the type of the record that ended it
 * @typedef {{ activation: Activation, from: number, to: number, state: 'waits' | 'depleted', on: string,
 *   holders: string[] }} Wait an interval of waiting, with the names of the awaited object and its holders
 * @typedef {{ activation: Activation, from: number, to: number }} Stall execution without a preemption point
 * @typedef {{ type: 'alarm' | 'replenish', time: number, due: number, reservation: string }} Alarm
 * @typedef {{ from: number, to: number }} Round
 * @typedef {{ activation: Activation, time: number, type: 'overrun' | 'deplete', reservation: string }} Mark
 *   an overrun or a depletion after which the job keeps running
 *
 * @typedef {object} Row all lists are in the order in which their entries ended
 * @property {string} name
 * @property {Run[]} runs
 * @property {Wait[]} waits
 * @property {Activation[]} ended
 * @property {Set<Activation>} living
 * @property {number} jobs
 * @property {number} missed
 * @property {number} busy execution time, ms
 * @property {number} latest largest lateness, ms
 * @property {number} longest longest time from release to end, ms
 * @property {number} ahead longest time from end to deadline, ms
 * @property {number} longestWait ms
 */

/** Maximum number of rows. Further names share the last row. */
const mostRows = 60

const ends = new Set(['finish', 'cancel', 'fail'])
/** The id of activations that are callbacks. */
const NO_JOB = -1

/**
 * Returns the name of a job, or of the object that a job waits for.
 * @param {any} subject
 */
export function nameOf(subject) {
  if (subject === null || subject === undefined) return ''
  if (typeof subject !== 'object' && typeof subject !== 'function') return String(subject)
  const { name, id, constructor } = subject
  if (name) return String(name)
  return id === undefined ? (constructor?.name || 'object').toLowerCase() : `job ${id}`
}

/**
 * Returns the first index at which `key` is at least `least`.
 * @template T
 * @param {T[]} list sorted by key
 * @param {number} least
 * @param {(item: T) => number} key
 */
export function firstFrom(list, least, key) {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (key(list[middle]) < least) low = middle + 1
    else high = middle
  }
  return low
}

export const endOf = ({ to }) => to
export const endedAt = ({ ended }) => ended
export const timeOf = ({ time }) => time

/** A schedule that grows record by record. */
export class Schedule {
  /** @type {Row[]} sorted by first appearance */
  rows = []
  /** @type {Run[]} runs of all rows; they do not overlap */
  runs = []
  /** @type {Round[]} intervals in which the scheduler had the thread */
  rounds = []
  /** @type {Alarm[]} */
  alarms = []
  /** @type {Stall[]} */
  stalls = []
  /** @type {Mark[]} */
  marks = []
  /** @type {Activation[]} sorted by the time at which the miss was detected */
  misses = []
  /** Number of records so far. */
  length = 0
  /** Types of records so far. @type {Set<string>} */
  types = new Set()
  /** Time of the earliest record that is kept, ms; Infinity if there is none. */
  begin = Infinity
  end = -Infinity
  /** Time of the first record; unlike `begin`, it never changes. */
  origin = Infinity

  #rowOf
  /** @type {Map<string, Row>} */
  #rows = new Map()
  /** @type {Map<any, Activation>} unfinished activations by job id */
  #living = new Map()
  /**
   * Activations that ended in this round, by job id. The miss of a late job is reported only after its end.
   * @type {Map<any, Activation>}
   */
  #ended = new Map()
  /** @type {{ activation: Activation, from: number } | null} */
  #running = null
  #firstOfRound = 0
  #limit
  /** Times of every record whose number is a multiple of a fifth of the limit. @type {number[]} */
  #fifths = []

  /**
   * @param {{ rowOf?: (job: any) => string, limit?: number }} [options] `rowOf`: returns the name of a job's
   *   row, by default the name of the job; `limit`: approximate number of records to keep, by default all
   */
  constructor({ rowOf = nameOf, limit = Infinity } = {}) {
    this.#rowOf = rowOf
    this.#limit = limit
  }

  /** @param {TraceRecord} record */
  add({ type, time, job, ...more }) {
    // An event's job is released at the time of the event, which lies before its record.
    if (this.length === 0) this.begin = this.origin = type === 'release' ? Math.min(time, job.release) : time
    this.length++
    if (time > this.end) this.end = time
    this.types.add(type)
    if (this.length % Math.ceil(this.#limit / 5) === 0) this.#remember(time)
    if (type === 'round') return this.#endRound(more.start, time)
    if (!job) {
      const { due = time, reservation = '' } = more
      if (type === 'alarm' || type === 'replenish') this.alarms.push({ type, time, due, reservation })
      else if (type === 'stall') this.#stall({ id: NO_JOB, name: nameOf(more.by), release: time - more.ms }, time)
      return
    }
    const activation = this.#activationOf(job, type, time)
    if (type === 'start' || type === 'resume') {
      this.#endRun(time, 'preempt')
      this.#endWait(activation, time)
      activation.started ??= time
      this.#running = { activation, from: time }
    } else if (type === 'preempt') {
      activation.preemptions++
      this.#leave(activation, time, type)
    } else if (type === 'overrun' || type === 'deplete' && (more.depleted ?? 'wait') !== 'wait') {
      this.marks.push({ activation, time, type, reservation: more.reservation ?? '' })
    } else if (type === 'block' || type === 'deplete') {
      this.#leave(activation, time, type)
      this.#beginWait(activation, time, type, type === 'block' ? more.on : more.reservation)
    } else if (type === 'wake' || type === 'replenish') {
      this.#endWait(activation, time)
    } else if (type === 'miss') {
      this.#miss(activation, time)
    } else if (type === 'stall') {
      this.stalls.push({ activation, from: time - more.ms, to: time })
    } else if (ends.has(type)) {
      this.#leave(activation, time, type)
      this.#endWait(activation, time)
      this.#end(activation, time, /** @type {Activation['outcome']} */ (type))
      this.#living.delete(job.id)
      this.#ended.set(job.id, activation)
    }
  }

  /** Ends the current run. Call it after the last record if the records stop in the middle of a round. */
  close() {
    this.#endRun(this.end, '')
  }

  /** The activation that executes now, or that resumes in the next round. */
  get running() {
    return this.#running?.activation ?? null
  }

  /** Returns the current activation of an unfinished job. @param {{ id: number }} job */
  find({ id }) {
    return this.#living.get(id)
  }

  /** Returns all activations of a row, sorted by release. @param {Row} row */
  activations({ ended, living }) {
    return [...ended, ...living].sort((a, b) => a.release - b.release || a.id - b.id)
  }

  /**
   * Finds the jobs that executed instead of a late job between its release and its deadline, or its end if
   * that was earlier.
   *
   * @param {Activation} activation
   * @returns {Blame}
   */
  blame(activation) {
    const from = activation.release
    const to = Math.min(activation.deadline, activation.ended ?? Infinity, this.end)
    const overlap = span => Math.min(span.to, to) - Math.max(span.from, from)
    const overlapping = list => {
      const spans = []
      for (let i = firstFrom(list, from, endOf); i < list.length && list[i].from < to; i++) {
        if (overlap(list[i]) > 0) spans.push(list[i])
      }
      return spans
    }
    /** @type {Map<string, Culprit>} */
    const others = new Map()
    let own = 0
    for (const run of overlapping(this.runs)) {
      const other = run.activation
      if (other === activation) {
        own += overlap(run)
        continue
      }
      const { name, row } = other
      const culprit = others.get(name) ?? { name, row, ms: 0, isLater: false, unbroken: 0 }
      others.set(name, culprit)
      culprit.ms += overlap(run)
      culprit.isLater ||= other.deadline > activation.deadline
    }
    for (const stall of overlapping(this.stalls)) {
      const culprit = others.get(stall.activation.name)
      if (culprit && stall.activation !== activation) {
        culprit.unbroken = Math.max(culprit.unbroken, stall.to - stall.from)
      }
    }
    const sum = spans => spans.reduce((total, span) => total + overlap(span), 0)
    return {
      from,
      to,
      own,
      others: [...others.values()].sort((a, b) => b.ms - a.ms),
      away: this.rounds.length > 0 && to > from ? to - from - sum(overlapping(this.rounds)) : 0,
      waits: this.#waitsOf(activation, from, to).map(wait => ({ ...wait, ms: overlap(wait) })),
      ranOut: this.#ranOut(activation, from, to)
    }
  }

  /** @param {Activation} activation @param {number} from @param {number} to */
  #ranOut(activation, from, to) {
    const { marks } = this
    for (let i = firstFrom(marks, from, timeOf); i < marks.length && marks[i].time <= to; i++) {
      const { type, reservation } = marks[i]
      if (marks[i].activation === activation && type === 'deplete') return reservation || 'reservation'
    }
    return ''
  }

  /** @param {Activation} activation @param {number} from @param {number} to */
  #waitsOf(activation, from, to) {
    const { row: { waits, longestWait }, wait } = activation
    const found = []
    for (let i = firstFrom(waits, from, endOf); i < waits.length && waits[i].to <= to + longestWait; i++) {
      if (waits[i].activation === activation && waits[i].from < to) found.push(waits[i])
    }
    if (wait !== null && wait.from < to) found.push({ ...wait, activation, to: this.end })
    return found
  }

  /** Forgets all intervals that ended before a time. @param {number} time */
  forget(time) {
    const drop = (list, key) => list.splice(0, firstFrom(list, time, key)).length
    this.#firstOfRound = Math.max(0, this.#firstOfRound - drop(this.runs, endOf))
    drop(this.rounds, endOf)
    drop(this.alarms, timeOf)
    drop(this.stalls, endOf)
    drop(this.marks, timeOf)
    this.misses = this.misses.filter(({ ended = Infinity }) => ended >= time)
    for (const row of this.rows) {
      drop(row.runs, endOf)
      drop(row.waits, endOf)
      drop(row.ended, endedAt)
    }
    this.begin = Math.max(this.begin, Math.min(time, this.end))
  }

  /** @param {number} time */
  #remember(time) {
    this.#fifths.push(time)
    if (this.#fifths.length > 5) this.forget(/** @type {number} */ (this.#fifths.shift()))
  }

  /** @param {any} job @param {string} type @param {number} time @returns {Activation} */
  #activationOf(job, type, time) {
    const known = this.find(job) ?? (type === 'miss' ? this.#ended.get(job.id) : undefined)
    if (known === undefined) return this.#appear(job, type, time)
    if (job.release === known.release || job.release === undefined) {
      known.deadline = job.absoluteDeadline ?? known.deadline
      return known
    }
    // A new release starts a new period. Waiting for the release is not part of the previous period.
    known.wait = null
    this.#end(known, known.paused ?? time, 'finish')
    return this.#begin(job, known.row, known)
  }

  /** @param {any} job @param {string} type @param {number} time */
  #appear(job, type, time) {
    const activation = this.#begin(job, this.#rowNamed(this.#rowOf(job)), null)
    // If its first record shows it running, the job was already executing when the records began.
    const wasRunning = type === 'preempt' || type === 'block' || type === 'finish' || type === 'stall'
    if (wasRunning && this.#running === null && this.runs.length === 0) {
      activation.started = job.started ?? this.begin
      this.#running = { activation, from: this.begin }
    }
    return activation
  }

  /** @param {any} job @param {Row} row @param {Activation | null} before @returns {Activation} */
  #begin(job, row, before) {
    /** @type {Activation} */
    const activation = {
      name: nameOf(job),
      id: job.id,
      row,
      release: job.release ?? this.end,
      deadline: job.absoluteDeadline ?? Infinity,
      started: undefined,
      ended: undefined,
      outcome: '',
      cost: 0,
      preemptions: 0,
      missed: false,
      before,
      paused: undefined,
      wait: null
    }
    // Only the previous period is needed, so older ones are released.
    if (before !== null) before.before = null
    row.jobs++
    row.living.add(activation)
    this.#living.set(job.id, activation)
    return activation
  }

  /**
   * Adds a callback that blocked the thread. The running job did not execute in that time.
   *
   * @param {{ id: number, name: string, release: number }} callback @param {number} to
   */
  #stall(callback, to) {
    const from = callback.release
    const running = this.running
    this.#endRun(from, 'preempt')
    const activation = this.#begin(callback, this.#rowNamed(callback.name), null)
    this.#living.delete(NO_JOB)
    activation.started = from
    this.#running = { activation, from }
    this.#endRun(to, 'finish')
    this.#end(activation, to, 'finish')
    this.#running = running && { activation: running, from: to }
    this.stalls.push({ activation, from, to })
  }

  /** @param {string} name @returns {Row} */
  #rowNamed(name) {
    const wanted = this.#rows.has(name) || this.rows.length < mostRows - 1 ? name : 'others'
    let row = this.#rows.get(wanted)
    if (row !== undefined) return row
    row = {
      name: wanted, runs: [], waits: [], ended: [], living: new Set(),
      jobs: 0, missed: 0, busy: 0, latest: -Infinity, longest: 0, ahead: 0, longestWait: 0
    }
    this.#rows.set(wanted, row)
    this.rows.push(row)
    return row
  }

  /** @param {Activation} activation @param {number} time @param {string} how */
  #leave(activation, time, how) {
    if (this.#running?.activation !== activation) return
    this.#endRun(time, how)
    this.#running = null
  }

  /** @param {number} to @param {string} how */
  #endRun(to, how) {
    if (this.#running === null) return
    const { activation, from } = this.#running
    this.#running.from = to
    // Keep the run of a job that took less than a clock tick, so that the job is visible.
    if (to <= from && !(ends.has(how) && activation.cost === 0)) return
    const last = this.runs.length > this.#firstOfRound ? this.runs[this.runs.length - 1] : undefined
    if (last !== undefined && last.activation === activation && last.to === from) {
      last.to = to
      last.how = how
    } else {
      const run = { activation, from, to, how }
      this.runs.push(run)
      activation.row.runs.push(run)
    }
    activation.cost += to - from
    activation.row.busy += to - from
  }

  /** @param {number} start @param {number} time */
  #endRound(start, time) {
    this.#endRun(time, 'round')
    // A job that runs at the end of a round resumes in the next one. Only the next round's record states its
    // start.
    for (const run of this.runs.slice(this.#firstOfRound)) {
      if (run.from >= start) break
      if (run.activation.id === NO_JOB) continue
      const before = Math.min(start, run.to) - run.from
      run.from += before
      run.activation.cost -= before
      run.activation.row.busy -= before
      if (run.from === run.to) this.#remove(run)
    }
    this.#firstOfRound = this.runs.length
    this.#ended.clear()
    this.rounds.push({ from: start, to: time })
  }

  /**
   * Removes a run that lies before this round, because its job did not execute then.
   * @param {Run} run
   */
  #remove(run) {
    const { runs } = run.activation.row
    this.runs.splice(this.runs.lastIndexOf(run), 1)
    runs.splice(runs.lastIndexOf(run), 1)
  }

  /** @param {Activation} activation @param {number} from @param {string} type @param {any} on */
  #beginWait(activation, from, type, on) {
    activation.paused = from
    activation.wait = {
      from,
      state: type === 'block' ? 'waits' : 'depleted',
      on: nameOf(on),
      holders: typeof on?.owners === 'function' ? on.owners().filter(Boolean).map(nameOf) : on?.holders ?? []
    }
  }

  /** @param {Activation} activation @param {number} to */
  #endWait(activation, to) {
    const { wait } = activation
    if (wait === null) return
    activation.wait = null
    if (to <= wait.from) return
    const { row } = activation
    row.waits.push({ ...wait, activation, to })
    row.longestWait = Math.max(row.longestWait, to - wait.from)
  }

  /** @param {Activation} activation @param {number} time */
  #miss(activation, time) {
    // A miss can be detected after the next period has started.
    const isOfLast = activation.deadline > time && activation.before !== null
    const late = isOfLast ? /** @type {Activation} */ (activation.before) : activation
    late.missed = true
    late.row.missed++
    this.misses.push(late)
  }

  /** @param {Activation} activation @param {number} time @param {Activation['outcome']} outcome */
  #end(activation, time, outcome) {
    const { row, release, deadline } = activation
    activation.ended = time
    activation.outcome = outcome
    row.living.delete(activation)
    row.longest = Math.max(row.longest, time - release)
    if (deadline < Infinity) {
      row.ahead = Math.max(row.ahead, deadline - time)
      row.latest = Math.max(row.latest, time - deadline)
    }
    insertByEnd(row.ended, activation)
  }
}

/**
 * Inserts an activation. A period's end is learnt late, after other activations may have ended.
 *
 * @param {Activation[]} list
 */
function insertByEnd(list, activation) {
  let at = list.length
  while (at > 0 && list[at - 1].ended > activation.ended) at--
  if (at === list.length) list.push(activation)
  else list.splice(at, 0, activation)
}

/**
 * @typedef {{ name: string, row: Row, ms: number, isLater: boolean, unbroken: number }} Culprit a task that
 *   executed for `ms`. `isLater`: its own deadline was later; `unbroken`: its longest interval without a
 *   preemption point, ms
 * @typedef {{ from: number, to: number, own: number, others: Culprit[], away: number,
 *   waits: (Wait & { ms: number })[], ranOut: string }} Blame times in ms. `away`: time outside of rounds, in
 *   which the scheduler did not have the thread; `ranOut`: the reservation that was depleted while the job
 *   kept running
 */

/**
 * Builds the schedule of a complete list of records.
 * @param {Iterable<TraceRecord>} records sorted by time
 * @param {{ rowOf?: (job: any) => string, limit?: number }} [options]
 */
export function scheduleOf(records, options) {
  const schedule = new Schedule(options)
  for (const record of records) schedule.add(record)
  schedule.close()
  return schedule
}
