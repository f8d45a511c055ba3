// Built-in functions with callbacks: if the callback has a twin, each operation has the same effects as in the native
// function, even if proxies observe the operations.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { inspect } from 'node:util'
import { Scheduler, budget } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { runtime } from '../../../addons/preemptify/runtime.mjs'
import { drive } from '../../support/drive.mjs'
import { internals } from '../../support/phases.mjs'
import { forSeeds, seeded } from '../../support/seeded.mjs'
import { differentSorts } from '../../support/sorting.mjs'

const { apply, enter, suspended, twin } = runtime

/** Budgets that yield at every point, at every second point, sometimes, and never. */
const budgets = [1, 2, 7, 2 ** 30]

/** Gives a function a twin with the same result that yields before and after. */
function both(fn) {
  return twin(fn, function* (...args) {
    if (--budget.left <= 0) yield
    const result = Reflect.apply(fn, this, args)
    if (--budget.left <= 0) yield
    return result
  })
}

/** Logs the operations on objects in their order. */
class Watch {
  log = []
  names = new Map()

  /** @param {any} value */
  show(value) {
    return this.names.get(value) ?? (typeof value === 'function' ? `function ${value.name}`
      : typeof value === 'symbol' ? String(value) : inspect(value, { depth: 3, showProxy: false, getters: false, showHidden: false }))
  }

  note(...parts) {
    if (this.log.length > 3000) throw new Error('it goes on for too long')
    this.log.push(parts.map(part => typeof part === 'string' ? part : this.show(part)).join(' '))
  }

  /** Returns a proxy that logs every operation. @template {object} T @param {string} name @param {T} target @returns {T} */
  watched(name, target) {
    const handler = new Proxy({}, {
      get: (_, trap) => (object, key, ...rest) => {
        const isKeyed = !['getPrototypeOf', 'ownKeys', 'isExtensible', 'preventExtensions', 'apply', 'construct'].includes(trap)
        const shown = trap === 'set' || trap === 'defineProperty' ? [rest[0]] : []
        this.note(name, trap, ...isKeyed ? [String(key)] : [], ...shown)
        return Reflect[trap](object, key, ...rest)
      }
    })
    const proxy = new Proxy(target, handler)
    this.names.set(proxy, `<${name}>`)
    return proxy
  }
}

/**
 * Calls a function and returns the log, the result or error, and the receiver.
 *
 * @param {(watch: Watch, isTwin: boolean) => { fn: any, self: any, args: any[] }} make
 * @param {number} [limit] the budget of the twin; without it the call is native
 */
function outcome(make, limit) {
  const watch = new Watch()
  const isTwin = limit !== undefined
  const { fn, self, args } = make(watch, isTwin)
  let end
  try {
    let result
    if (isTwin) {
      budget.left = limit
      result = drive(function* () {
        const result = apply(enter(fn), self, args)
        return result === budget ? yield suspended() : result
      }(), { limit })
    } else {
      result = Reflect.apply(fn, self, args)
    }
    end = `returns ${watch.show(result)}`
    if (typeof result === 'object' && result !== null && !watch.names.has(result)) {
      end += ` ${Reflect.ownKeys(result).map(String)} of ${Object.getPrototypeOf(result)?.constructor?.name}`
    }
  } catch (error) {
    end = `throws ${error?.constructor?.name ?? error}`
  }
  return [...watch.log, end, `self ${inspect(self, { depth: 3 })}`]
}

/** Asserts that a call has the same outcome with and without twins. */
function assertAlike(make, title) {
  const expected = outcome(make)
  for (const limit of budgets) {
    const actual = outcome(make, limit)
    if (inspect(actual) === inspect(expected)) continue
    const at = expected.findIndex((line, i) => line !== actual[i])
    const from = Math.max(0, at - 5)
    assert.unreachable(`${title}, budget ${limit}, line ${at}\nthe engine's:\n  ${expected.slice(from, at + 4).join('\n  ')}\n` +
      `the twin's:\n  ${actual.slice(from, at + 4).join('\n  ')}`)
  }
}

