function fib(n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2)
}

export default {
  name: 'fib',
  kind: 'recursive',
  fn: fib,
  inputs: size => [size],
  sizes: [0, 1, 9, 15],
  benchSize: 25
}
