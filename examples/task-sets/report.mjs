import { binLabel, binOf } from './task-sets.mjs'

/**
 * Reports the results of an experiment: figures per utilization bin, and schedules as text.
 *
 * @typedef {import('./experiment.mjs').Result} Result
 * @typedef {import('./experiment.mjs').PolicyName} PolicyName
 * @typedef {{ missRatio: number, deviation: number, ideal: number, beyond: number,
 *   overhead: null | { median: number, worst: number, mean: number, deviation: number },
 *   inflation: null | number }} Figures the ratios are means over the sets with their standard deviation; the
 *   inflation is a median
 * @typedef {{ label: string, bin: number | null, sets: number, jobs: number,
 *   figures: Partial<Record<PolicyName, Figures>> }} Row `bin`: null in the row for all sets
 */

/** The display names of the policies. */
export const policyNames = { fcfs: 'plain JavaScript', fp: 'fixed priority', edf: 'earliest deadline' }

/**
 * @param {Result[]} results
 * @returns {Row[]} a row per bin with results, sorted by utilization, and a last row for all sets
 */
export function summarize(results) {
  const bin = ({ set }) => binOf(set.utilization)
  const bins = [...new Set(results.map(bin))].sort((a, b) => a - b)
  const rows = bins.map(one => row(binLabel(one), one, results.filter(result => bin(result) === one)))
  return [...rows, row('all', null, results)]
}

function row(label, bin, results) {
  const ofPolicy = policy => results.filter(result => result.policy === policy)
  const policies = [...new Set(results.map(({ policy }) => policy))]
  const most = select => Math.max(0, ...policies.map(policy => select(ofPolicy(policy))))
  return {
    label,
    bin,
    sets: most(of => of.length),
    jobs: most(of => sum(of.map(({ jobs }) => jobs))),
    figures: Object.fromEntries(policies.map(policy => [policy, figures(ofPolicy(policy))]))
  }
}

function figures(results) {
  const overheads = results.map(({ overhead }) => overhead).filter(overhead => overhead !== null)
  const missRatios = results.map(({ missRatio }) => missRatio)
  const inflations = results.map(({ inflation }) => inflation).filter(inflation => inflation !== null)
  return {
    missRatio: mean(missRatios),
    deviation: deviation(missRatios),
    ideal: mean(results.map(({ idealMissRatio }) => idealMissRatio)),
    beyond: sum(results.map(({ beyond }) => beyond)),
    overhead: overheads.length ? {
      median: median(overheads), worst: Math.max(...overheads), mean: mean(overheads), deviation: deviation(overheads)
    } : null,
    inflation: inflations.length ? median(inflations) : null
  }
}

const sum = values => values.reduce((total, value) => total + value, 0)
const mean = values => sum(values) / (values.length || 1)

function deviation(values) {
  const average = mean(values)
  return Math.sqrt(mean(values.map(value => (value - average) ** 2)))
}

/** @param {number[]} values a non-empty list */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Formats a ratio as a percentage. Small values stay distinguishable from 0. */
export function percent(ratio) {
  const value = ratio * 100
  if (value === 0) return '0'
  return value >= 10 ? value.toFixed(1) : value >= 0.1 ? value.toFixed(2) : value.toPrecision(1)
}

/**
 * Returns figure 5 as a Markdown table: measured and ideal miss ratios, and the misses beyond the ideal ones.
 * @param {Row[]} rows
 * @param {readonly PolicyName[]} policies
 */
export function missTable(rows, policies) {
  const scheduled = policies.filter(policy => policy !== 'fcfs')
  return markdown(
    ['U', 'sets', 'jobs', ...policies.map(policy => `${policy} misses % (ideal)`),
      ...scheduled.map(policy => `${policy} beyond`)],
    rows.map(({ label, sets, jobs, figures }) => [label, sets, jobs,
      ...policies.map(policy => each(figures[policy], ({ missRatio, ideal }) =>
        `${percent(missRatio)} (${percent(ideal)})`)),
      ...scheduled.map(policy => each(figures[policy], ({ beyond }) => beyond))])
  )
}

/**
 * Returns figure 6 as a Markdown table: scheduler time / job time, and the inflation of rounds over their
 * work.
 * @param {Row[]} rows
 * @param {readonly PolicyName[]} policies
 */