// ----------------------------------------------------------------------------------------------- random cases

const visits = ['forEach', 'map', 'filter', 'some', 'every', 'find', 'findIndex', 'findLast', 'findLastIndex']
const folds = ['reduce', 'reduceRight']
const sorts = ['sort', 'toSorted'].filter(name => name in Array.prototype)
const values = [0, 1, 2, 3, -1, NaN, 'a', '', null, undefined, true, {}, [], [1, 2], [[3], 4], 7n]

/** Makes an array or an array-like object from a seed. */
function anyReceiver(random, watch) {
  const size = random.integer(0, 6)
  const list = Array.from({ length: size }, () => random.pick(values))
  for (let i = 0; i < size; i++) if (random.chance(0.2)) delete list[i]
  const index = random.integer(0, 5)
  switch (random.integer(0, 9)) {
    case 0: return list
    case 1: return watch.watched('array', list)
    case 2: return watch.watched('object', { ...list, length: random.pick([size, 3.7, '2', -1, NaN, undefined, { valueOf: () => { watch.note('length'); return size } }]) })
    case 3: return random.pick(['abc', 5, true, 'x\u{1F600}y', Symbol.iterator, 10n])
    case 4: return random.pick([undefined, null])
    case 5: return Object.defineProperty(list, index, { get: () => { watch.note('getter'); return index }, configurable: true })
    case 6: return watch.watched('frozen', Object.freeze(list))
    default: {
      const species = random.pick([undefined, null, Array, 5, class extends Array {}, function (length) {
        watch.note('new', length)
        return watch.watched('result', random.pick([[], {}, Object.freeze([])]))
      }])
      if (random.chance(0.5)) return watch.watched('array', Object.assign(list, { constructor: random.pick([species, { [Symbol.species]: species }]) }))
      class List extends Array { static get [Symbol.species]() { watch.note('species'); return species } }
      return watch.watched('array', Object.setPrototypeOf(list, List.prototype))
    }
  }
}

/** A callback that returns random values, and sometimes changes its arguments or throws. */
function anyCallback(random, watch, receiver) {
  const throwing = random.chance(0.15)
  const changing = random.chance(0.3)
  return function callback(...args) {
    watch.note('call', this, ...args)
    if (throwing && random.chance(0.2)) throw new RangeError('thrown')
    const at = random.integer(0, 6)
    if (changing && Object(receiver) === receiver) {
      Reflect.apply(random.pick([
        () => Reflect.deleteProperty(receiver, at),
        () => Reflect.set(receiver, at, 'new'),
        () => Reflect.set(receiver, 'length', at),
        () => Reflect.defineProperty(receiver, at, { get: () => watch.note('late getter'), configurable: true })
      ]), undefined, [])
    }
    return random.pick(values)
  }
}

/** A comparator by key that returns all kinds of results. */
function anyComparator(random, watch) {
  const key = value => typeof value === 'number' ? value || 0 : inspect(value).length
  const sign = random.pick([1, -1])
  const as = random.pick([Number, String, n => ({ valueOf: () => n }), n => n || NaN, BigInt])
  // The engine decides how often the comparator is called.
  const throws = random.chance(0.2)
  return function compare(a, b) {
    if (this !== undefined || arguments.length !== 2) watch.note('called otherwise', this, arguments.length)
    if (throws) throw new RangeError('thrown')
    const order = sign * (key(a) - key(b))
    return as(Math.sign(order))
  }
}

const random = suite('random cases')

random('methods of arrays have the same effects with twins as callbacks', () => forSeeds(1500, ({ seed }) => {
  assertAlike((watch, isTwin) => {
    const random = seeded(seed)
    const name = random.pick([...visits, ...folds, 'flatMap'])
    const self = anyReceiver(random, watch)
    const callback = anyCallback(random, watch, self)
    const more = random.pick([[], [undefined], ['self'], [7, 8]])
    watch.note(name, self, more)
    return { fn: Array.prototype[name], self, args: [isTwin ? both(callback) : callback, ...more] }
  }, 'arrays')
}))

