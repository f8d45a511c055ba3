import { seededRandom } from './support.mjs'

/**
 * Generates task sets as RT.js did (section IV-C): 15 tasks, utilizations 0.05, 0.10 ... 1 in turn, periods
 * from 15 to 5000 ms with uniform logarithms, execution times rounded to whole ms.
 *
 * Stafford's randfixedsum draws uniformly from all ways to divide a sum into shares of at most 1. If the sum
 * is at most 1, no share can exceed 1, so exponential variates divided by their sum have the same
 * distribution.
 *
 * @param {number} count
 * @param {{ tasks?: number, seed?: number, from?: number }} [options] `from`: the first id
 * @returns {import('../examples/task-sets/task-sets.mjs').TaskSet[]}
 */
export function generateTaskSets(count, { tasks = 15, seed = 1, from = 10_000 } = {}) {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, i) => {
    const shares = Array.from({ length: tasks }, () => -Math.log(1 - random()))
    const scale = (1 + i % 20) / 20 / shares.reduce((sum, share) => sum + share)
    const parameters = shares.map(share => {
      const period = Math.round(15 * (5000 / 15) ** random())
      return /** @type {[number, number]} */ ([Math.round(share * scale * period), period])
    })
    const utilization = parameters.reduce((sum, [wcet, period]) => sum + wcet / period, 0)
    return { id: from + i, utilization, tasks: parameters }
  })
}
