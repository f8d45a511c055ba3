/**
 * The task sets of the RT.js evaluation (Dietrich et al., RTSS 2019, section IV-C): 15 periodic tasks each,
 * with deadline = period, all released at 0.
 *
 * @typedef {[wcet: number, period: number]} TaskParameters ms
 * @typedef {{ misses: number, finishSum: number, maxLateness: number }} IdealSummary
 * @typedef {{ id: number, utilization: number, tasks: TaskParameters[],
 *   ideal?: { jobs: number, fcfs: IdealSummary, fp: IdealSummary, edf: IdealSummary } }} TaskSet
 * @typedef {{ task: number, wcet: number, period: number, release: number, deadline: number }} Release
 *   a planned job; times in ms from the start of the run, `deadline` is absolute
 */

/** The compared schedulers: plain JavaScript, rate monotonic, earliest deadline first. */
export const policies = /** @type {const} */ (['fcfs', 'fp', 'edf'])

/** @returns {Promise<TaskSet[]>} sorted by utilization */
export async function loadTaskSets(url = new URL('./tasksets.json', import.meta.url)) {
  const text = url.protocol === 'file:' ? await readText(url) : await fetchText(url)
  const content = JSON.parse(text)
  /** @type {TaskSet[]} */
  const sets = Array.isArray(content) ? content : content.sets
  return sets.sort((a, b) => a.utilization - b.utilization)
}

// Node's fetch does not support file: URLs.
async function readText(url) {
  const { readFile } = await import('node:fs/promises')
  return readFile(url, 'utf8')
}

async function fetchText(url) {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url.pathname} could not be loaded: ${response.status}`)
  return response.text()
}

/**
 * Selects `count` of the sets whose utilization lies within [from, to], evenly spread.
 * @param {TaskSet[]} sets sorted by utilization
 */
export function spread(sets, count, { from = 0, to = Infinity } = {}) {
  const eligible = sets.filter(({ utilization }) => utilization >= from && utilization <= to)
  if (count >= eligible.length) return eligible
  return Array.from({ length: count }, (_, i) => eligible[Math.floor((i + 0.5) * eligible.length / count)])
}

/**
 * Returns all jobs of a set that are released within the first `seconds`, sorted by release, then task index.
 * @param {TaskSet} set
 * @returns {Release[]}
 */
export function releasesOf({ tasks }, seconds) {
  const end = seconds * 1000
  /** @type {Release[]} */
  const releases = []
  tasks.forEach(([wcet, period], task) => {
    for (let release = 0; release < end; release += period) {
      releases.push({ task, wcet, period, release, deadline: release + period })
    }
  })
  return releases.sort((a, b) => a.release - b.release || a.task - b.task)
}

/** Returns the bin of a utilization in figures 5 and 6: 0 for [0, 0.1) to 9 for [0.9, 1], 10 for > 1. */
export const binOf = utilization => utilization > 1 ? 10 : Math.min(9, Math.floor(utilization * 10))

/** Returns the name of a bin for tables and charts. */
export const binLabel = bin => bin === 10 ? '> 1' : `${(bin / 10).toFixed(1)}-${((bin + 1) / 10).toFixed(1)}`
