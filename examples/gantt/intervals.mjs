/**
 * From the records of a scheduler to what a picture of its schedule needs: a row per task, the intervals in
 * which its jobs executed and waited, the deadlines they missed, and who executed instead.
 *
 *   const schedule = new Schedule()
 *   const stop = scheduler.observe(record => schedule.add(record))
 *
 * A record is read when it comes and not kept: a job's own fields go on changing.
 *
 * @typedef {{ type: string, time: number, job?: any, [more: string]: any }} TraceRecord
 *
 * @typedef {object} Activation a job from its release to its end; one period of a periodic loop; a callback that kept the
 *   thread. Times in ms.
 * @property {string} name
 * @property {number} id
 * @property {Row} row
 * @property {number} release
 * @property {number} deadline absolute; Infinity without one
 * @property {number | undefined} started
 * @property {number | undefined} ended
 * @property {'' | 'finish' | 'cancel' | 'fail'} outcome '' while it lives
 * @property {number} cost execution time
 * @property {number} preemptions
 * @property {boolean} missed
 * @property {Activation | null} before of the same job
 * @property {number | undefined} paused when it last began to wait
 * @property {{ from: number, state: 'waits' | 'depleted', on: string, holders: string[] } | null} wait not
 *   over yet
 *
 * @typedef {{ activation: Activation, from: number, to: number, how: string }} Run an interval of execution,
 *   and the type of the record that ended it
 * @typedef {{ activation: Activation, from: number, to: number, state: 'waits' | 'depleted', on: string,
 *   holders: string[] }} Wait what for, and who held it
 * @typedef {{ activation: Activation, from: number, to: number }} Stall execution without a preemption point
 * @typedef {{ type: 'alarm' | 'replenish', time: number, due: number, reservation: string }} Alarm
 * @typedef {{ from: number, to: number }} Round
 * @typedef {{ activation: Activation, time: number, type: 'overrun' | 'deplete', reservation: string }} Mark
 *   of a job that goes on
 *
 * @typedef {object} Row all lists are in the order in which things ended
 * @property {string} name
 * @property {Run[]} runs
 * @property {Wait[]} waits
 * @property {Activation[]} ended
 * @property {Set<Activation>} living
 * @property {number} jobs
 * @property {number} missed
 * @property {number} busy ms executed
 * @property {number} latest the largest lateness, ms
 * @property {number} longest ms from release to end
 * @property {number} ahead ms from end to deadline
 * @property {number} longestWait
 */

/** Names beyond so many share a row. */
const mostRows = 60

const ends = new Set(['finish', 'cancel', 'fail'])
/** The id of a callback that kept the thread. */
const NO_JOB = -1

/**
 * How a job, or what it waits for, is called.
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
 * The first index at which `key` is at least `least`.
 * @template T
 * @param {T[]} list by rising key
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

/** A schedule as it grows, record by record. */
export class Schedule {
  /** @type {Row[]} in order of appearance */
  rows = []
  /** @type {Run[]} of all rows; they do not overlap */
  runs = []
  /** @type {Round[]} in which the scheduler had the thread */
  rounds = []
  /** @type {Alarm[]} */
  alarms = []
  /** @type {Stall[]} */
  stalls = []
  /** @type {Mark[]} */
  marks = []
  /** @type {Activation[]} in the order in which their misses were noticed */
  misses = []
  /** Records so far. */
  length = 0
  /** Types of records so far. @type {Set<string>} */
  types = new Set()
  /** ms; Infinity while there is no record */
  begin = Infinity
  end = -Infinity
  /** The first begin, whatever has been forgotten since. */
  origin = Infinity

  #rowOf
  /** @type {Map<string, Row>} */
  #rows = new Map()
  /** @type {Map<any, Activation>} by the job's id */
  #living = new Map()
  /**
   * Those of this round, by the job's id: a late end is noticed as a miss only after it.
   * @type {Map<any, Activation>}
   */
  #ended = new Map()
  /** @type {{ activation: Activation, from: number } | null} */
  #running = null
  #firstOfRound = 0
  #limit
  /** Times at which a fifth of the limit had come. @type {number[]} */
  #fifths = []

  /**
   * @param {{ rowOf?: (job: any) => string, limit?: number }} [options] rowOf: which row a job belongs to, by
   *   default that of its name; limit: about so many records are remembered, by default all
   */
  constructor({ rowOf = nameOf, limit = Infinity } = {}) {
    this.#rowOf = rowOf
    this.#limit = limit
  }

  /** @param {TraceRecord} record */
  add({ type, time, job, ...more }) {
    // An event is released when it happened.
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

  /** Ends the run that is still open. Meant for records that stop in the middle of a round. */
  close() {
    this.#endRun(this.end, '')
  }

  /** Who executes, or goes on in the next round. */
  get running() {
    return this.#running?.activation ?? null
  }

  /** What a job that has not ended is doing. @param {{ id: number }} job */
  find({ id }) {
    return this.#living.get(id)
  }

  /** All activations of a row, the earliest first. @param {Row} row */
  activations({ ended, living }) {
    return [...ended, ...living].sort((a, b) => a.release - b.release || a.id - b.id)
  }

  /**
   * Who executed instead of a job: between its release and its deadline, or its end if that came first.
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

  /** Forgets what ended before a time. @param {number} time */
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
    // A job with a new release has begun a new period. To wait for that is no wait of the last one.
    known.wait = null
    this.#end(known, known.paused ?? time, 'finish')
    return this.#begin(job, known.row, known)
  }

  /** @param {any} job @param {string} type @param {number} time */
  #appear(job, type, time) {
    const activation = this.#begin(job, this.#rowNamed(this.#rowOf(job)), null)
    // It executed already when the records began.
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
    // One period back is enough.
    if (before !== null) before.before = null
    row.jobs++
    row.living.add(activation)
    this.#living.set(job.id, activation)
    return activation
  }

  /**
   * A callback kept the thread: nobody else executed meanwhile.
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
    // A job that was too short for the clock still shows.
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
    // A job that runs when a round ends goes on with the next one: when that one began is known only now.
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
   * Drops a run before this round, in which its job did not execute.
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
    // It may be noticed in the next period only.
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

/** The end of a period is learnt late: then others have ended meanwhile. @param {Activation[]} list */
function insertByEnd(list, activation) {
  let at = list.length
  while (at > 0 && list[at - 1].ended > activation.ended) at--
  if (at === list.length) list.push(activation)
  else list.splice(at, 0, activation)
}

/**
 * @typedef {{ name: string, row: Row, ms: number, isLater: boolean, unbroken: number }} Culprit executed for
 *   `ms`; isLater: although its own deadline was later; unbroken: the longest stretch, ms, without a
 *   preemption point
 * @typedef {{ from: number, to: number, own: number, others: Culprit[], away: number,
 *   waits: (Wait & { ms: number })[], ranOut: string }} Blame ms; away: in which the scheduler did not have
 *   the thread; ranOut: the reservation that was used up while the job went on
 */

/**
 * The schedule that a list of records tells of.
 * @param {Iterable<TraceRecord>} records in order
 * @param {{ rowOf?: (job: any) => string, limit?: number }} [options]
 */
export function scheduleOf(records, options) {
  const schedule = new Schedule(options)
  for (const record of records) schedule.add(record)
  schedule.close()
  return schedule
}
