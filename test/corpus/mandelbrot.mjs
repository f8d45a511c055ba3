function mandelbrotRow(width, y, limit) {
  const row = new Uint16Array(width)
  for (let column = 0; column < width; column++) {
    const x = column / width * 3.5 - 2.5
    let a = 0, b = 0, n = 0
    while (a * a + b * b <= 4 && n < limit) {
      [a, b] = [a * a - b * b + x, 2 * a * b + y]
      n++
    }
    row[column] = n
  }
  return row
}

export default {
  name: 'Mandelbrot row',
  kind: 'loop',
  fn: mandelbrotRow,
  inputs: size => [size, 0.1, 1000],
  sizes: [0, 1, 10],
  benchSize: 2000
}