random('sorts have the same effects with twins as comparators', () => forSeeds(1000, ({ seed }) => {
  assertAlike((watch, isTwin) => {
    const random = seeded(seed)
    const name = random.pick(sorts)
    const self = random.chance(0.6) ? anyReceiver(random, watch)
      : Array.from({ length: random.integer(0, 40) }, () => random.pick([random.integer(0, 9), undefined, { id: random.integer(0, 99) }]))
    const compare = anyComparator(random, watch)
    watch.note(name, self)
    return { fn: Array.prototype[name], self, args: [isTwin ? both(compare) : compare] }
  }, 'sorts')
}))

const kinds = ['Int8Array', 'Uint8ClampedArray', 'Uint16Array', 'Int32Array', 'Float32Array', 'Float64Array', 'BigInt64Array']

random('methods of typed arrays have the same effects with twins as callbacks', () => forSeeds(1000, ({ seed }) => {
  assertAlike((watch, isTwin) => {
    const random = seeded(seed)
    const name = random.pick([...visits, ...folds, ...sorts])
    const Kind = globalThis[random.pick(kinds)]
    const isBig = Kind === BigInt64Array
    watch.note(name, Kind)
    const size = random.integer(0, 6)
    const buffer = new ArrayBuffer(8 * size, random.chance(0.3) ? { maxByteLength: 80 } : {})
    const numbers = Array.from({ length: size }, () => isBig ? BigInt(random.integer(-3, 3)) : random.integer(-3, 3))
    class List extends Kind {
      constructor(...args) {
        super(...args)
        watch.note('new', args.map(Number))
      }
      static get [Symbol.species]() {
        watch.note('species')
        return species
      }
    }
    // V8 accepts a species of another content type; the specification demands an error.
    const species = random.pick([undefined, Kind, List, isBig ? BigUint64Array : Int16Array, Array, class extends Kind { constructor() { super(20) } },
      class extends Kind { constructor() { super(1) } }])
    const list = new (random.pick([Kind, List]))(...random.chance(0.5) ? [buffer] : [size])
    numbers.forEach((number, i) => { if (i < list.length) list[i] = number })
    const self = random.chance(0.9) ? list : random.pick([[1, 2], undefined, new Proxy(list, {}), {}])
    const ends = random.chance(0.2)
    const answers = [true, false, 1, 300, '7', 2n, undefined, {}]
    const callback = name.endsWith('ort') || name === 'toSorted' ? anyComparator(random, watch) : function callback(...args) {
      watch.note('call', this, ...args.slice(0, -1).map(value => typeof value === 'bigint' ? Number(value) : value))
      if (ends && random.chance(0.3)) {
        if (buffer.resizable) buffer.resize(8 * random.integer(0, 5))
        else structuredClone(list.buffer, { transfer: [list.buffer] })
      }
      return random.pick(answers)
    }
    return { fn: Kind.prototype[name], self, args: [isTwin ? both(callback) : callback, ...random.pick([[], [3]])] }
  }, 'typed arrays')
}))

random('Array.from has the same effects with twins as callbacks', () => forSeeds(1000, ({ seed }) => {
  assertAlike((watch, isTwin) => {
    const random = seeded(seed)
    const items = random.pick([
      () => anyReceiver(random, watch),
      () => new Set([1, 'a', undefined]),
      () => watch.watched('iterable', {
        [Symbol.iterator]: random.pick([undefined, null, 5, () => 5, () => watch.watched('iterator', {
          i: 0,
          next() { return watch.watched('step', { done: this.i > 2, value: this.i++ }) },
          ...random.pick([{}, { return() { return {} } }, { return: 7 }, { return() { throw new EvalError('late') } }])
        })]),
        length: 2,
        0: 'x'
      })
    ])()
    const self = random.pick([
      () => Array, () => undefined, () => Math.max, () => class List extends Array {},
      () => watch.watched('class', function (...args) {
        watch.note('new', ...args)
        return watch.watched('result', random.pick([{}, [], Object.freeze({})]))
      }),
      () => watch.watched('arrow', () => {})
    ])()
    const callback = anyCallback(random, watch, items)
    watch.note(items)
    return { fn: Array.from, self, args: [items, isTwin ? both(callback) : callback, ...random.pick([[], ['self']])] }
  }, 'Array.from')
}))

