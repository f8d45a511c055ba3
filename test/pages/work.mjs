/** Computes for a number of rounds. @param {number} rounds */
export function work(rounds) {
  let sum = 0
  for (let i = 0; i < rounds; i++) sum += Math.sqrt(i % 1000)
  return sum
}
