/**
 * Schedules as text: one line for each record of a scheduler, a Gantt chart, and an assertion that shows two
 * schedules side by side.
 */

/** @typedef {{ type: string, time: number, job?: any, [extra: string]: unknown }} TraceRecord */

/**
 * Collects the records that a scheduler sends to its observers.
 *
 * @param {{ observe(fn: (record: any) => void): () => void }} scheduler
 * @param {{ only?: string[], except?: string[] }} [options] the types to keep or to leave out
 */
export function record(scheduler, { only, except = [] } = {}) {
  /** @type {TraceRecord[]} */
  let records = []
  const stop = scheduler.observe(record => {
    if (only ? only.includes(record.type) : !except.includes(record.type)) records.push(record)
  })
  return {
    get records() {
      return records
    },

    /** Returns the text of the records since the last take(). */
    take() {
      const text = format(records)
      records = []
      return text
    },

    text: () => format(records),
    /** @param {GanttOptions} [options] */
    gantt: options => gantt(records, options),
    stop
  }
}

/** @typedef {ReturnType<typeof record>} Recording */

/** Formats one line per record: time, type, job, extra. @param {readonly TraceRecord[]} records */
export function format(records) {
  return records.map(line).join('\n')
}

/** @param {TraceRecord} record */
function line({ type, time, job, ...extra }) {
  const fields = Object.entries(extra).filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${show(value)}`)
  return [number(time), type, ...(job ? [nameOf(job)] : []), ...fields].join(' ')
}

/** @param {any} job */
export function nameOf(job) {
  return typeof job === 'object' && job !== null ? job.name || `#${job.id}` : String(job)
}

/** @param {number} value */
const number = value => String(Math.round(value * 1e6) / 1e6)

/** @param {unknown} value */
function show(value) {
  if (typeof value === 'number') return number(value)
  if (value instanceof Error) return value.name
  if (typeof value !== 'object' || value === null) return String(value)
  const { name, id } = /** @type {{ name?: string, id?: unknown }} */ (value)
  return name || (id === undefined ? value.constructor?.name ?? 'Object' : `#${id}`)
}

// --- the intervals in which jobs are in a state

const RUNNING = '#'
const READY = '.'
const WAITING = '~'
const DEPLETED = ':'
const LEGEND = '# runs   . ready   ~ waits   : depleted   ! misses its deadline'

/** @type {Record<string, string>} */
const STATE_AFTER = {
  release: READY,
  preempt: READY,
  wake: READY,
  replenish: READY,
  start: RUNNING,
  resume: RUNNING,
  block: WAITING,
  deplete: DEPLETED,
  finish: '',
  cancel: '',
  fail: ''
}

/** @typedef {{ job: any, state: string, start: number, end: number }} Span */

/** @param {readonly TraceRecord[]} records @returns {Span[]} */
function spans(records) {
  /** @type {Map<any, Span>} */
  const open = new Map()
  /** @type {Span[]} */
  const closed = []
  for (const { type, time, job, depleted } of records) {
    const state = STATE_AFTER[type]
    if (!job || state === undefined || depleted !== undefined) continue // a depleted job can continue
    const span = open.get(job)
    if (span) closed.push({ ...span, end: time })
    if (state) open.set(job, { job, state, start: time, end: time })
    else open.delete(job)
  }
  const last = records.length ? records[records.length - 1].time : 0
  for (const span of open.values()) closed.push({ ...span, end: last })
  return closed
}

/**
 * The intervals in which each job ran. Adjacent intervals are joined, and empty intervals are left out.
 *
 * @param {readonly TraceRecord[]} records
 * @returns {Map<any, [start: number, end: number][]>}
 */
export function executions(records) {
  /** @type {Map<any, [number, number][]>} */
  const byJob = new Map()
  for (const { job, state, start, end } of spans(records)) {
    if (!byJob.has(job)) byJob.set(job, [])
    const list = /** @type {[number, number][]} */ (byJob.get(job))
    if (state !== RUNNING || start === end) continue
    const last = list[list.length - 1]
    if (last && last[1] === start) last[1] = end
    else list.push([start, end])
  }
  return byJob
}

/**
 * @typedef {object} GanttOptions
 * @property {number} [scale] ms per column; default: the finest scale that fits the width
 * @property {number} [width] the number of columns
 * @property {number} [from]
 * @property {number} [to]
 */

/**
 * Draws a row per job in order of appearance. If several states fall into a column, a miss is shown first,
 * then running, depleted, waiting, ready.
 *
 * @param {readonly TraceRecord[]} records
 * @param {GanttOptions} [options]
 */
