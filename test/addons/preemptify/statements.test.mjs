import { inspect, isDeepStrictEqual } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, budget } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { corpus } from '../../corpus/index.mjs'
import { drive, driveAsync, preemptible } from '../../support/drive.mjs'
import { HOSTS } from '../../support/platform-host.mjs'

const limits = [1, 7, 4096, 2 ** 30]

/** Returns the result or error of a call, and the arguments after the call. */
async function outcome(run, args) {
  try {
    return { result: await run(...args), args }
  } catch (error) {
    return { error: `${error}`, args }
  }
}

const show = value => inspect(value, { depth: 1, breakLength: Infinity }).slice(0, 300)

/** Asserts that `run` has the same outcomes as the function of an entry, for inputs of every size. */
async function assertAlike({ fn, inputs, sizes }, run, conditions) {
  for (const size of sizes) {
    const expected = await outcome(fn, inputs(size))
    const actual = await outcome(run, inputs(size))
    const both = `${show(actual)}, expected ${show(expected)}`
    assert.ok(isDeepStrictEqual(actual, expected), `size ${size}, ${conditions}: ${both}`)
  }
}

let runs = 0

/** Runs a preemptible function as a job; each read of the clock advances it. The hosts take turns. */
async function schedule(work, args, options) {
  const host = HOSTS[runs++ % HOSTS.length].hostOf({ read: 0.01 })
  const scheduler = new Scheduler({ host, ...options })
  const job = scheduler.spawn(work, undefined, ...args)
  job.catch(() => {})
  await host.drain()
  assert.ok(job.state === 'done' || job.state === 'failed', `the job is ${job.state}`)
  return job
}

/** Returns an `evaluate` whose scope has the given names and values. */
const closureOver = names =>
  new Function(...Object.keys(names), 'return source => eval(source)')(...Object.values(names))

const driven = suite('corpus without a scheduler')
const scheduled = suite('corpus as jobs')
const closed = suite('corpus with evaluate and scope')

for (const entry of corpus) {
  const { name, fn, calls = {}, scope = {} } = entry

  driven(name, async () => {
    const counted = preemptible(entry)
    const yielding = preemptible(entry, { budgeted: false })
    for (const limit of limits) {
      await assertAlike(entry, (...args) => driveAsync(counted(...args), { limit }), `budget ${limit}`)
    }
    await assertAlike(entry, (...args) => driveAsync(yielding(...args)), 'budgeted: false')
  })

  scheduled(name, async () => {
    const counted = preemptible(entry)
    const yielding = preemptible(entry, { budgeted: false })
    for (const limit of [...limits.slice(0, 3), 'auto']) {
      await assertAlike(entry, (...args) => schedule(counted, args, { budget: limit }), `budget ${limit}`)
    }
    await assertAlike(entry, (...args) => schedule(yielding, args, { budget: 7 }), 'budgeted: false')
  })

  closed(name, async () => {
    const evaluate = closureOver({ ...scope, ...calls, [fn.name]: fn })
    for (const [conditions, options] of [
      ['by evaluate', { evaluate }],
      ['by evaluate, calls linked', { evaluate, calls: linked(entry, { evaluate }) }],
      ['by scope', { scope: { ...scope, ...calls } }],
      ['by scope, calls preemptible there', { scope: { ...scope, ...linked(entry) } }]
    ]) {
      const work = preemptify(fn, options)
      await assertAlike(entry, (...args) => driveAsync(work(...args), { limit: 7 }), conditions)
    }
  })
}

/** Makes the callees of an entry preemptible, with an object that has all names before it has the functions. */
function linked({ calls = {}, scope }, options = { scope }) {
  const names = Object.keys(calls)
  const result = Object.fromEntries(names.map(name => [name, undefined]))
  for (const name of names) result[name] = preemptify(calls[name], { ...options, calls: result })
  return result
}

driven.run()
scheduled.run()
closed.run()

const forms = suite('rounds')

