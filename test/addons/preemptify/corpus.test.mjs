import { createCipheriv, createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { corpus } from '../../corpus/index.mjs'
import { bytes, program } from '../../corpus/inputs.mjs'
import { seeded } from '../../support/seeded.mjs'

const named = name => corpus.find(entry => entry.name === name)
const hex = array => Buffer.from(array).toString('hex')
const fromHex = text => Uint8Array.from(Buffer.from(text, 'hex'))
const ascii = text => new TextEncoder().encode(text)
const close = (actual, expected, text) =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${text ?? ''} ${actual} is not about ${expected}`)

const answers = suite('known answers')

answers('fib returns known Fibonacci numbers', () => {
  const { fn } = named('fib')
  assert.equal([0, 1, 2, 3, 10, 20].map(n => fn(n)), [0, 1, 1, 2, 55, 6765])
})

answers('the matrix product of two known matrices is right', () => {
  const { fn } = named('matrix product')
  assert.equal([...fn([1, 2, 3, 4], [5, 6, 7, 8], 2)], [19, 22, 43, 50])
})

for (const [name, sorted] of [
  ['quicksort', (fn, list) => fn(list, 0, list.length - 1)],
  ['heapsort', (fn, list) => fn(list)],
  ['merge sort', (fn, list) => fn(list, (a, b) => a - b)]
]) {
  answers(`${name} equals Array.prototype.sort`, () => {
    const random = seeded(1)
    for (const length of [0, 1, 2, 3, 10, 100]) {
      const list = Array.from({ length }, () => random.integer(0, length))
      const expected = [...list].sort((a, b) => a - b)
      assert.equal(sorted(named(name).fn, list), expected)
    }
  })
}

answers('merge sort is stable', () => {
  const [people, byAge] = named('merge sort').inputs(100)
  assert.equal(named('merge sort').fn(people, byAge), [...people].sort(byAge))
})

answers('SHA-256 returns the digests of the examples of FIPS 180', () => {
  const { fn } = named('SHA-256')
  for (const [message, digest] of [
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ['abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1'],
    ['a'.repeat(1e6), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0']
  ]) assert.is(fn(ascii(message)), digest)
})

answers('SHA-256 of every length around a block', () => {
  for (let length = 0; length <= 130; length++) {
    const message = bytes(length, length)
    assert.is(named('SHA-256').fn(message), createHash('sha256').update(message).digest('hex'))
  }
})

answers('AES-128: FIPS-197 appendices A.1, B and C.1', () => {
  const { expandKey, encryptBlock } = named('AES-128-CTR').calls
  const encrypt = (key, block) => hex(encryptBlock(fromHex(block), expandKey(fromHex(key))))
  assert.is(hex(expandKey(fromHex('2b7e151628aed2a6abf7158809cf4f3c')).subarray(172)), 'b6630ca6')
  assert.is(encrypt('2b7e151628aed2a6abf7158809cf4f3c', '3243f6a8885a308d313198a2e0370734'),
    '3925841d02dc09fbdc118597196a0b32')
  assert.is(encrypt('000102030405060708090a0b0c0d0e0f', '00112233445566778899aabbccddeeff'),
    '69c4e0d86a7b0430d8cdb78070b4c55a')
})

answers('AES-128 in counter mode: SP 800-38A F.5.1', () => {
  assert.is(hex(named('AES-128-CTR').fn(
    fromHex('2b7e151628aed2a6abf7158809cf4f3c'),
    fromHex('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'),
    fromHex('6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51' +
      '30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710'))),
  '874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff' +
    '5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee')
})

answers('AES-128 in counter mode: the counter carries and wraps around', () => {
  const [key, , text] = named('AES-128-CTR').inputs(100)
  for (const counter of ['00'.repeat(15) + 'ff', '00'.repeat(14) + 'feff', 'ff'.repeat(16)].map(fromHex)) {
    const expected = createCipheriv('aes-128-ctr', key, counter).update(text)
    assert.is(hex(named('AES-128-CTR').fn(key, counter, text)), hex(expected))
  }
})

answers('the FFT equals the direct transform, and its inverse gives n times the input', () => {
  const { fn, inputs } = named('FFT')
  const n = 16
  const [real, imaginary] = inputs(n)
  const result = fn(real.slice(), imaginary.slice())
  for (let k = 0; k < n; k++) {
    let re = 0
    let im = 0
    for (let t = 0; t < n; t++) {
      const angle = -2 * Math.PI * k * t / n
      re += real[t] * Math.cos(angle) - imaginary[t] * Math.sin(angle)
      im += real[t] * Math.sin(angle) + imaginary[t] * Math.cos(angle)
    }
    close(result.real[k], re)
    close(result.imaginary[k], im)
  }
  fn(result.real, result.imaginary, true)
  result.real.forEach((value, t) => close(value / n, real[t]))
  assert.throws(() => fn(...inputs(12)), 'the length must be a power of two, got 12')
})

answers('the Levenshtein distances of known words are right', () => {
  const { fn } = named('Levenshtein')
  for (const [a, b, distance] of [
    ['', '', 0], ['', 'abc', 3], ['abc', '', 3], ['kitten', 'sitting', 3], ['saturday', 'sunday', 3],
    ['rosettacode', 'raisethysword', 8]
  ]) assert.is(fn(a, b), distance)
})

answers('N-queens returns the numbers of solutions of OEIS A000170', () => {
  assert.equal([1, 2, 3, 4, 5, 6, 7, 8].map(n => named('N-queens').fn(n)), [1, 0, 0, 2, 10, 4, 40, 92])
})

answers('lexers return the types, texts and lines of tokens', () => {
  const source = 'let x1 = "a\\"b" /* 1\n2 */ <= 3.14; // end\nreturn $y'
  assert.equal(named('lexer by characters').fn(source).map(token => Object.values(token)), [
    ['keyword', 'let', 1], ['name', 'x1', 1], ['operator', '=', 1], ['string', '"a\\"b"', 1],
    ['operator', '<=', 2], ['number', '3.14', 2], ['punctuator', ';', 2], ['keyword', 'return', 3],
    ['name', '$y', 3]
  ])
  assert.equal(named('lexer by regular expressions').fn(source).map(token => Object.values(token)), [
    ['keyword', 'let'], ['name', 'x1'], ['operator', '='], ['string', '"a\\"b"'], ['operator', '<='],
    ['number', '3.14'], ['punctuator', ';'], ['keyword', 'return'], ['name', '$y']
  ])
})

answers('both lexers return the same tokens', () => {
  const [byCharacters, byRegex] = ['lexer by characters', 'lexer by regular expressions'].map(name =>
    named(name).fn(program(200)).map(({ type, text }) => `${type} ${text}`))
  assert.equal(byCharacters, byRegex)
})

answers('lexers throw for unterminated strings and unexpected characters', () => {
  assert.throws(() => named('lexer by characters').fn('\n"open'), 'line 2: unterminated string')
  assert.throws(() => named('lexer by regular expressions').fn('x\n#'), 'line 2: unexpected "#"')
})

const outcome = run => {
  try {
    return { result: run() }
  } catch (error) {
    return { error: error.name }
  }
}

answers('the JSON parser equals JSON.parse, including errors', () => {
  const { fn, inputs, sizes } = named('JSON parser')
  const texts = [
    '', ' ', '1', '-0', '01', '-', '1.', '.5', '1e', '1E+3', '-1.5e-3', '1 1', 'true', 'tru', 'nul', 'null ',
    '"', '""', '"a', '"\\u00e9\\n\\/"', '"\\x"', '"\\u12"', '"\n"',
    '[]', '[ ]', ']', '[1,]', '[,1]', '[1 2]', '[1,2', '[[[]]]',
    '{}', '{ }', '{', '{"a":1}', '{"a":1,}', '{"a"}', '{a:1}', '{"a":1 "b":2}', '{"a":{"b":[{}]},"a":2}',
    '{"__proto__":{"x":1}}', ' {"a" : [ 1 , "x" ] } ',
    ...sizes.map(size => inputs(size)[0])
  ]
  for (const text of texts) {
    const [actual, expected] = [fn, JSON.parse].map(parse => outcome(() => parse(text)))
    assert.ok(isDeepStrictEqual(actual, expected), `${text}: ${JSON.stringify(actual)}`)
  }
})

answers('LZ decodes a block that was encoded by hand', () => {
  // 1 literal, a match of 14 at distance 1, and the 5 literals at the end of every block
  const block = '1a610100506161616161'
  assert.is(hex(named('LZ compress').fn(ascii('a'.repeat(20)))), block)
  assert.is(hex(named('LZ decompress').fn(fromHex(block), 20)), '61'.repeat(20))
})

answers('LZ decodes its own blocks, with long literals and long matches', () => {
  const samples = [
    ...[0, 1, 12, 13, 14, 100, 1000, 5000].map(size => named('LZ compress').inputs(size)[0]),
    ...[15, 16, 269, 270, 271, 1000].map(length => bytes(length)),
    ...[18, 19, 273, 274, 275, 1000].map(length => new Uint8Array(length + 20))
  ]
  for (const sample of samples) {
    const block = named('LZ compress').fn(sample)
    assert.is(hex(named('LZ decompress').fn(block, sample.length)), hex(sample))
  }
  assert.throws(() => named('LZ decompress').fn(fromHex('1061'), 2), 'expected 2 bytes, got 1')
})

answers('the Markdown renderer returns the HTML of a sample', () => {
  const source = `# A *title* #
one **two *three* x** \`<b>\` & [4](https://example.org/?a&b)
lines

- x
  y
- z
1. n
> q
> > r

\`\`\`js
a < b
\`\`\`
---`
  assert.equal(named('Markdown').fn(source).split('\n'), [
    '<h1>A <em>title</em></h1>',
    '<p>one <strong>two <em>three</em> x</strong> <code>&lt;b&gt;</code> &amp; ' +
      '<a href="https://example.org/?a&amp;b">4</a>',
    'lines</p>',
    '<ul>', '<li>x y</li>', '<li>z</li>', '</ul>',
    '<ol>', '<li>n</li>', '</ol>',
    '<blockquote>', '<p>q</p>', '<blockquote>', '<p>r</p>', '</blockquote>', '</blockquote>',
    '<pre><code class="language-js">a &lt; b</code></pre>',
    '<hr>'
  ])
})