random('TypedArray.from has the same effects with twins as callbacks', () => forSeeds(1000, ({ seed }) => {
  assertAlike((watch, isTwin) => {
    const random = seeded(seed)
    const numbers = [1, '2', undefined, { valueOf: () => watch.note('valueOf') ?? 3 }]
    const items = random.pick([
      () => anyReceiver(random, watch),
      () => new Set(numbers),
      () => '123',
      () => new Int16Array([4, 5]),
      () => watch.watched('iterable', {
        [Symbol.iterator]: random.pick([undefined, null, 5, () => 5, () => numbers.values()]),
        length: 2,
        0: '7'
      })
    ])()
    const self = random.pick([
      () => Int8Array, () => Float64Array, () => BigInt64Array, () => undefined, () => Math.max, () => Array,
      () => class List extends Uint8Array {},
      () => class Short extends Uint8Array { constructor() { super(1) } },
      () => watch.watched('class', function (...args) {
        watch.note('new', ...args)
        return random.pick([{}, [], new Uint8Array(9)])
      })
    ])()
    const callback = anyCallback(random, watch, items)
    return {
      fn: Int8Array.from, self,
      args: [items, isTwin ? both(callback) : callback, ...random.pick([[], ['self']])]
    }
  }, 'TypedArray.from')
}))

random('forEach of maps and sets has the same effects with twins as callbacks', () => forSeeds(600, ({ seed }) => {
  assertAlike((watch, isTwin) => {
    const random = seeded(seed)
    const Kind = random.pick([Map, Set])
    const keys = [1, 'b', NaN, undefined, { x: 1 }].slice(random.integer(0, 4))
    const self = random.chance(0.9) ? new Kind(Kind === Map ? keys.map(key => [key, inspect(key)]) : keys)
      : random.pick([new (Kind === Map ? Set : Map)(), {}, undefined, new Proxy(new Kind(), {})])
    const callback = function callback(...args) {
      watch.note('call', this, ...args)
      const act = random.pick(['delete', 'add', 'clear', 'nothing', 'nothing', 'throw', 'nothing'])
      const key = random.pick([1, 'b', NaN, 'new', 'newer'])
      if (act === 'throw') throw new RangeError('thrown')
      if (act === 'delete') self.delete(key)
      if (act === 'clear') self.clear()
      if (act === 'add' && self.size < 8) Kind === Map ? self.set(key, 'late') : self.add(key)
    }
    return { fn: Kind.prototype.forEach, self, args: [isTwin ? both(callback) : callback, ...random.pick([[], ['self']])] }
  }, 'maps and sets')
}))