// Each makes n rounds and counts them in log.rounds.
const loops = {
  'for': function (n, log) {
    for (let i = 0; i < n; i++) {
      log.rounds++
    }
  },
  'for, no braces': function (n, log) {
    for (var i = 0; i < n; i++) log.rounds++
  },
  'for, all in its head': function (n, log) {
    for (let i = 0; i < n; i++, log.rounds++);
  },
  'for, empty head': function (n, log) {
    for (;;) {
      if (n-- <= 0) break
      log.rounds++
    }
  },
  'for, two bindings, one changed by the body': function (n, log) {
    for (let i = 0, end = n; i < end; i++) {
      if (i % 3 === 2) end++, i++
      log.rounds++
    }
  },
  'for, bindings kept by closures': function (n, log) {
    const kept = []
    for (let i = 0; i < n; i++) {
      kept.push(() => i)
      log.rounds++
    }
    return kept.map(value => value())
  },
  'for, continue': function (n, log) {
    for (let i = 0; i < n; i++) {
      log.rounds++
      if (i % 2) continue
      log.even = i
    }
  },
  'for, return from it': function (n, log) {
    for (let i = 0; ; i++) {
      if (i === n) return i
      log.rounds++
    }
  },
  'for, left by an error': function (n, log) {
    for (let i = 0; ; i++) {
      if (i === n) throw new RangeError(`round ${i}`)
      log.rounds++
    }
  },
  'for in': function (n, log) {
    const object = Object.fromEntries(Array.from({ length: n }, (_, i) => [`key ${i}`, i]))
    for (const key in object) log.rounds += key.length && 1
  },
  'for of': function (n, log) {
    for (const value of Array.from({ length: n }, (_, i) => i)) {
      log.rounds++
      log.last = value
    }
  },
  'for of, destructuring with defaults': function (n, log) {
    for (const { value = 1, ...rest } of new Array(n).fill({ other: 2 })) log.rounds += value + rest.other - 2
  },
  'for of, left early: the iterator is closed': function (n, log) {
    const endless = {
      [Symbol.iterator]: () => endless,
      next: () => ({ value: 1, done: false }),
      return() {
        log.closed = true
        return {}
      }
    }
    for (const value of endless) {
      if (log.rounds === n) break
      log.rounds += value
    }
  },
  'while': function (n, log) {
    while (log.rounds < n) {
      log.rounds++
    }
  },
  'while, no braces': function (n, log) {
    while (log.rounds < n) log.rounds++
  },
  'while, all in its head': function (n, log) {
    while (++log.rounds < n);
  },
  'do while': function (n, log) {
    do {
      log.rounds++
    } while (log.rounds < n)
  },
  'do while, no braces': function (n, log) {
    do log.rounds++
    while (log.rounds < n)
  },
  'left at every level in every way': function (n, log) {
    outer: for (let i = 0; i < n; i++) {
      log.rounds++
      for (let j = 0; j < 9; j++) if (j === i) break
      for (let j = 0; j < 9; j++) { if (j === 5) continue outer }
    }
    for (let i = 0; ; i++) {
      let j = 0
      while (true) if (++j > i) break
      do { if (j-- < 2) break } while (true)
      if (i >= n) { for (;;) return 'left' }
    }
  },
  'labelled, continued from within': function (n, log) {
    outer: for (let i = 0; i < n; i++) {
      log.rounds++
      for (const skip of [1, 2]) {
        if (skip === 2) continue outer
      }
      log.never = true
    }
  },
  'labelled, left from within': function (n, log) {
    let i = 0
    outer: inner: while (true) {
      do {
        if (i++ === n) break outer
        log.rounds++
        if (i % 3 === 0) continue inner
      } while (true)
    }
  },
  'nested': function (n, log) {
    for (let i = 0; i < n; i++)
      for (let j = 0; j < i; j++)
        for (let k = 0; k < 2; k++) log.rounds++
  },
  'dangling else': function (n, log) {
    if (n > 5) for (let i = 0; i < n; i++) if (i % 2) log.rounds++
    else log.rounds += 1
    else while (log.rounds < n) log.rounds++
  },
  'in try, catch and finally': function (n, log) {
    try {
      for (let i = 0; i < n; i++) log.rounds++
      throw n
    } catch (rest) {
      while (rest-- > 0) log.rounds++
    } finally {
      do log.rounds++
      while (log.rounds < 3 * n)
    }
  },
  'in a switch': function (n, log) {
    switch (n % 2) {
      case 1: for (let i = 0; i < n; i++) log.rounds++
      // falls through
      default:
        while (log.rounds < 2 * n) { log.rounds++; continue }
    }
  },
  'strings and typed arrays': function (n, log) {
    const array = new Uint8Array(n)
    for (let i = 0; i < array.length; i++) array[i] = ++log.rounds
    for (const character of 'ab') log[character] = array.join('')
  },
  'calls in its head and body': function (n, log) {
    const count = () => log.rounds++
    for (let i = 0; Math.min(i, n) < n; i = Math.max(i, i + 1)) {
      count()
    }
  },
  'evaluates the condition before every round and once more': function (n, log) {
    for (let i = 0; (log.trace = (log.trace ?? '') + i) && i < n; i++) log.rounds++
  },
  'bounds that change': function (n, log) {
    const queue = new Array(n).fill(2)
    for (let i = 0; i < queue.length; i++) {
      if (queue[i] > 0) queue.push(queue[i] - 1)
      log.rounds++
    }
  },
  'NaN, floats and big integers': function (n, log) {
    for (let x = 0.5; x < n; x += 0.75) log.rounds++
    for (let x = NaN; x < n; x++) log.never = true
    for (let x = 0n; x < n; x++) log.rounds++
  }
}

