/**
 * The claims of functions that write or read an object of the module in one of many ways.
 *
 * Two ways are not followed: the iteration of a generator that is kept in an object, and accessors that the engine
 * calls for a parameter, for example in `{ ...o }`.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { analysed, titleOf } from '../../support/effects-watch.mjs'

const uses = suite('preemptify.effects uses')

const HEAD = `
  const object = {
    n: 0, list: [1, 2], rows: [{ n: 1 }], map: new Map(), set: new Set(), re: /a/g,
    date: new Date(), typed: new Uint8Array(4), view: new DataView(new ArrayBuffer(4)),
    url: new URL('http://a'), m() { this.n++ }, get g() { return this.n++ }, set s(v) { this.n = v },
    gen: (function* () { yield 1 })(), it: [1][Symbol.iterator](), fn: () => {}, inner: { n: 1 },
    decoder: new TextDecoder(), weak: new WeakMap(), sym: Symbol('a')
  }
  export function reset() {
    object.n = 0; object.list.push(1); object.rows[0].n++; object.map.set(1, 2); object.set.add(1)
    object.re.lastIndex = 1; object.date.setTime(0); object.typed[0] = 1; object.view.setInt8(0, 1)
    object.url.href = ''; object.inner.n = 2
  }
  const tag = (s, x) => x
  function pause() { for (;;); }
  function write(o) { o.n = 1 }`

/** Statements that write the object `o`, or an object inside it. */
const WRITES = String.raw`
o.n = 1
o['n'] = 1
o[String('n')] = 1
o.n++
--o.n
o.n += 1
o.n **= 2
o.n ||= 1
o.n ??= 1
o.n &&= 1
delete o.n
delete o['n']
delete o?.n
({ n: o.n } = { n: 1 });
[o.n] = [1];
[...o.other] = [1];
({ ...o.other } = {});
[o.n, o.other] = [o.other, o.n];
for (o.n of [1, 2]);
for (o.n in { a: 1 });
for ([o.n] of [[1]]);
for ({ a: o.n } of [{}]);
Object.assign(o, { n: 1 })
Object.defineProperty(o, 'n', { value: 1 })
Object.defineProperties(o, { n: { value: 1 } })
Object.setPrototypeOf(o, null)
Reflect.set(o, 'n', 1)
Reflect.deleteProperty(o, 'n')
Reflect.defineProperty(o, 'n', { value: 1 })
Reflect.setPrototypeOf(o, null)
o.__proto__ = null
o.__defineGetter__('n', () => 1)
Object.freeze(o)
Object.seal(o)
Object.preventExtensions(o)
o.list.push(1)
o.list.length = 0
o.list[0]++
o.list.sort()
o.list.reverse()
o.list.splice(0)
o.list.fill(0)
o.list.copyWithin(0, 1)
o.list.pop()
o.list.shift()
o.list.unshift(1)
o.list[o.list.length] = 1
o['list'].push(1)
o.list?.push(1)
o.list['push'](1)
o.list[String('push')](1)
Array.prototype.push.call(o.list, 1)
Array.prototype.push.apply(o.list, [1]);
[].push.call(o.list, 1);
[].push.apply(o.list, [1])
Reflect.apply(Array.prototype.push, o.list, [1])
const push = Array.prototype.push; push.call(o.list, 1)
const { push: p2 } = Array.prototype; p2.call(o.list, 1)
const b = o.list.push.bind(o.list); b(1)
const { list } = o; list.push(1)
const [row] = o.rows; row.n++
for (const row of o.rows) row.n++
o.rows.forEach(row => { row.n++ })
o.rows.map(row => row.n++)
o.rows.at(-1).n++
o.rows.find(Boolean).n++
o.rows.slice()[0].n++
o.rows.concat([])[0].n++
o.rows.filter(Boolean)[0].n++
Object.values(o.rows)[0].n++
Object.entries(o)[0][1].n++;
[...o.rows][0].n++
Array.from(o.rows)[0].n++
o.rows.reduce((a, b) => b, null).n++
o.rows.sort((a, b) => a.n++ - b.n)
o.rows.flatMap(r => [r])[0].n++
o.rows.entries().next().value[1].n++
Object.fromEntries([['a', o.rows[0]]]).a.n++
o.map.set(1, 2)
o.map.delete(1)
o.map.clear()
Map.prototype.set.call(o.map, 1, 2)
o.set.add(1)
o.set.delete(1)
Set.prototype.add.call(o.set, 1)
o.weak.set(o, 1)
o.re.exec('a')
o.re.test('a')
o.re.lastIndex = 0
RegExp.prototype.exec.call(o.re, 'a')
while (o.re.exec('aa')) pause()
o.date.setTime(0)
o.date.setFullYear(2000)
o.typed[0] = 1
o.typed.set([1])
o.typed.fill(1)
o.typed.subarray(1)[0] = 1
new Uint8Array(o.typed.buffer)[0] = 1
new DataView(o.typed.buffer).setInt8(0, 1)
Atomics.add(o.typed, 0, 1)
Atomics.store(o.typed, 0, 1)
new TextEncoder().encodeInto('a', o.typed)
crypto.getRandomValues(o.typed)
o.view.setInt8(0, 1)
o.url.searchParams.append('a', 1)
o.url.href = 'http://b'
o.decoder.decode(o.typed, { stream: true })
o.gen.next()
o.it.next()
o.m()
o['m']()
o[String('m')]()
o.m.call(o)
o.m.apply(o, [])
o.m?.()
o.g
o['g']
const { g } = o
o.s = 1
o[String('s')] = 1
o.fn.x = 1
o.inner.n = 1
o.other = {}
o.other = null
Object.assign(o.inner, { n: 1 })
const q = o.inner; q.n = 2
let w = null; w = o.inner; w.n = 2
var v = o; v = v.inner; v.n++
(o.n > 1 ? o : o.inner).n = 1;
(o.inner ?? o).n = 1;
(0, o).n = 1
o[o.sym] = 1
o[Symbol.iterator] = null
write(o)
class A { static { o.n = 1 } }
class B { x = (o.n = 1) }; new B()
const h = (x = (o.n = 1)) => x; h()
o.n = o.n = 1
if (o.n = 1) pause()
return (o.n = 1)
throw (o.n = 1)
o.list.toString = () => ''
structuredClone(o, { transfer: [o.typed.buffer] })
o.typed.buffer.transfer()
o.list.with(0, o.inner)[0].n = 1
o.list.toSpliced(0, 0, o.inner)[0].n++
new Set([o.inner]).forEach(x => { x.n++ })
new Map([[1, o.inner]]).get(1).n++
Promise.resolve(o).then(x => { x.n++ })
(async () => { o.n++ })()
(function* () { o.n++ })().next()
(() => { o.n++ })()
(function () { this.n++ }).call(o)
(function () { arguments[0].n++ })(o)
new (class { constructor(x) { x.n++ } })(o)
new (class { set a(x) { x.n++ } })().a = o
[o].forEach(function () { this.n++ }, o)
[1].forEach(function () { this.n++ }, o)
Array.from([1], function () { this.n++ }, o)
o.map.forEach(function () { this.n++ }, o)
o.rows.forEach(function (r, i, all) { all.length = 0 })
o.rows.some((r, i, all) => { all[0] = 1 })
Function.prototype.call.call(o.m, o)
`.trim().split('\n').concat('`${o.n = 1}`')