export function overheadTable(rows, policies) {
  const scheduled = policies.filter(policy => policy !== 'fcfs')
  return markdown(
    ['U', 'sets', ...scheduled.flatMap(policy => [`${policy} overhead %, median`, 'worst set', 'inflation'])],
    rows.map(({ label, sets, figures }) => [label, sets, ...scheduled.flatMap(policy => [
      each(figures[policy]?.overhead, of => percent(of.median)),
      each(figures[policy]?.overhead, of => percent(of.worst)),
      each(figures[policy], of => percent(of.inflation))
    ])])
  )
}

const each = (figures, text) => figures ? text(figures) : ''

function markdown(head, body) {
  const rows = [head, ...body].map(cells => cells.map(String))
  const widths = head.map((_, i) => Math.max(...rows.map(cells => cells[i].length)))
  const line = cells => `| ${cells.map((cell, i) => cell.padStart(widths[i])).join(' | ')} |`
  const rule = `|${widths.map(width => `${'-'.repeat(width + 1)}:`).join('|')}|`
  return [line(rows[0]), rule, ...rows.slice(1).map(line)].join('\n')
}

/** Maximum pause of the machine that is tolerated, ms. A longer pause can make any job late. */
const disturbing = 5

/** Returns the runs that the machine did not disturb. @param {Result[]} results */
export function undisturbed(results) {
  return results.filter(({ pause }) => pause <= disturbing)
}

/**
 * Reports how many runs the machine disturbed, and the misses of the other runs.
 * @param {Result[]} results
 */
export function disturbances(results) {
  const longest = Math.max(0, ...results.map(({ pause }) => pause))
  const others = undisturbed(results)
  const beyond = sum(others.filter(({ policy }) => policy !== 'fcfs').map(result => result.beyond))
  return `In ${results.length - others.length} of ${results.length} runs the machine kept a job from ` +
    `working for more than ${disturbing} ms, unnoticed by the clock\n` +
    `(longest pause: ${longest.toFixed(1)} ms). Beyond the ideal in the other runs: ${beyond}.`
}

/** The legend of `drawSchedule`. */
export const scheduleLegend = '# executes   . waits   % executes past its deadline   ! waits past it'

/**
 * Draws the schedule of a run as text, with a row per task that has execution time, sorted by period, and a
 * column per `span / columns` ms.
 * @param {Result} result result of a run whose schedule was recorded for `span` ms
 * @param {{ span?: number, columns?: number }} [options]
 */
export function drawSchedule({ set, releases, segments, outcomes }, { span = 150, columns = 100 } = {}) {
  const width = span / columns
  const shares = set.tasks.map(() => new Float64Array(columns))
  for (const { job, from, to } of segments) share(shares[releases[job].task], from / width, to / width)
  const byPeriod = set.tasks.map((_, task) => task).sort((a, b) => set.tasks[a][1] - set.tasks[b][1])
  const rows = byPeriod.map(task => {
    const [wcet, period] = set.tasks[task]
    const jobs = outcomes.filter(job => job.task === task && job.release < span)
    const cells = Array.from({ length: columns }, (_, i) => {
      const [from, to] = [i * width, (i + 1) * width]
      const executes = shares[task][i] >= 0.25
      const pending = jobs.filter(({ release, finished }) => release < to && finished > from)
      const late = pending.some(({ deadline }) => deadline <= from)
      if (executes) return late ? '%' : '#'
      if (late) return '!'
      return pending.length ? '.' : ' '
    })
    return wcet === 0 ? '' : `${`${wcet}/${period}`.padStart(9)} |${cells.join('')}|`
  })
  return [ruler(span, columns), ...rows.filter(row => row)].join('\n')
}

function share(cells, from, to) {
  for (let i = Math.floor(from); i < Math.min(to, cells.length); i++) {
    cells[i] += Math.min(to, i + 1) - Math.max(from, i)
  }
}

function ruler(span, columns) {
  const cell = Math.ceil(columns / 5)
  const marks = [0, 1, 2, 3, 4].map(i => `${Math.round(i * cell * span / columns)}`.padEnd(cell))
  return `wcet/T ms |${marks.join('').slice(0, columns)}| ${span} ms`
}