for (const [name, fn] of Object.entries(loops)) {
  forms(`each round has a point, and a loop yields within its budget: ${name}`, () => {
    const counted = preemptify(fn)
    const yielding = preemptify(fn, { budgeted: false })
    for (const n of [0, 1, 2, 5, 10, 60]) {
      const expected = { log: { rounds: 0 } }
      try {
        expected.result = fn(n, expected.log)
      } catch (error) {
        expected.error = `${error}`
      }
      const { rounds } = expected.log

      for (const limit of limits) {
        const actual = { log: { rounds: 0 } }
        let spent = 0
        let before = 0
        let yields = -1 // the last point is the end
        const onPoint = points => {
          spent += points
          yields++
          const passed = actual.log.rounds - before
          assert.ok(passed <= limit, `n = ${n}: ${passed} rounds in a budget of ${limit}`)
          before = actual.log.rounds
        }
        try {
          actual.result = drive(counted(n, actual.log), { limit, onPoint })
        } catch (error) {
          actual.error = `${error}`
          onPoint(limit - budget.left)
        }
        assert.equal(actual, expected, `n = ${n}, budget ${limit}`)
        assert.ok(spent >= rounds, `n = ${n}, budget ${limit}: ${rounds} rounds, ${spent} points`)
        if (limit > 1e6) assert.is(yields, 0, `n = ${n}: a yield although there was budget left`)
      }

      const actual = { log: { rounds: 0 } }
      let yields = -1
      try {
        actual.result = drive(yielding(n, actual.log), { onPoint: () => { yields++ } })
      } catch (error) {
        actual.error = `${error}`
        yields++
      }
      assert.equal(actual, expected, `n = ${n}, budgeted: false`)
      assert.ok(yields >= rounds, `n = ${n}, budgeted: false: ${rounds} rounds, ${yields} yields`)
    }
  })
}

forms('for await has a point in each round', async () => {
  async function read(source, log) {
    for await (const value of source) log.push(value)
    return log.length
  }
  for (const budgeted of [true, false]) {
    const log = []
    let points = 0
    const source = [1, Promise.resolve(2), 3, 4]
    const work = preemptify(read, { budgeted })(source, log)
    const result = await driveAsync(work, { onPoint: spent => { points += budgeted ? spent : 1 } })
    assert.is(result, 4)
    assert.equal(log, [1, 2, 3, 4])
    assert.ok(points >= (budgeted ? 4 : 5), `${points} points`)
  }
})

/** Minimum numbers of rounds and calls of algorithms, from their inputs or results. */
const rounds = {
  'matrix product': ([, , n]) => n + n ** 2 + n ** 3,
  'fib': ([n]) => 2 * named('fib').fn(n + 1) - 1,
  'towers of Hanoi': ([n]) => 2 ** (n + 1) - 1,
  'Ackermann': ([, n]) => 2 * n * n + 7 * n + 5,
  'Levenshtein': ([a, b]) => a.length + a.length * b.length,
  'CRC-32': ([input]) => 256 * 9 + input.length,
  'Mandelbrot row': ([width], row) => width + row.reduce((total, n) => total + n, 0),
  'Floyd-Warshall': ([{ length: n }]) => n + n + n ** 2 + n ** 3,
  'game of life, on a torus': ([, width, generations]) => generations * (1 + width + width ** 2),
  'stack machine': ([code], { steps }) => steps,
  'permutations': ([list]) => permuting(list.length),
  'async consumer': ([{ at }]) => at
}
const permuting = n => n <= 1 ? 1 : 1 + n * (1 + permuting(n - 1))
const named = name => corpus.find(entry => entry.name === name)