random('replace and replaceAll have the same effects with twins as callbacks', () => forSeeds(1000, ({ seed }) => {
  assertAlike((watch, isTwin) => {
    const random = seeded(seed)
    const self = random.pick([
      () => 'abcabc', () => '', () => 'a\u{1F600}b', () => 'aaa', () => 55, () => undefined,
      () => ({ toString() { watch.note('text'); return 'xaby' } })
    ])()
    const flags = random.pick(['', 'g', 'gu', 'y', 'gi', 'd'])
    class Pattern extends RegExp {
      exec(text) {
        watch.note('exec', text)
        return super.exec(text)
      }
    }
    class Replacing extends RegExp {
      [Symbol.replace](text, by) {
        return [text, by('own')].join()
      }
    }
    const pattern = random.pick([
      () => 'a', () => '', () => 'zz', () => 5, () => undefined,
      () => new RegExp(random.pick(['a', '', '(a)(x)?', '(?<first>a)b', '[^]', 'b|$', 'c*']), flags),
      () => {
        let left = 2
        const exec = () => left-- > 0 ? { index: 2 - left, 0: 'b', length: 1 } : null
        return Object.assign(/a/g, { exec: random.pick([null, () => null, exec]) })
      },
      () => Object.assign(new RegExp('a', flags), { lastIndex: { valueOf() { watch.note('lastIndex'); return 1 } } }),
      () => new Pattern('a', flags),
      () => new Replacing('a', flags),
      () => watch.watched('pattern', { [Symbol.replace]: (...args) => args.length, toString: () => 'b' }),
      () => new Proxy(/a/g, {})
    ])()
    const answers = ['', 'x', '$1', '$&', 5, undefined, null, Symbol.iterator, { toString() { watch.note('answer'); return 'o' } }]
    const callback = function callback(...args) {
      watch.note('call', this, ...args)
      return random.chance(0.05) ? random.pick(answers) : random.pick(answers.filter(answer => typeof answer !== 'symbol'))
    }
    return { fn: String.prototype[random.pick(['replace', 'replaceAll'])], self, args: [pattern, isTwin ? both(callback) : callback] }
  }, 'replace')
}))

random.run()

// ------------------------------------------------------------------------------------------- use

const use = suite('callbacks with and without twins')

/** Returns how often a call yields with a budget of 1, and its result. */
function yields(fn, self, ...args) {
  let points = -1
  budget.left = 1
  const result = drive(function* () {
    const result = apply(enter(fn), self, args)
    return result === budget ? yield suspended() : result
  }(), { limit: 1, onPoint: () => points++ })
  return [points, result]
}

/** A function that yields three times. */
const busy = both(function busy(...args) {
  return args
})
const triple = twin(x => 3 * x, function* (x) {
  yield
  yield
  return 3 * x
})

use('a callback with a twin can yield, and so can each step of the function', () => {
  const list = [1, 2, 3]
  assert.equal(yields(list.map, list, triple), [9, [3, 6, 9]])
  assert.equal(yields(list.forEach, list, busy), [9, undefined])
  assert.equal(yields(list.reduce, list, both((a, b) => a + b)), [7, 6])
  assert.equal(yields(Array.from, Array, new Set(list), triple), [9, [3, 6, 9]])
  assert.equal(yields(''.replace, 'abcb', /b/g, both(found => found + found)), [6, 'abbcbb'])
  const [points, sorted] = yields(list.sort, list, both((a, b) => b - a))
  assert.equal(sorted, [3, 2, 1])
  assert.ok(points > 6)
  assert.ok(yields(Map.prototype.forEach, new Map([[1, 2]]), busy)[0] >= 3)
})

use('a callback without a twin is called by the native function', () => {
  const list = [3, 1, 2]
  for (const [name, callback] of [['map', x => x], ['sort', (a, b) => a - b], ['reduce', (a, b) => a + b], ['flatMap', x => x]]) {
    const expected = list[name](callback)
    const actual = yields(list[name], list, callback)
    assert.equal(actual, [0, expected])
  }
  assert.throws(() => yields(list.map, list, undefined), TypeError)
  assert.equal(yields(list.sort, list), [0, [1, 2, 3]])
  assert.equal(yields(''.replace, 'abc', 'b', 'x'), [0, 'axc'])
  assert.equal(yields(Array.from, Array, 'abc'), [0, ['a', 'b', 'c']])
})