export function gantt(records, { scale, width = 80, from, to } = {}) {
  const times = records.map(({ time }) => time)
  const start = from ?? (times.length ? Math.min(...times) : 0)
  const end = Math.max(to ?? (times.length ? Math.max(...times) : 0), start)
  const step = scale ?? niceScale((end - start) / width)
  const columns = Math.max(1, Math.ceil((end - start) / step))
  /** @type {Map<any, string[]>} */
  const rows = new Map()
  for (const { job } of records) if (job && !rows.has(job)) rows.set(job, Array(columns).fill(' '))

  const rank = ' .~:#!'
  const put = (/** @type {any} */ job, /** @type {number} */ column, /** @type {string} */ mark) => {
    const row = /** @type {string[]} */ (rows.get(job))
    if (column >= 0 && column < columns && rank.indexOf(mark) > rank.indexOf(row[column])) row[column] = mark
  }
  for (const { job, state, start: begun, end: ended } of spans(records)) {
    if (begun === ended) continue
    const last = Math.ceil((ended - start) / step)
    for (let column = Math.floor((begun - start) / step); column < last; column++) put(job, column, state)
  }
  for (const { type, time, job } of records) {
    if (type === 'miss' && job) put(job, Math.min(columns - 1, Math.floor((time - start) / step)), '!')
  }

  const label = Math.max(4, ...[...rows.keys()].map(job => nameOf(job).length))
  return [
    `${'ms'.padStart(label)} ${ruler(start, step, columns)}`,
    ...[...rows].map(([job, row]) => `${nameOf(job).padStart(label)} |${row.join('')}|`),
    `${''.padStart(label)} ${LEGEND}   one column = ${number(step)} ms`
  ].join('\n')
}

/** The next of 1, 2, 5, 10, ... @param {number} least */
function niceScale(least) {
  if (least <= 1) return 1
  const ten = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map(digit => digit * ten).find(scale => scale >= least) ?? 10 * ten
}

/** @param {number} start @param {number} step @param {number} columns */
function ruler(start, step, columns) {
  let text = ''
  for (let column = 0; column <= columns; column += 10) {
    text += `+${number(start + column * step)}`.padEnd(10).slice(0, 10)
  }
  return text.trimEnd()
}

// --- comparing

/** @param {Recording | readonly TraceRecord[] | string} trace @returns {string[]} */
function lines(trace) {
  const text = typeof trace === 'string' ? trace : format('records' in trace ? trace.records : trace)
  return text.split('\n').flatMap(line => {
    const [time, ...words] = line.trim().split(/\s+/)
    return words.join(' ').split(', ').filter(Boolean).map(event => `${time} ${event}`)
  })
}

/**
 * The index of the first line that differs between two traces, or -1.
 *
 * @param {Recording | readonly TraceRecord[] | string} left
 * @param {Recording | readonly TraceRecord[] | string} right
 */
export function firstDifference(left, right) {
  const a = lines(left)
  const b = lines(right)
  for (let i = 0; i < Math.max(a.length, b.length); i++) if (a[i] !== b[i]) return i
  return -1
}

/**
 * Prints two schedules in two columns; `>` marks the lines that differ.
 *
 * @param {Recording | readonly TraceRecord[] | string} left
 * @param {Recording | readonly TraceRecord[] | string} right
 * @param {[left: string, right: string]} [titles]
 */
export function sideBySide(left, right, titles = ['actual', 'expected']) {
  const a = lines(left)
  const b = lines(right)
  const width = Math.min(60, Math.max(titles[0].length, ...a.map(line => line.length)))
  const rows = [`  ${titles[0].padEnd(width)} | ${titles[1]}`]
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    rows.push(`${a[i] === b[i] ? ' ' : '>'} ${(a[i] ?? '').padEnd(width)} | ${b[i] ?? ''}`)
  }
  return rows.join('\n')
}

/**
 * Throws an error with both schedules side by side if the traces differ in a record. Records of the same time
 * can share a line: `5 finish a, start b`. Repeated spaces and empty lines are ignored, so that an expected
 * trace can be indented and aligned.
 *
 * @param {Recording | readonly TraceRecord[] | string} actual
 * @param {Recording | readonly TraceRecord[] | string} expected
 * @param {string} [message]
 */
export function assertTrace(actual, expected, message = 'the schedules differ') {
  const at = firstDifference(actual, expected)
  if (at < 0) return
  throw new TraceError(`${message}, first in record ${at + 1}\n${sideBySide(actual, expected)}`)
}

export class TraceError extends Error {
  name = 'TraceError'
}