for (const [name, count] of Object.entries(rounds)) {
  const entry = named(name)
  forms(`each round and call of the algorithm has a point: ${name}`, async () => {
    const counted = preemptible(entry)
    const yielding = preemptible(entry, { budgeted: false })
    for (const size of entry.sizes) {
      const args = entry.inputs(size)
      const { result, error } = await outcome(entry.fn, args)
      if (error) continue
      const least = count(args, result)
      for (const limit of limits) {
        let spent = 0
        await driveAsync(counted(...entry.inputs(size)), { limit, onPoint: points => { spent += points } })
        assert.ok(spent >= least, `size ${size}, budget ${limit}: ${least} rounds, ${spent} points`)
      }
      let yields = -1
      await driveAsync(yielding(...entry.inputs(size)), { onPoint: () => { yields++ } })
      assert.ok(yields >= least, `size ${size}, budgeted: false: ${least} rounds, ${yields} yields`)
    }
  })
}

forms.run()

const names = suite('names in scope, calls and evaluate')

names('a function with evaluate reads and writes variables of the caller', () => {
  let total = 10
  const add = n => { total += n }
  function accumulate(n) {
    for (let i = 1; i <= n; i++) add(i)
    total *= 2
    return total
  }
  const work = preemptify(accumulate, { evaluate: source => eval(source) })
  assert.is(drive(work(4)), 40)
  assert.is(total, 40)
  total = 0
  assert.is(drive(work(1), { limit: 1 }), 2)
})

names('scope gives values to variables', () => {
  const factor = { value: 3 }
  function scale(list) {
    const result = []
    for (const x of list) result.push(x * factor.value)
    return result
  }
  const work = preemptify(scale, { scope: { factor: { value: 5 } } })
  assert.equal(drive(work([1, 2])), [5, 10])
  assert.equal(scale([1, 2]), [3, 6])
})

names('an arrow function in scope gives the current value of its variable', () => {
  let limit = 3
  let helper = x => [x, limit]
  const fn = (log, set) => {
    for (let i = 0; i < limit; i++) {
      log(helper(i), typeof limit, { limit }, (() => limit)())
      set(limit - 0.5)
    }
    return helper?.(limit)
  }
  const run = work => {
    limit = 3
    helper = x => [x, limit]
    const log = []
    const result = work((...values) => { log.push(values) }, value => {
      limit = value
      if (value === 2) helper = x => [-x]
    })
    return { log, result }
  }
  const work = preemptify(fn, { scope: [() => limit, () => helper] })
  for (const budget of limits) assert.equal(run((...args) => drive(work(...args), { limit: budget })), run(fn))
})

names('variables in scope and calls may get their values later', () => {
  const even = preemptify(n => n === 0 || odd(n - 1), { calls: [() => odd] })
  const half = preemptify(n => later(n) / 2, { scope: [() => later] })
  let odd = preemptify(n => n !== 0 && even(n - 1), { calls: [() => even] })
  let later = preemptify(n => n + 1)
  for (const limit of limits) {
    assert.is(drive(even(10), { limit }), true)
    assert.is(drive(half(5), { limit }), 3)
  }
  odd = preemptify(n => `another ${n}`)
  later = n => n - 1
  assert.is(drive(even(10)), 'another 9')
  assert.is(drive(half(5)), 2)
  odd = undefined
  assert.throws(() => drive(even(10)), /odd is not defined in calls/)
})

names('a preemptible function in a variable is its original where it is not called', () => {
  const twice = function twice(x) { return x * 2 }
  const work = preemptify(twice)
  const mentions = list => [list.map(work).join(), typeof work, work.name, work(4)]
  for (const option of ['scope', 'calls']) {
    assert.equal(drive(preemptify(mentions, { [option]: [() => work] })([1, 2])), ['2,4', 'function', 'twice', 8])
  }
})

