import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { runSet } from './experiment.mjs'
import { processClockHost } from './process-clock.mjs'
import { policies, spread } from './task-sets.mjs'

/**
 * The common parts of the commands that run task sets in Node: options, the run itself, and the description
 * of the machine.
 *
 * @typedef {object} Options
 * @property {number | number[] | 'all'} sets number of sets, or their ids
 * @property {number} seconds
 * @property {readonly ('fcfs' | 'fp' | 'edf')[]} policies
 * @property {'cpu' | 'wall'} clock
 * @property {number | 'auto'} budget
 * @property {number} slice
 * @property {number} round
 * @property {number} minUtilization
 * @property {number} maxUtilization
 * @property {boolean} help
 *
 * @typedef {object} Drawing
 * @property {number} [schedule] id of the set whose schedule is printed
 * @property {number} span printed part of the schedule, ms
 * @property {boolean} json
 */

/** The text of the options for --help. */
export const optionsHelp = `
  --sets 10              so many of the 250 task sets, spread evenly over the utilizations; all;
                         or ids, separated by commas: 40,121 (one alone: 40,)
  --seconds 2            jobs released in this time are run, each until it has finished
  --policy all           fcfs (plain JavaScript), fp (rate monotonic), edf; several, separated by commas; all
  --clock cpu            wall time less what the system gave to other processes, idle waits skipped; or wall
  --budget auto          preemption points between two reads of the clock
  --slice 1, --round 5   ms, or Infinity
  --min-utilization 0    leave out the sets below
  --max-utilization Infinity   leave out the sets above`

/** Describes a text option for parseArgs. @param {string | undefined} value default value */
export const text = value => ({ type: /** @type {const} */ ('string'), default: value })
const flag = { type: /** @type {const} */ ('boolean'), default: false }

const measuring = {
  sets: text('10'),
  seconds: text('2'),
  policy: text('all'),
  clock: text('cpu'),
  budget: text('auto'),
  slice: text('1'),
  round: text('5'),
  'min-utilization': text('0'),
  'max-utilization': text('Infinity'),
  help: { ...flag, short: 'h' }
}

const drawing = { schedule: text(undefined), span: text('150'), json: flag }

/**
 * Parses the options of a measurement.
 * @param {string[]} args
 * @param {object} [more] further options of the command for parseArgs; their values are returned unchecked
 * @returns {Options & Record<string, any>}
 * @throws {TypeError | RangeError} if an option is invalid; the message names the option and its value
 */
export function parseOptions(args, more = {}) {
  const { values } = parseArgs({ args, options: { ...measuring, ...more } })
  return { ...checked(values), ...Object.fromEntries(Object.keys(more).map(name => [name, values[name]])) }
}

/**
 * Parses the options of a measurement that prints a schedule.
 * @param {string[]} args
 * @returns {Options & Drawing}
 * @throws {TypeError | RangeError} if an option is invalid; the message names the option and its value
 */
export function parseDrawingOptions(args) {
  const options = parseOptions(args, drawing)
  return {
    ...options,
    schedule: options.schedule === undefined ? undefined : wholeNumber('schedule', options.schedule),
    span: positive('span', options.span, 60_000)
  }
}

function checked(values) {
  return {
    sets: setsOption(values.sets),
    seconds: positive('seconds', values.seconds, 3600),
    policies: policiesOption(values.policy),
    clock: oneOf('clock', values.clock, ['cpu', 'wall']),
    budget: values.budget === 'auto' ? 'auto' : wholeNumber('budget', values.budget),
    slice: positive('slice', values.slice),
    round: positive('round', values.round),
    minUtilization: atLeast0('min-utilization', values['min-utilization']),
    maxUtilization: atLeast0('max-utilization', values['max-utilization']),
    help: values.help
  }
}

function setsOption(text) {
  if (text === 'all') return text
  if (!text.includes(',')) return wholeNumber('sets', text)
  return text.split(',').filter(part => part.trim()).map(part => wholeNumber('sets', part, 0))
}

function policiesOption(text) {
  if (text === 'all') return policies
  const named = text.split(',').map(name => oneOf('policy', name.trim(), [...policies]))
  return policies.filter(policy => named.includes(policy))
}

