function hanoi(n, from, to, via, moves) {
  if (n === 0) return moves;
  hanoi(n - 1, from, via, to, moves);
  moves.push(from + to);
  return hanoi(n - 1, via, to, from, moves);
}

export default {
  name: 'towers of Hanoi',
  kind: 'recursive',
  fn: hanoi,
  inputs: size => [size, 'A', 'C', 'B', []],
  sizes: [0, 1, 3, 7],
  benchSize: 15
}