use('functions with long lists yield even if the callback has no twin', () => {
  const list = Array.from({ length: 6000 }, (_, i) => i)
  for (const [fn, self, ...args] of [
    [list.map, list, x => x], [list.forEach, { ...list, length: 6000 }, () => {}], [list.sort, list.slice(), (a, b) => b - a],
    [list.reduce, list, (a, b) => a + b], [Array.from, Array, { length: 6000 }, x => x], [Array.from, Array, list, x => x],
    [Array.from, Array, new Set(list), x => x], [Array.from, Array, { [Symbol.iterator]: () => list.values() }, x => x],
    [Array.from, Array, 'x'.repeat(6000), x => x], [Array.from, Array, new Int8Array(6000), x => x],
    [Array.from, Array, new Int8Array(6000)], [Int8Array.from, Int8Array, { length: 6000 }, x => 2 * x],
    [Int8Array.from, Int16Array, list, x => x],
    [Int8Array.prototype.map, new Int8Array(6000), x => x], [Int8Array.prototype.filter, new Int8Array(6000), () => true], [Int8Array.prototype.sort, new Int8Array(6000), (a, b) => a - b],
    [Map.prototype.forEach, new Map(list.map(i => [i, i])), () => {}], [Set.prototype.forEach, new Set(list), () => {}]
  ]) {
    const [points, result] = yields(fn, self, ...args)
    assert.ok(points >= 6000)
    assert.equal(result, Reflect.apply(fn, self, args))
    assert.throws(() => yields(fn, fn.name === 'from' ? self : undefined, undefined, ...args.slice(1)), TypeError)
  }
  for (const args of [[], [undefined], [5], [{}]]) assert.throws(() => yields(list.map, list, ...args), TypeError)
})

use('built-in functions do not expose their entries', () => {
  for (const fn of [Array.prototype.map, Function.prototype.call, Array.from]) {
    assert.is(Reflect.ownKeys(fn).join(), 'length,name')
    assert.is(runtime.get(fn).generator, null)
    assert.throws(() => preemptify(fn), /native/)
  }
})

use('map defines an index for which the prototype has a setter', () => {
  const log = []
  Object.defineProperty(Array.prototype, 50, { set: value => { log.push(value) }, configurable: true })
  let result
  try {
    result = yields(Array.prototype.map, { length: 51, 50: 2 }, triple)[1]
  } finally {
    delete Array.prototype[50]
  }
  assert.is(result[50], 6)
  assert.equal(log, [])
})

const sorting = suite('sorts of jobs')

for (const limit of [1, 2 ** 30]) {
  sorting(`a sort of a job makes the native comparisons, budget ${limit}`, () => {
    assert.equal(differentSorts((sort, list, compare) => {
      budget.left = limit
      return drive(function* () {
        const result = apply(enter(sort), list, [both(compare)])
        return result === budget ? yield suspended() : result
      }(), { limit })
    }), [])
  })
}

const { algorithmOf, budget: points, powerSort, timSort, ...mergeSorts } =
  internals('algorithmOf', 'budget', 'powerSort', 'timSort', 'halvesSort', 'windowSort', 'widthSort')

sorting('the first sort, which finds the algorithm of the engine, keeps the budget', () => {
  points.left = 5
  algorithmOf(Array.prototype.sort, length => Array(length))
  assert.is(points.left, 5)
})

for (const [name, sort] of Object.entries(mergeSorts)) {
  sorting(`${name} is stable and sorts lists of every length`, () => {
    for (let length = 0; length < 300; length++) {
      const items = Array.from({ length }, (_, id) => ({ id, key: id * 7919 % 10 }))
      const expected = items.slice().sort((a, b) => a.key - b.key)
      points.left = 2 ** 30
      const list = items.slice()
      assert.is(sort(list, (a, b) => a.key - b.key).next().done, true)
      assert.equal(list, expected)
    }
  })
}

const adaptive = {
  TimSort: timSort(false),
  'TimSort with powers': timSort(true),
  'powersort with galloping': powerSort(true, true),
  'powersort without galloping': powerSort(false, true),
  'powersort without descending runs': powerSort(false, false)
}
for (const [name, sort] of Object.entries(adaptive)) {
  sorting(`${name} is stable and sorts lists of every length`, () => {
    for (let length = 0; length < 700; length += length < 100 ? 1 : 37) {
      for (const keyOf of [id => id * 7919 % 10, id => id % 90, id => -id, id => id * 31 % 257]) {
        const items = Array.from({ length }, (_, id) => ({ id, key: keyOf(id) }))
        const expected = items.slice().sort((a, b) => a.key - b.key)
        points.left = 2 ** 30
        const list = items.slice()
        sort(list, (a, b) => a.key - b.key).next()
        assert.equal(list, expected)
      }
    }
  })
}