export function oneOf(name, value, values) {
  if (values.includes(value)) return value
  throw new TypeError(`--${name} must be ${values.join(' or ')}, got '${value}'`)
}

export function wholeNumber(name, text, least = 1) {
  const value = text.trim() === '' ? NaN : Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(`--${name} must be a whole number >= ${least}, got '${text}'`)
}

function positive(name, text, most = Infinity) {
  const value = Number(text)
  if (value > 0 && value <= most) return value
  const range = most < Infinity ? `> 0 and <= ${most}` : '> 0'
  throw new RangeError(`--${name} must be a number ${range}, got '${text}'`)
}

function atLeast0(name, text) {
  const value = text.trim() === '' ? NaN : Number(text)
  if (value >= 0) return value
  throw new RangeError(`--${name} must be a number >= 0, got '${text}'`)
}

/**
 * Returns the sets that the options select, sorted by utilization.
 * @param {import('./task-sets.mjs').TaskSet[]} all
 * @param {Options} options
 */
export function chooseSets(all, { sets, minUtilization, maxUtilization }) {
  const range = { from: minUtilization, to: maxUtilization }
  if (!Array.isArray(sets)) {
    const chosen = spread(all, sets === 'all' ? Infinity : sets, range)
    if (chosen.length) return chosen
    throw new RangeError(`no task set has a utilization from ${minUtilization} to ${maxUtilization}`)
  }
  const unknown = sets.filter(id => !all.some(set => set.id === id))
  if (unknown.length || !sets.length) throw new RangeError(`--sets names no task set: ${unknown.join(', ')}`)
  return all.filter(set => sets.includes(set.id))
}

/** Describes the runtime and the machine in one line. */
export function machine() {
  const processors = cpus()
  return `Node ${process.versions.node}, ${process.platform} ${process.arch}, ` +
    `${processors[0]?.model.trim() ?? 'unknown processor'}, ${processors.length} cores`
}

const clockNames = {
  cpu: 'wall time less what the system gave to other processes, idle waits skipped',
  wall: 'wall time'
}

/** Explanation of the overhead table's columns. */
export const overheadMeaning = `Overhead: scheduler time / job time, as the scheduler accounts for it.
Inflation: by how much rounds outlast the execution times of the jobs, all preemption points and clock reads
included; median.`

/** Describes the conditions of a measurement in one line. */
export function conditions({ seconds, clock, budget, slice, round }, sets) {
  return `${sets.length} task sets, ${seconds} s each after a warm-up, budget ${budget}, ` +
    `slice ${slice} ms, round ${round} ms; clock: ${clockNames[clock]}`
}

/**
 * Runs the sets, and shows the progress on a terminal.
 * @param {import('./task-sets.mjs').TaskSet[]} sets
 * @param {Options} options
 * @param {(set: import('./task-sets.mjs').TaskSet) => number} [watch] returns the part of a set's schedule to
 *   record, ms
 */
export async function measure(sets, { policies, seconds, budget, slice, round, clock }, watch = () => 0) {
  const total = sets.length * policies.length
  const hostOf = { cpu: processClockHost, wall: () => undefined }[clock]
  /** @type {import('./experiment.mjs').Result[]} */
  const results = []
  // Warm up, because code runs slowly at first. Otherwise the first set alone would pay for it.
  const warmUp = { seconds: Math.min(1, seconds) }
  for (const set of [sets[0], sets.at(-1)]) {
    for (const policy of policies) await runSet(set, { ...warmUp, policy, host: hostOf() })
  }
  for (const set of sets) {
    for (const policy of policies) {
      const utilization = set.utilization.toFixed(2)
      showProgress(`${results.length + 1} of ${total}: set ${set.id}, utilization ${utilization}, ${policy}`)
      const options = { policy, seconds, budget, slice, round, host: hostOf(), watch: watch(set) }
      results.push(await runSet(set, options))
    }
  }
  showProgress('')
  return results
}

function showProgress(line, stream = process.stderr) {
  if (stream.isTTY) stream.write(`\r\x1b[K${line.slice(0, (stream.columns ?? 80) - 1)}`)
}