answers('the towers of Hanoi need the known moves', () => {
  assert.is(named('towers of Hanoi').fn(3, 'A', 'C', 'B', []).join(' '), 'AC AB CB AC BA BC AC')
})

answers('the Ackermann function equals its closed forms', () => {
  const { fn } = named('Ackermann')
  for (let n = 0; n < 6; n++) {
    assert.equal([0, 1, 2, 3].map(m => fn(m, n)), [n + 1, n + 2, 2 * n + 3, 2 ** (n + 3) - 3])
  }
})

answers('the sieve finds 1229 primes below 10,000', () => {
  const { fn } = named('sieve of Eratosthenes')
  assert.equal(fn(30), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29])
  assert.is(fn(10_000).length, 1229)
})

answers('the Mandelbrot row contains -2, -1 and 0, but not -2.5 and 0.5', () => {
  const { fn } = named('Mandelbrot row')
  assert.equal([...fn(7, 0, 100)], [1, 100, 100, 100, 100, 100, 5])
  assert.is(fn(7, 1, 100)[2], 2)
})

answers('the n-body simulation keeps the momentum and the energy', () => {
  const { fn, calls, inputs } = named('n-body')
  const still = x => ({ mass: 2, x, y: 0, z: 0, vx: 0, vy: 3, vz: 0 })
  close(calls.energy([still(0)]), 9)
  close(calls.energy([still(0), still(Math.sqrt(3.99))]), 18 - 2)
  const [bodies, , dt] = inputs(0)
  const momentum = () => bodies.reduce((sum, { mass, vx }) => sum + mass * vx, 0)
  const before = momentum()
  const energies = fn(bodies, 100, dt)
  close(momentum(), before)
  assert.ok(Math.abs(energies.after / energies.before - 1) < 0.01)
})

