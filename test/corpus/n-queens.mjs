function queens(n, row = 0, columns = 0, rising = 0, falling = 0) {
  if (row === n) return 1
  let solutions = 0
  let free = ~(columns | rising | falling) & (1 << n) - 1
  while (free) {
    const place = free & -free
    free ^= place
    solutions += queens(n, row + 1, columns | place, (rising | place) << 1, (falling | place) >> 1)
  }
  return solutions
}

export default {
  name: 'N-queens',
  kind: 'recursive',
  fn: queens,
  inputs: size => [size],
  sizes: [1, 2, 4, 6],
  benchSize: 10
}
