import { scheduleOf } from '../gantt.mjs'
import { policyNames } from './report.mjs'

/**
 * Converts the results of an experiment to panels of a Gantt chart.
 *
 * @typedef {import('./experiment.mjs').Result} Result
 * @typedef {import('../gantt.mjs').TraceRecord} TraceRecord
 */

/** Order of records with equal times: ends before starts. */
const ranks = { preempt: 0, finish: 0, miss: 1, round: 2, release: 3, start: 4, resume: 4 }

/**
 * Reconstructs the records that an observer of the scheduler would have received. Plain JavaScript has no
 * scheduler to observe.
 * @param {Pick<Result, 'releases' | 'outcomes' | 'segments' | 'rounds'>} result
 * @returns {TraceRecord[]}
 */
export function recordsOf({ releases, outcomes, segments, rounds }) {
  const jobs = releases.map(({ task, wcet, period, release, deadline }, id) =>
    ({ id, task, wcet, period, name: `task ${task}`, release, absoluteDeadline: deadline }))
  const byName = new Map(jobs.map(job => [`${job.task}@${job.release}`, job]))
  const begun = new Set()
  const executions = segments.flatMap(({ job: id, from, to }, i) => {
    const job = jobs[id]
    // The same job continues in the next segment: only a round has ended in between.
    const goesOn = segments[i + 1]?.job === id
    const wentOn = segments[i - 1]?.job === id
    const type = begun.has(job) ? 'resume' : 'start'
    begun.add(job)
    return [
      ...wentOn ? [] : [{ type, time: from, job }],
      ...goesOn ? [] : [{ type: 'preempt', time: to, job }]
    ]
  })
  const ended = new Set()
  const ends = outcomes.flatMap(({ task, release, finished, missed }) => {
    const job = byName.get(`${task}@${release}`)
    ended.add(`${job.id}@${finished}`)
    const finish = { type: 'finish', time: finished, job }
    return missed ? [finish, { type: 'miss', time: finished, job }] : [finish]
  })
  const known = new Set([...executions, ...ends].map(({ job }) => job))
  return [
    ...[...known].map(job => ({ type: 'release', time: job.release, job })),
    ...executions.filter(({ type, time, job }) => type !== 'preempt' || !ended.has(`${job.id}@${time}`)),
    ...ends,
    ...rounds.map(({ from, to }) => ({ type: 'round', time: to, job: null, start: from }))
  ].sort((a, b) => a.time - b.time || ranks[a.type] - ranks[b.type])
}

/**
 * Returns the schedules of one task set, with a row per task that has execution time, sorted by period.
 * @param {Result[]} results
 * @returns {import('../gantt.mjs').Panel[]}
 */
export function panelsOf(results) {
  return results.map(result => {
    const { set, policy, misses, jobs } = result
    const labels = labelsOf(set.tasks)
    const records = recordsOf(result).filter(({ job }) => job === null || job.wcet > 0)
    const schedule = scheduleOf(records, { rowOf: ({ task }) => labels[task] })
    const periodOf = new Map(set.tasks.map(([, period], task) => [labels[task], period]))
    return {
      schedule,
      title: policyNames[policy],
      note: `${misses} of ${jobs} jobs late`,
      warns: misses > 0,
      paint: `--${policy}`,
      origin: 0,
      order: (a, b) => periodOf.get(a.name) - periodOf.get(b.name)
    }
  })
}

/**
 * Returns the names of the rows. Tasks with equal parameters get different names.
 *
 * @param {[number, number][]} tasks
 */
function labelsOf(tasks) {
  const plain = tasks.map(([wcet, period]) => `${wcet} / ${period}`)
  const isUnique = label => plain.indexOf(label) === plain.lastIndexOf(label)
  return plain.map((label, task) => isUnique(label) ? label : `${label} #${task}`)
}