answers('CRC-32 returns the check value', () => {
  assert.is(named('CRC-32').fn(ascii('123456789')), 0xcbf43926)
})

answers('base64 returns the examples of RFC 4648', () => {
  const { fn } = named('base64')
  const encoded = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map(text => fn(ascii(text)))
  assert.equal(encoded, ['', 'Zg==', 'Zm8=', 'Zm9v', 'Zm9vYg==', 'Zm9vYmE=', 'Zm9vYmFy'])
  assert.is(fn(bytes(500)), Buffer.from(bytes(500)).toString('base64'))
})

answers('Dijkstra finds the shortest paths of a known graph', () => {
  const edges = [
    [1, 2, 7], [1, 3, 9], [1, 6, 14], [2, 3, 10], [2, 4, 15], [3, 4, 11], [3, 6, 2], [4, 5, 6], [5, 6, 9]
  ]
  const graph = new Map([1, 2, 3, 4, 5, 6].map(node => [node, []]))
  for (const [a, b, length] of edges) {
    graph.get(a).push([b, length])
    graph.get(b).push([a, length])
  }
  const { distances, before } = named('Dijkstra').fn(graph, 1)
  assert.equal([1, 2, 3, 4, 5, 6].map(node => distances.get(node)), [0, 7, 9, 20, 20, 11])
  assert.equal([5, 6, 3].map(node => before.get(node)), [6, 3, 1])
})

