/** Functions to start with: ordinary code that knows nothing of a scheduler. */

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

function random(n) {
  let seed = 1
  return Float64Array.from({ length: n * n }, () => (seed = seed * 16807 % 2147483647) / 2147483647)
}

function product(n) {
  const a = random(n)
  const b = random(n)
  const c = new Float64Array(n * n)
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) {
      let sum = 0
      for (let k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j]
      c[i * n + j] = sum
    }
  return c
}

function mandelbrot(width, height, limit) {
  const image = []
  for (let row = 0; row < height; row++) {
    const y = 2 * row / height - 1
    let line = ''
    for (let column = 0; column < width; column++) {
      const x = 3 * column / width - 2
      let a = 0, b = 0, n = 0
      while (a * a + b * b <= 4 && n++ < limit) [a, b] = [a * a - b * b + x, 2 * a * b + y]
      line += n < limit ? ' .:-=+*%@'[n % 9] : '#'
    }
    image.push(line)
  }
  return image
}

function fib(n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2)
}

function parseString(state) {
  let text = ''
  for (state.at++; state.text[state.at] !== '"'; state.at++) {
    if (state.at >= state.text.length) throw new SyntaxError('the string does not end')
    text += state.text[state.at]
  }
  state.at++
  return text
}

function parseNumber(state) {
  const from = state.at
  while (/[-+.\deE]/.test(state.text[state.at])) state.at++
  if (state.at === from) throw new SyntaxError(`no value at ${from}`)
  return Number(state.text.slice(from, state.at))
}

function parseArray(state) {
  const array = []
  do {
    state.at++
    array.push(parseValue(state))
  } while (state.text[state.at] === ',')
  state.at++
  return array
}

function parseObject(state) {
  const object = {}
  do {
    state.at++
    const key = parseString(state)
    state.at++
    object[key] = parseValue(state)
  } while (state.text[state.at] === ',')
  state.at++
  return object
}

function parseValue(state) {
  switch (state.text[state.at]) {
    case '{': return parseObject(state)
    case '[': return parseArray(state)
    case '"': return parseString(state)
    default: return parseNumber(state)
  }
}

function parse(text) {
  return parseValue({ text, at: 0 })
}

async function weigh(n, rounds) {
  let sum = 0
  for (let i = 0; i < rounds; i++) sum += Math.sqrt(n * i)
  await new Promise(resolve => setTimeout(resolve, 5))
  return sum
}

async function heaviest(count, rounds) {
  let best = { weight: -1 }
  for (let n = 0; n < count; n++) {
    const weight = await weigh(n % 7, rounds)
    if (weight > best.weight) best = { n, weight }
  }
  return best
}

function longest(most) {
  let best = { start: 1, steps: 0 }
  for (let start = 1; start <= most; start++) {
    let n = start
    let steps = 0
    do {
      n = n % 2 ? 3 * n + 1 : n / 2
      steps++
    } while (n > 1)
    if (steps > best.steps) best = { start, steps }
  }
  return best
}

function forever() {
  let n = 0
  while (true) n++
}

const records = 'JSON.stringify(Array(80000).fill({ id: 7, tags: ["a", "b"], at: [-1, 1.5e3] }))'

/**
 * @typedef {object} Ready
 * @property {string} id the id in the address of the page
 * @property {string} title
 * @property {string} text source of the functions; the last one is run
 * @property {string} args source of the arguments
 * @property {boolean} [isEndless] whether a plain call would freeze the page forever
 */

/** @type {Ready[]} */
export const ready = [
  { id: 'mandelbrot', title: 'Mandelbrot: loops of a while', fns: [mandelbrot], args: '600, 300, 1000' },
  { id: 'product', title: 'Matrix product: loops in loops', fns: [random, product], args: '600' },
  { id: 'collatz', title: 'Collatz: longest way down to 1', fns: [longest], args: '250000' },
  { id: 'queens', title: 'N-queens: calls itself in a loop', fns: [queens], args: '13' },
  { id: 'fib', title: 'Fibonacci: nothing but calls', fns: [fib], args: '35' },
  {
    id: 'json',
    title: 'JSON parser: functions that call each other',
    fns: [parseString, parseNumber, parseArray, parseObject, parseValue, parse],
    args: records
  },
  { id: 'async', title: 'Async: computes and awaits', fns: [weigh, heaviest], args: '8, 1e7' },
  { id: 'forever', title: 'A loop that never ends', fns: [forever], args: '', isEndless: true }
].map(({ fns, ...rest }) => ({ ...rest, text: fns.map(String).join('\n\n') }))
