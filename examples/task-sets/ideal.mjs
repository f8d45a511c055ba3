/**
 * Computes the exact schedule of one processor without overhead, as the reference for a scheduler.
 *
 * @typedef {import('./task-sets.mjs').Release} Release
 * @typedef {{ job: number, from: number, to: number }} Segment `job`: index into the list of releases
 */

// Equal keys are served in order of release, then of task index, without rotation. Ordering by release alone
// is first come, first served: a running job was released first, so no later job precedes it.
const keys = {
  fcfs: job => job.release,
  fp: job => job.period,
  edf: job => job.deadline
}

/**
 * @param {Release[]} releases sorted by release, then task index
 * @param {'fcfs' | 'fp' | 'edf'} policy fp = rate monotonic
 * @returns {{ finished: number[], misses: number, segments: Segment[] }} `finished` in the order of
 *   `releases`
 */
export function idealSchedule(releases, policy) {
  const key = keys[policy]
  if (!key) throw new TypeError(`policy must be fcfs, fp or edf, got ${policy}`)
  const left = releases.map(({ wcet }) => wcet)
  const finished = new Array(releases.length)
  /** @type {Segment[]} */
  const segments = []
  /** @type {number[]} */
  const ready = []
  let time = 0
  let next = 0
  while (next < releases.length || ready.length) {
    if (!ready.length) time = Math.max(time, releases[next].release)
    while (next < releases.length && releases[next].release <= time) ready.push(next++)
    // Indexes are sorted by release, then task, so the lower index precedes on equal keys.
    const job = ready.reduce((best, other) => precedes(other, best) ? other : best)
    const end = time + left[job]
    const until = next < releases.length ? Math.min(end, releases[next].release) : end
    if (until > time) execute(job, time, until)
    left[job] -= until - time
    time = until
    if (left[job] > 0) continue
    finished[job] = time
    ready.splice(ready.indexOf(job), 1)
  }
  const misses = releases.reduce((count, { deadline }, i) => count + Number(finished[i] > deadline), 0)
  return { finished, misses, segments }

  function precedes(a, b) {
    return (key(releases[a]) - key(releases[b]) || a - b) < 0
  }

  function execute(job, from, to) {
    const last = segments.at(-1)
    if (last?.job === job && last.to === from) last.to = to
    else segments.push({ job, from, to })
  }
}