answers('a blinker of the game of life alternates, and a block does not change', () => {
  const { fn } = named('game of life, by map')
  assert.is(fn('.....\n.###.\n.....', 1), '..#..\n..#..\n..#..')
  assert.is(fn('.....\n.###.\n.....', 2), '.....\n.###.\n.....')
  assert.is(fn('##\n##', 5), '##\n##')
})

answers('a glider on a torus of width n returns after 4 n generations', () => {
  const { fn } = named('game of life, on a torus')
  const cells = new Uint8Array(36)
  for (const at of [1, 8, 12, 13, 14]) cells[at] = 1
  const shifted = new Uint8Array(36)
  for (const at of [1, 8, 12, 13, 14]) shifted[at + 7] = 1
  assert.equal(fn(cells, 6, 4), shifted)
  assert.equal(fn(cells, 6, 24), cells)
})

answers('the word count ignores case and sorts by number', () => {
  assert.is(named('word count').fn("It's x, Öl; x: öl\nÖL"), "öl   3\nx    2\nit's 1\n")
})

answers('the knapsack equals an exhaustive search', () => {
  const { fn, inputs } = named('knapsack')
  const [items, capacity] = inputs(10)
  let best = 0
  const sum = (chosen, what) => chosen.reduce((sum, n) => sum + items[n][what], 0)
  for (let set = 0; set < 1 << 10; set++) {
    const chosen = [...items.keys()].filter(n => set >> n & 1)
    if (sum(chosen, 'weight') <= capacity) best = Math.max(best, sum(chosen, 'value'))
  }
  const { value, chosen } = fn(items, capacity)
  assert.is(value, best)
  assert.is(sum(chosen, 'value'), best)
  assert.ok(sum(chosen, 'weight') <= capacity)
})

answers('permutations returns all orders of a list', () => {
  const { fn } = named('permutations')
  assert.equal(fn([1, 2, 3]), [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]])
  assert.is(new Set(fn([1, 2, 3, 4, 5]).map(String)).size, 120)
})

answers('Floyd-Warshall finds the distances of a known graph', () => {
  const { distances, next } = named('Floyd-Warshall').fn([
    [0, Infinity, -2, Infinity],
    [4, 0, 3, Infinity],
    [Infinity, Infinity, 0, 2],
    [Infinity, -1, Infinity, 0]
  ])
  assert.equal(distances, [[0, -1, -2, 0], [4, 0, 2, 4], [5, 1, 0, 2], [3, -1, 1, 0]])
  assert.is(next[1][3], 0)
})

answers('Gaussian elimination solves a system, and throws for a singular matrix', () => {
  const { fn } = named('Gaussian elimination')
  fn([[2, 1, -1], [-3, -1, 2], [-2, 1, 2]], [8, -11, -3]).forEach((x, i) => close(x, [2, 3, -1][i]))
  assert.throws(() => fn([[1, 2], [2, 4]], [1, 2]), 'the matrix is singular')
})

