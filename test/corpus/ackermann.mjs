function ackermann(m, n) {
  if (m === 0) return n + 1
  if (n === 0) return ackermann(m - 1, 1)
  return ackermann(m - 1, ackermann(m, n - 1))
}

export default {
  name: 'Ackermann',
  kind: 'recursive',
  fn: ackermann,
  inputs: size => [2, size],
  sizes: [0, 1, 4, 20],
  benchSize: 400
}