sorting.run()

use('a sort is stable and makes at most 10 comparisons for each of 1,000 items', () => {
  const items = Array.from({ length: 1000 }, (_, id) => ({ id, key: id * 7919 % 10 }))
  let calls = 0
  const compare = both((a, b) => (calls++, a.key - b.key))
  const sorted = yields(items.slice().sort, items.slice(), compare)[1]
  assert.equal(sorted, items.slice().sort((a, b) => a.key - b.key))
  assert.ok(calls <= 1000 * 10)
})

use.run()

// ---------------------------------------------------------------------------------- calls of functions by others

const calls = suite('functions that call functions')

const whole = twin(function whole(...args) { return [this, 'plain', ...args] }, function* (...args) {
  yield
  return [this, 'twin', ...args]
})

for (const limit of budgets) {
  const run = (fn, self, ...args) => {
    budget.left = limit
    return drive(function* () {
      const result = apply(enter(fn), self, args)
      return result === budget ? yield suspended() : result
    }(), { limit })
  }
  const { apply: applied, bind, call } = Function.prototype

  calls(`call and apply run the twin, budget ${limit}`, () => {
    assert.equal(run(call, whole, 1, 2, 3), [1, 'twin', 2, 3])
    assert.equal(run(call, whole), [undefined, 'twin'])
    assert.equal(run(applied, whole, 1, [2, 3]), [1, 'twin', 2, 3])
    assert.equal(run(applied, whole, 1, { length: 1, 0: 7 }), [1, 'twin', 7])
    assert.equal(run(applied, whole, 1), [1, 'twin'])
    assert.equal(run(applied, whole, 1, null), [1, 'twin'])
    assert.equal(run(Reflect.apply, undefined, whole, 1, [2]), [1, 'twin', 2])
    assert.is(run(call, Math.max, null, 1, 2), 2)
    for (const [fn, ...args] of [[applied, whole, 1, 5], [Reflect.apply, 0, whole, 1], [call, {}], [applied, undefined, 1], [Reflect.apply, 0, 5, 1, []]]) {
      assert.throws(() => Reflect.apply(fn, args[0], args.slice(1)), TypeError)
      assert.throws(() => run(fn, ...args), TypeError)
    }
  })

  calls(`a bound function has a twin if its function has one, budget ${limit}`, () => {
    const bound = run(bind, whole, 1, 2)
    assert.equal(bound(3), [1, 'plain', 2, 3])
    assert.is(bound.name, 'bound whole')
    assert.equal(run(bound, 9, 3), [1, 'twin', 2, 3])
    assert.equal(run(run(bind, bound, 8, 4), 9, 5), [1, 'twin', 2, 4, 5])
    assert.equal(drive(preemptify(bound)(3), { limit }), [1, 'twin', 2, 3])
    const plain = run(bind, Math.max, null, 5)
    assert.is(enter(plain), plain)
    assert.is(run(plain, 0, 7), 7)
    // Libraries keep built-in methods by this idiom.
    const uncurried = run(bind, call, whole)
    assert.equal(run(uncurried, 0, 1, 2), [1, 'twin', 2])
    const map = run(bind, call, Array.prototype.map)
    assert.equal(run(map, 0, [1, 2], triple), [3, 6])
    assert.equal(map([1, 2], triple), [3, 6])
  })

  calls(`a bound async function is native outside of jobs, unless it is awaited, budget ${limit}`, async () => {
    const f = async x => ['native', x]
    twin(f, function* (x) { return ['twin', x] }, false)
    const bound = run(bind, f, 0, 1)
    assert.equal(await enter(bound)(), ['native', 1])
    budget.left = limit
    const result = runtime.awaited(bound)()
    assert.equal(result === budget ? drive(suspended(), { limit }) : result, ['twin', 1])
  })

  calls(`Reflect.construct and new of a bound function run the twin, budget ${limit}`, () => {
    function Pair(a, b) { return this.values = ['plain', a, b], undefined }
    twin(Pair, function* (a, b) {
      yield
      this.values = ['twin', a, b]
    })
    class Other {}
    assert.equal(run(Reflect.construct, 0, Pair, [1, 2]).values, ['twin', 1, 2])
    assert.is(Object.getPrototypeOf(run(Reflect.construct, 0, Pair, { length: 2, 0: 1, 1: 2 }, Other)), Other.prototype)
    const bound = run(bind, Pair, 0, 1)
    const { construct } = runtime
    const make = (...args) => drive(function* () {
      const result = construct(...args)
      return result === budget ? yield suspended() : result
    }(), { limit })
    const pair = make(bound, [2])
    assert.instance(pair, Pair)
    assert.equal(pair.values, ['twin', 1, 2])
    assert.is(Object.getPrototypeOf(make(bound, [2], Other)), Other.prototype)
    for (const args of [[Pair], [Pair, [], undefined], [Pair, [], 5], [triple, []], [5, []], [Pair, 5]]) {
      assert.throws(() => Reflect.construct(...args), TypeError)
      assert.throws(() => run(Reflect.construct, 0, ...args), TypeError)
    }
  })
}