/** Statements that read the object `o`, or an object inside it. */
const READS = String.raw`
return o.n
return o['n']
return o[String('n')]
return o?.n
const { n } = o; return n
const { ['n']: n } = o; return n
const { ...r } = o; return r
const [a] = o.list; return a
const [, ...l] = o.list; return l
return { ...o }
return [...o.list]
return Math.max(...o.list)
for (const x of o.list) pause(x)
for (const x in o) pause(x)
for (const x in o.list) pause(x)
return 'n' in o
return Object.keys(o)
return Object.values(o)
return Object.entries(o)
return Object.hasOwn(o, 'n')
return o.hasOwnProperty('n')
return JSON.stringify(o)
return structuredClone(o)
return Object.assign({}, o)
return Object.getOwnPropertyNames(o)
return Object.getOwnPropertyDescriptor(o, 'n')
return Object.isFrozen(o)
return Reflect.get(o, 'n')
return Reflect.has(o, 'n')
return Reflect.ownKeys(o)
return Object.getPrototypeOf(o)
return o.list.length
return o.list.join()
return o.list.map(x => x)
return o.list.includes(1)
return o.list.slice()
return o.list.concat([1])
return o.list.at(0)
return o.list.reduce((a, b) => a + b)
return Array.isArray(o.list)
return Array.from(o.list)
return Array.prototype.slice.call(o.list)
return [].slice.call(o.list)
return o.map.get(1)
return o.map.has(1)
return o.map.size
return [...o.map]
for (const [k, v] of o.map) pause(k)
o.map.forEach((v, k) => { pause(k) })
return o.set.has(1)
return new Set(o.set)
return new Map(o.map)
return o.re.lastIndex
return 'a'.match(o.re)
return o.date.getTime()
return +o.date
return o.date - 1
return new Date(o.date)
return o.typed[0]
return o.typed.length
return o.typed.slice()
return new Uint8Array(o.typed)
return o.view.getInt8(0)
return o.url.href
return new URL('b', o.url)
return new TextDecoder().decode(o.typed)
return o.m()
return o.m.call(o)
return o.g
return o + ''
return String(o)
return [...o]
return Array.from(o)
return o.inner.n
return o.inner
return o.rows[0].n
return o.rows.find(r => r.n).n
return o.rows.some(r => r.n)
return o.fn.x
return (o.inner ?? o).n
return o.list == '1,2'
return o.list < 3
return -o.list
switch (o.n) { default: pause() }
if (o.n) pause()
while (o.n) pause()
return o.n ? 1 : 2
return typeof o.n
throw o.n
return o.n++ && 1
const f = () => o.n; return f()
const f = ({ n }) => n; return f(o)
const f = (a, b = a.n) => b; return f(o)
return (function () { return this.n }).call(o)
return (function () { return arguments[0].n })(o)
return new (class { constructor(x) { this.v = x.n } })(o).v
return new (class { x = o.n })().x
return (x => x.n)(o)
return [o].map(x => x.n)
return Object.groupBy(o.rows, r => r.n)
return o.list.toString()
return o.list.toLocaleString()
return o.list.entries().next().value
return o.list[Symbol.iterator]().next()
return Promise.resolve(o.n)
return import.meta[o.n]
return new Error(o.n)
return parseInt(o.n)
return isNaN(o.list)
console.log(o)
return Number(o.list)
return o.list.indexOf(1)
return { a: o.n }
return [o.n]
return Buffer.from(o.typed)
`.trim().split('\n').concat('return `${o.date}`', 'return `${o.url}`', 'return `${o}`', 'return tag`${o.n}`')

