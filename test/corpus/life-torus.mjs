import { integers } from './inputs.mjs'

function torusLife(cells, width, generations) {
  const height = cells.length / width;
  let now = Uint8Array.from(cells);
  let next = new Uint8Array(cells.length);
  while (generations--) {
    for (let y = 0; y < height; y++) {
      const above = (y + height - 1) % height * width;
      const below = (y + 1) % height * width;
      const here = y * width;
      for (let x = 0; x < width; x++) {
        const left = (x || width) - 1;
        const right = x + 1 === width ? 0 : x + 1;
        const sum = now[above + left] + now[above + x] + now[above + right] + now[here + left] +
          now[here + right] + now[below + left] + now[below + x] + now[below + right];
        next[here + x] = sum === 3 || sum === 2 && now[here + x] ? 1 : 0;
      }
    }
    [now, next] = [next, now];
  }
  return now;
}

export default {
  name: 'game of life, on a torus',
  kind: 'loop',
  fn: torusLife,
  inputs: size => [integers(size * size, 2), size, 10],
  sizes: [1, 3, 12],
  benchSize: 200
}
