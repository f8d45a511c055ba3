/**
 * Describes a schedule in words: a summary, the life of a job, and the causes of a missed deadline.
 *
 * @typedef {import('./intervals.mjs').Schedule} Schedule
 * @typedef {import('./intervals.mjs').Activation} Activation
 * @typedef {import('./intervals.mjs').Blame} Blame
 */

const length = time => {
  const size = Math.abs(time)
  if (size > 0 && size < 0.1) return `${size.toPrecision(1)} ms`
  return `${size.toFixed(size < 1000 ? 1 : 0)} ms`
}

/**
 * Summarizes a schedule in a sentence.
 * @param {Schedule} schedule
 */
export function summary({ rows, begin, end }) {
  const sum = count => rows.reduce((total, row) => total + count(row), 0)
  const counted = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`
  if (!rows.length) return 'No schedule yet'
  return `${counted(rows.length, 'task')}, ${counted(sum(({ jobs }) => jobs), 'job')}, ` +
    `${counted(sum(({ missed }) => missed), 'missed deadline')} in ${length(end - begin)}`
}

/**
 * Describes the life of a job and, if it is late, the causes.
 * @param {Schedule} schedule
 * @param {Activation} activation
 * @param {number} [origin] time 0
 */
export function story(schedule, activation, origin = schedule.origin) {
  const { name, release, deadline, started, ended, outcome, cost, preemptions, missed } = activation
  const words = { finish: 'finished', cancel: 'was cancelled', fail: 'failed' }
  const due = deadline < Infinity ? `due ${length(deadline - release)} later` : 'no deadline'
  const begun = started === undefined
    ? ended === undefined ? 'has not started' : 'never started'
    : `started ${length(Math.max(0, started - release))} after its release`
  const done = ended === undefined ? 'goes on' : `${words[outcome]} at ${at(ended - origin)}`
  const lateness = ended === undefined || deadline === Infinity ? ''
    : ended > deadline ? `, ${length(ended - deadline)} late`
      : `, ${length(deadline - ended)} before its deadline`
  const hands = preemptions ? `, preempted ${preemptions === 1 ? 'once' : `${preemptions} times`}` : ''
  return `${name}: released at ${at(release - origin)}, ${due}; ${begun}, ${done}${lateness}; ` +
    `executed for ${length(cost)}${hands}.${missed ? ` ${accusation(schedule.blame(activation))}` : ''}`
}

const at = time => `${time < 0 ? '−' : ''}${length(time)}`

/**
 * Minimum length of a reported interval without a preemption point, ms. Shorter ones may be one clock tick.
 */
const rude = 5

/**
 * Describes the jobs that executed instead of a late job.
 * @param {Blame} blame
 */
export function accusation({ from, to, own, others, away, waits, ranOut }) {
  const parts = others.slice(0, 3).map(({ name, ms, isLater, unbroken }) => {
    const why = [
      ...isLater ? ['due later'] : [],
      ...unbroken >= rude ? [`${length(unbroken)} without a preemption point`] : []
    ]
    return `${name} ran for ${length(ms)}${why.length ? ` (${why.join(', ')})` : ''}`
  })
  const rest = others.slice(3)
  if (rest.length) {
    parts.push(`${rest.length} more ran for ${length(rest.reduce((sum, { ms }) => sum + ms, 0))}`)
  }
  if (own >= 0.05) parts.push(`the job itself ran for ${length(own)}`)
  if (away >= 0.05) parts.push(`the page had the thread for ${length(away)}, or nobody`)
  for (const { ms, on, state, holders } of waits) {
    const what = state === 'depleted' ? `had nothing left of its ${on || 'reservation'}`
      : `waited for ${on || 'something outside'}`
    const held = holders.length ? `, held by ${holders.join(', ')}` : ''
    parts.push(`the job ${what} for ${length(ms)}${held}`)
  }
  if (ranOut) parts.push(`its ${ranOut} ran out`)
  return `In the ${length(to - from)} before its deadline: ${parts.length ? parts.join('; ') : 'nobody ran'}.`
}