/** The part of the object that a statement uses. */
const PART = /\bo\.(list|rows|map|set|re|date|typed|view|url|inner)\b/

/** The claims of the functions of a text, without `reset` and the methods of the object. */
function claimsIn(text) {
  const { units: [{ plans }] } = analysed({ a: `${HEAD}\n${text}` })
  const others = plans.filter(plan => !plan.isOnce && !/^(?:reset|m|g|s)$/.test(titleOf(plan)))
  return others.flatMap(({ claims, claimsAll }) => claimsAll ? ALL : claims)
}
/** The claims of a function that claims everything. */
const ALL = [{ isExclusive: true, location: { isContested: true, site: null } }]
/**
 * Whether the functions of a text claim the object that a statement uses: the part of the object that the statement
 * names, or any object if it names none.
 *
 * @param {string} text the text of the functions @param {string} statement
 * @param {boolean} isExclusive whether only exclusive claims count
 */
function isClaimed(text, statement, isExclusive) {
  const [, part] = PART.exec(statement) ?? []
  return claimsIn(text).some(({ isExclusive: isWriter, location: { site, node, isContested } }) =>
    isContested && (isWriter || !isExclusive) && (!site || !part || node.parent.key?.name === part))
}
/** The text of a function that runs a statement with an object of the module. */
const direct = statement => `export function work() {
  for (;;) { if (pause()) break }
  ${statement.replace(/\bo\b(?!:)/g, 'object')}
}`
/** The text of a function that calls another one, which runs the statement with its argument. */
const called = statement => `const run = o => {\n${statement}\n}\nexport function work() {\nrun(object)\nfor (;;);\n}`

uses('an object of the module that a function writes is claimed exclusively', () => {
  for (const text of WRITES) assert.ok(isClaimed(direct(text), text, true), text)
})

uses('an argument that a function writes is claimed exclusively by the caller', () => {
  for (const text of WRITES) assert.ok(isClaimed(called(text), text, true), text)
})

uses('an object of the module that a function reads is claimed', () => {
  for (const text of READS) assert.ok(isClaimed(direct(text), text, false), text)
})

uses('an argument that a function reads is claimed by the caller', () => {
  for (const text of READS) assert.ok(isClaimed(called(text), text, false), text)
})

uses('a function that writes nothing claims nothing exclusively', () => {
  for (const text of ['return o.n', 'return [...o.list]', "return 'a'.replace(o.re, '')", 'return o.map.get(1)', 'return o.rows.map(row => row.n)']) {
    assert.not.ok(isClaimed(called(text), '', true), text)
  }
})

uses.run()