calls('a built-in call with a long text ends the budget, so that the clock is read', async () => {
  const { stringify, parse } = JSON
  const { toLowerCase, toUpperCase, split } = String.prototype
  const text = n => 'x'.repeat(n)
  for (const [fn, make] of [
    [stringify, n => [undefined, Array(n)]], [parse, n => [undefined, `[${' '.repeat(n)}]`]],
    [[].join, n => [Array(n), '-']], [split, n => [text(n), 'y']], [toLowerCase, n => [text(n)]],
    [toUpperCase, n => [text(n)]]
  ]) {
    for (const [size, left] of [[10, 1000], [200_000, 0]]) {
      assert.is(await new Scheduler({ budget: 1000 }).spawn(function* () {
        const [self, ...args] = make(size)
        const result = enter(fn).call(self, ...args)
        assert.is.not(result, budget)
        return budget.left
      }), left, `${fn.name} of ${size}`)
    }
  }
})

calls('Array.from of a long typed array uses its elements and the iteration of the page', () => {
  const list = new Int8Array(6000).fill(7)
  Object.defineProperty(list, 'length', { value: 3 })
  assert.is(yields(Array.from, Array, list)[1].length, 6000)
  class List extends Array {
    constructor(...args) {
      super()
      this.args = args
    }
  }
  assert.equal(yields(Array.from, List, list)[1].args, [])
  list[Symbol.iterator] = () => [1, 2].values()
  assert.equal(yields(Array.from, Array, list)[1], [1, 2])
})

calls('two built-in calls with long texts have a preemption point between them', async () => {
  const text = 'x'.repeat(200_000)
  const scheduler = new Scheduler({ budget: 1000 })
  assert.is(await scheduler.spawn(function* () {
    const lower = enter(text.toLowerCase).call(text)
    const upper = enter(text.toUpperCase).call(lower)
    assert.is(upper, budget)
    return yield suspended()
  }), text.toUpperCase())
})

calls('a list in a native function counts as one point for each element', async () => {
  const list = Array(100).fill(1)
  for (const [fn, self, ...args] of [[list.map, list, x => x], [list.reduce, list, x => x], [Array.from, Array, list, x => x]]) {
    assert.is(await new Scheduler({ budget: 1000 }).spawn(function* () {
      Reflect.apply(enter(fn), self, args)
      return budget.left
    }), 900, fn.name)
  }
})

calls.run()
