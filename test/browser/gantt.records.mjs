import { seeded } from '../support/seeded.mjs'

/**
 * The first `count` records of a simulated busy scheduler: rounds of 5 ms, and jobs that preempt each other,
 * wait, and sometimes miss their deadlines.
 *
 * @param {number} count
 * @param {{ tasks?: number, seed?: number }} [options]
 */
export function busyRecords(count, { tasks = 12, seed = 1 } = {}) {
  const random = seeded(seed)
  const records = []
  const jobs = Array(tasks).fill(null)
  let time = 0
  let ids = 0
  const emit = (type, job, more) => records.push({ type, time, job, ...more })
  const pass = ms => { time = Math.round((time + ms) * 1000) / 1000 }
  while (records.length < count) {
    const start = time
    for (let run = 0; run < 6 && records.length < count; run++) {
      const task = random.integer(0, tasks - 1)
      const job = jobs[task] ??= {
        id: ++ids, name: `task ${task}`, left: 4,
        release: time, absoluteDeadline: time + random.integer(5, 60)
      }
      if (job.left === 4) emit('release', job)
      emit(job.left-- === 4 ? 'start' : 'resume', job)
      pass(random.real(0.1, 1.2))
      if (time > job.absoluteDeadline && !job.missed) {
        job.missed = true
        emit('miss', job)
      }
      if (job.left === 0) {
        emit('finish', job)
        jobs[task] = null
      } else if (random.chance(0.3)) {
        emit('block', job, { on: { name: 'mutex' } })
        emit('wake', job)
      } else {
        emit('preempt', job)
      }
    }
    emit('round', null, { start })
    pass(random.real(0.1, 2))
  }
  return records.slice(0, count)
}