answers('the stack machine runs known programs', () => {
  const { fn, inputs } = named('stack machine')
  assert.equal(fn([['push', 2], ['push', 3], ['add'], ['store', 'x'], ['load', 'x'], ['print']], 100),
    { output: [5], memory: { x: 5 }, steps: 6 })
  let sum = 0
  for (let i = 0; i < 10; i++) sum = sum * 3 + i
  assert.equal(fn(...inputs(10)).output, [sum])
  assert.is(fn([['jump', 0]], 7).steps, 7)
  assert.throws(() => fn([['stop']], 1), 'unknown instruction stop')
})

answers('closures in loops get a binding per round with let, and one with var', () => {
  assert.equal(named('closures in loops').fn([1, 0, 2], 3), {
    sum: 1 + 2 * 9 + 3 * 3, powers: [1, 9], seen: [['0', '1'], ['1', '0'], ['2', '2']]
  })
})

answers('the edits between two texts are minimal and turn one text into the other', () => {
  const { fn, inputs } = named('differences')
  assert.is(fn('ABCABBA', 'CBABAC').length, 5)
  const [a, b] = inputs(60)
  const kept = new Set(a.keys())
  const added = new Map()
  for (const edit of fn(a, b)) {
    const [, sign, at, text] = edit.match(/^([-+])(\d+) ([^]*)$/)
    if (sign === '-') kept.delete(Number(at))
    else added.set(Number(at), text)
  }
  const rest = [...kept].map(at => a[at])
  assert.equal(b.map((_, at) => added.get(at) ?? rest.shift()), b)
  assert.is(rest.length, 0)
})

answers('the deep clone equals structuredClone, including cycles', () => {
  const { fn, inputs } = named('deep clone')
  const [root] = inputs(30)
  const copy = fn(root)
  assert.ok(isDeepStrictEqual(copy, structuredClone(root)))
  assert.is.not(copy.made, root.made)
  assert.is((copy.left ?? copy.right).parent, copy)
})

answers('the async pipeline sums its values and reports missing keys', async () => {
  const store = { 0: { value: 1 }, 1: { value: 2, next: 0 }, 2: { value: 4, next: Promise.resolve(1) } }
  assert.equal(await named('async pipeline').fn(store, [2, 7, 1]),
    { sum: 7 + 3, missing: ['no 7'], tried: 3, ends: [4, 1] })
})

answers('the async consumer closes its source only if it leaves early', async () => {
  const { fn } = named('async consumer')
  async function* chunks() {
    yield* [{ text: 'a,b' }, { text: 'c,,' }, { text: 'd' }]
  }
  assert.equal(await fn(chunks(), ','), ['a', 'bc', 'd'])
  const [source] = named('async consumer').inputs(5)
  await fn(source, ',')
  assert.is(source.closed, 1)
})

answers.run()

const entries = suite('entries')

entries('entries have distinct names', () => {
  assert.is(new Set(corpus.map(({ name }) => name)).size, corpus.length)
})

const settled = async run => {
  try {
    return { result: await run() }
  } catch (error) {
    return { error: `${error}` }
  }
}

for (const { name, fn, calls = {}, scope = {}, inputs, sizes } of corpus) {
  entries(`${name} refers only to the names in its entry`, async () => {
    const functions = [fn, ...Object.values(calls).filter(other => other !== fn)]
    const source = `'use strict'\n${functions.join('\n')}\nreturn ${fn.name}`
    const own = new Function(...Object.keys(scope), source)(...Object.values(scope))
    for (const [key, other] of Object.entries(calls)) assert.is(other.name, key)
    for (const size of sizes) {
      const [args, ownArgs] = [inputs(size), inputs(size)]
      const expected = await settled(() => fn(...args))
      assert.ok(isDeepStrictEqual(await settled(() => own(...ownArgs)), expected), `size ${size}`)
      assert.ok(isDeepStrictEqual(ownArgs, args), `arguments after size ${size}`)
    }
  })
}

entries.run()