// Outputs of terser and esbuild for fixtures/preemptify/minified/program.mjs.
for (const minifier of ['program', 'terser', 'esbuild']) {
  names(`arrow functions in scope and calls work after minifying: ${minifier}`, async () => {
    const { work, byKeys, setLimit } = await import(`../../fixtures/preemptify/minified/${minifier}.mjs`)
    for (const budget of limits) {
      for (const length of [4, 2]) {
        setLimit(length)
        const expected = [0, 3, 9, 18].map((weight, i) => ({ weight, even: i % 2 === 0, limit: length }))
        assert.equal(drive(work(9), { limit: budget }), expected.slice(0, length))
      }
    }
    const keys = await Promise.resolve().then(() => drive(byKeys(1))).catch(error => error)
    if (minifier === 'program') assert.is(keys, 5)
    else assert.match(keys.message, /^. is not defined/)
  })
}

names('generator functions in scope are called preemptibly, others natively', () => {
  function work(n) {
    return child(n) + plain(n)
  }
  function* child(n) {
    for (let i = 0; i < n; i++) yield
    return n
  }
  const plain = n => n * 10
  let points = 0
  const run = preemptify(work, { scope: { child, plain } })
  assert.is(drive(run(5), { onPoint: () => { points++ } }), 55)
  assert.ok(points > 5)
})

names('two functions in calls can call each other', () => {
  function isEven(n) {
    return n === 0 || isOdd(n - 1)
  }
  function isOdd(n) {
    return n !== 0 && isEven(n - 1)
  }
  const even = preemptible({ fn: isEven, calls: { isOdd, isEven } })
  for (const n of [0, 1, 2, 77]) {
    let spent = 0
    assert.is(drive(even(n), { onPoint: points => { spent += points } }), n % 2 === 0)
    assert.ok(spent >= n + 1)
  }
})

names('a caller catches the error of a function in calls', () => {
  function parse(texts) {
    const result = []
    for (const text of texts) {
      try {
        result.push(number(text))
      } catch (error) {
        result.push(error.message)
      }
    }
    return result
  }
  function number(text) {
    for (const c of text) if (c < '0' || c > '9') throw new SyntaxError(`${c} is no digit`)
    return +text
  }
  const work = preemptible({ fn: parse, calls: { number } })
  for (const limit of limits) assert.equal(drive(work(['12', '1x', '']), { limit }), [12, 'x is no digit', 0])
})

names('an async call without await runs concurrently and returns a promise', async () => {
  async function load(key, log) {
    log.push(`begins ${key}`)
    await null
    log.push(`ends ${key}`)
    if (key < 0) throw new RangeError(`no ${key}`)
    return key
  }
  async function both(log) {
    const one = load(1, log)
    const other = load(-2, log)
    log.push(one instanceof Promise)
    const [first, second] = await Promise.allSettled([one, other])
    return [first.value, second.reason.message, await load(3, log)]
  }
  const work = preemptible({ fn: both, calls: { load } })
  const expected = await outcome(both, [[]])
  for (const limit of limits) {
    assert.equal(await outcome((...args) => driveAsync(work(...args), { limit }), [[]]), expected)
  }
  assert.equal(await outcome((...args) => schedule(work, args, { budget: 1 }), [[]]), expected)
})

names('a rejection is thrown at the await of the callee, and then at the call', async () => {
  async function read(source) {
    const lines = []
    for (let n = 0; n < 4; n++) {
      try {
        lines.push(await line(source, n))
      } catch (error) {
        lines.push(`failed: ${error.message}`)
      }
    }
    return lines
  }
  async function line(source, n) {
    try {
      return await source(n)
    } catch (error) {
      if (n === 1) return `instead: ${error.message}`
      throw new RangeError(`line ${n}: ${error.message}`)
    } finally {
      await null
    }
  }
  const source = async n => {
    if (n % 4 !== 0) throw new Error(`no ${n}`)
    return n
  }
  const work = preemptible({ fn: read, calls: { line } })
  const expected = [0, 'instead: no 1', 'failed: line 2: no 2', 'failed: line 3: no 3']
  assert.equal(await read(source), expected)
  for (const limit of limits) assert.equal(await driveAsync(work(source), { limit }), expected)
  assert.equal(await schedule(work, [source], { budget: 4096 }), expected)
})

names('recursion can be deeper than a chain of yield*', async () => {
  function depth(n) {
    return n === 0 ? 0 : 1 + depth(n - 1)
  }
  const work = preemptify(depth)
  assert.is(await schedule(work, [50_000]), 50_000)
  assert.is(drive(work(50_000)), 50_000)
})

names.run()
