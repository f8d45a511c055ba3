/**
 * addons/preemptify/function.mjs: `preemptify(fn)`, which rewrites one function at run time.
 *
 * `Function.prototype.toString` returns the source of the function. The rewritten source is evaluated
 * elsewhere, so the caller passes the variables of the function by `evaluate`, `scope` or `calls`.
 */

import { budget, extend } from '../../rt.mjs'
import { asyncEntry } from './asynchronous.mjs'
import { callSite, calledIn, isCallStatement, isCalled, isInList, isMember, kindOf } from './calls.mjs'
import {
  BODY_EDGE, STATEMENT_EDGE, asKey, enclose, inOrder, isConcise, insert, optimisations, prefixFor, print,
  range, replace, seek, withTitle
} from './edits.mjs'
import { frame, markResumePoints, planFrame, textOfFrame } from './frames.mjs'
import { planTwin, textOfTwin } from './generators.mjs'
import { HELPERS } from './helpers.mjs'
import { labelOf, pointIn } from './loops.mjs'
import {
  NO_SOURCE, apply, checkPatterns, create, define, defineProperties, defineProperty, emptyMap, emptySet,
  emptyWeakMap, engine, exec, filter, find, forEach, getOwnPropertyDescriptor, getOwnPropertyDescriptors,
  getPrototypeOf, hasOwn, holds, isArray, isAsync, isGeneratorFunction, isObject, join, keysOf, listOf,
  matches, ownKeys, push, pushAll, reflectGet, reflectSet, shielded, slice, sourceOf, startsWith, stringify,
  takeLast, withPropertiesOf
} from './primordials.mjs'
import { IDENTIFIER, pastSpace, placeOf, read } from './read.mjs'
import {
  access, asMethod, awaitedEntryPointOf, claimerOf, entryPointOf, generatorOf, isWhole, steps, takeExpected,
  wait, wayInto
} from './run.mjs'
import { Arguments, claimingAll } from './claims.mjs'
import { outerTwinOf, runtime, twinOf } from './runtime.mjs'
import { analyseScopes, isDirectEval } from './scopes.mjs'
/** @import { Outcome, Yieldable } from '../../rt.mjs' */
/** @import { CallSite, Emitter } from './calls.mjs' */
/** @import { Facts, Node, Scope } from './scopes.mjs' */
/** @import { Fragments } from './edits.mjs' */
/** @import { Twin } from './run.mjs' */

const { callable, elsewhere: unchecked, knownOptions, tableOf, wrongType } = extend.check

/** The types of the options, in the words of the error messages. @type {Record<string, string>} */
const OPTIONS = {
  scope: 'an object or an array',
  calls: 'an object or an array',
  evaluate: 'a function',
  strict: 'a boolean',
  budgeted: 'a boolean',
  home: 'an object or a function'
}

const OPTION_NAMES = /* @__PURE__ */ Object.keys(OPTIONS)
const KNOWN_OPTIONS = /* @__PURE__ */ tableOf(pushAll(['methods', 'this'], OPTION_NAMES), () => unchecked)

/** Names that every function can define for its body. */
const OWN_WORDS = ['this', 'super', 'new.target', 'arguments', 'yield']
/** @param {string} key */
const isOwnWord = key => find(OWN_WORDS, word => word === key) !== undefined
/** Whether a value is a generator function or a function with a twin. @param {any} value */
const isDelegable = value => isGeneratorFunction(value) || twinOf(value) !== undefined

/** The key of the record of a rewritten function. Reading a property is faster than a lookup in a map. */
const known = /* @__PURE__ */ Symbol('preemptify')

/** Returns the original of a preemptible function, or the value itself. @param {any} value */
const originalOf = value => (typeof value === 'function' && value[known]?.original) || value

/** The results of `preemptify` without options, by their originals. @type {WeakMap<Function, Function>} */
const rewritten = /* @__PURE__ */ emptyWeakMap()

/** How many texts have been compiled. The debugger shows each text under its own number. */
let compilations = 0

/**
 * Lists the variables that `scope` or `calls` contains, either as the keys of an object or as arrow functions
 * such as `() => limit`. A minifier renames the variable in the arrow function and in `fn` alike.
 *
 * @param {string} option @param {any} given
 * @returns {[key: string, get: () => any][]}
 */
function variablesOf(option, given) {
  /** @type {[string, () => any][]} */
  const variables = []
  if (!isArray(given)) {
    forEach(keysOf(given), key => {
      if (!matches(IDENTIFIER, key)) throw wrongType(`a key of ${option}`, 'a name', key)
      push(variables, [key, () => given[key]])
    })
    return variables
  }
  for (let i = 0; i < given.length; i++) {
    const get = given[i]
    const source = typeof get === 'function' ? sourceOf(get) : ''
    const text = exec(/^\(\)\s*=>\s*([^]+)$/, source)?.[1] ?? ''
    if (matches(/^(?:void |[-!]*[\d.'"`])/, text)) continue // a minifier inlined a constant here and in `fn`
    if (!matches(IDENTIFIER, text)) {
      const wanted = 'an arrow function that returns a variable, such as () => name'
      throw source ? new TypeError(`${option}[${i}] must be ${wanted}, got ${source}`)
        : wrongType(`${option}[${i}]`, wanted, get)
    }
    push(variables, [text, get])
  }
  return variables
}

/** Returns the value of a variable, or `undefined` in its temporal dead zone. @param {() => any} get */
function valueOf(get) {
  try {
    return get()
  } catch {}
}

/**
 * @param {string} key @param {any} value
 * @returns {any} the value, if it can be called as a preemptible function
 */
function delegable(key, value) {
  if (value === undefined) throw new ReferenceError(`${key} is not defined in calls`)
  if (value?.[known] || isDelegable(value)) return value
  throw wrongType(`calls.${key}`, 'a generator function, as preemptify returns', value)
}

/**
 * @typedef {object} PreemptifyOptions
 * @property {Record<string, any> | (() => any)[]} [scope] the values of variables that the function closes
 *   over, by name. Alternatively `[() => limit]`: the function then reads the current value of `limit`, and
 *   minifiers rename `limit` correctly. A generator function in `scope` is called as a preemptible function
 * @property {(source: string) => any} [evaluate] `s => eval(s)`, written in the scope where the function was
 *   defined: the rewritten function then has the same variables, `this` and strictness as the original
 * @property {Record<string, any> | (() => any)[]} [calls] preemptible functions, by the names in the calls.
 *   Functions that are added to the object later are found as well. Alternatively `[() => helper]`, as in
 *   `scope`
 * @property {boolean} [strict] `true` if the function is strict, for sources and engines that do not show it;
 *   default: strict if the source is valid strict code
 * @property {boolean} [budgeted] `false` if every point must yield; by default a point counts the budget:
 *   `if (--budget.left <= 0) yield`
 * @property {any} [this] the `this` of an arrow function
 * @property {object} [home] the object or prototype that a method with `super` belongs to
 */
/**
 * The preemptible version of a function: a generator function with the rewritten text as `source`.
 *
 * @template This @template {any[]} A @template R
 * @typedef {((this: This, ...args: A) => Generator<Yieldable, Outcome<R>, unknown>) & { readonly source:
 *   string }} Preemptible
 */
/**
 * A class or an object whose methods named by `M` are preemptible.
 *
 * @template O @template M
 * @typedef {O extends abstract new (...args: infer A) => infer I
 *   ? { new (...args: A): WithMethods<I, M> } & { [K in Exclude<keyof O, 'prototype'>]: O[K] }
 *   : { [K in keyof O]: K extends M ? O[K] extends (this: infer This, ...args: infer A) => infer R
 *     ? Preemptible<This, A, R> : O[K] : O[K] }} WithMethods
 */

/**
 * Turns an ordinary function into a generator function with preemption points, so that it can run as a job.
 * The source of the function (`Function.prototype.toString`) is rewritten at run time by the rules of RT.js
 * (III-B, Table I).
 *
 * Preemption points are added at the start of the function, at the start of each loop body, and before each
 * statement that is a call. Calls of the function itself, of functions in `calls` and of generator functions
 * in `scope` become preemptible calls. `await` yields a promise. Nested functions stay unchanged.
 *
 * A call inside an expression has no preemption point: `x = f(y)` runs `f` to completion unless `f` is
 * preemptible. Built-in functions cannot be preempted either, for example `sort` with a comparator or a long
 * regular expression. Preemptible methods are found by their names: `this.step()`, not `o['step']()`. A loop
 * of only names, operators and elements counts its budget in a copy: if a Proxy or a `valueOf` in the loop
 * makes a more urgent job ready, that job waits until the budget ends. Infinite recursion fails with a
 * RangeError after two million calls, because the scheduler keeps these calls, not the stack of the engine.
 * If the page has `require-trusted-types-for 'script'`, pass `evaluate: s => eval(policy.createScript(s))`.
 *
 * @template This @template {any[]} A @template R
 * @overload
 * @param {(this: This, ...args: A) => R} fn a function, arrow function, method, async function or generator
 * @param {PreemptifyOptions} [options]
 * @returns {Preemptible<This, A, R>} a generator function with the same name and length, and with its text
 *   as `source`
 *
 * @example
 * const isPrime = preemptify(function isPrime(n = 0) {
 *   for (let d = 2; d * d <= n; d++) if (n % d === 0) return false
 *   return true
 * })
 * console.log(await rt.spawn(isPrime, { deadline: 1000 }, 2 ** 31 - 1)) // → true
 */
/**
 * Turns methods of a class or an object into generator functions with preemption points.
 *
 * @template {object} O @template {string} M
 * @overload
 * @param {O} fn a class or an object
 * @param {PreemptifyOptions & { methods: readonly (M & (O extends abstract new (...args: any) => infer I ?
 *   keyof I : keyof O))[] }} options `methods`: the names of the methods to rewrite
 * @returns {WithMethods<O, M>} a new class or object
 */
/**
 * @param {any} fn @param {any} [options]
 * @returns {any}
 * @throws {TypeError} if `fn` cannot be rewritten: native, bound or proxied functions, accessors,
 *   constructors, async generators
 * @throws {SyntaxError} if a preemptible function is called where a `yield` is not allowed
 * @throws {EvalError} if the Content-Security-Policy of the page forbids evaluation
 */
export function preemptify(fn, options = {}) {
  const { methods, ...others } = knownOptions(options, KNOWN_OPTIONS)
  if (methods === undefined) {
    callable('fn', fn)
    if (fn[known]) return fn
    const twin = twinOf(fn)
    if (twin !== undefined) return published(twin, fn)
    const isDefault = keysOf(others).length === 0
    const result = (isDefault && (rewritten.get(fn) ?? (isWhole(fn) && wrapped(fn)))) ||
      shielded(rewriting, [fn, others])
    if (isDefault) rewritten.set(fn, result)
    return result
  }
  if (!isArray(methods) || filter(methods, name => typeof name !== 'string').length) {
    throw wrongType('methods', 'an array of names', methods)
  }
  if (typeof fn === 'function') return shielded(rewriting, [fn, others, methods, true])
  if (!isObject(fn)) throw wrongType('fn', 'a class or an object with methods', fn)
  const home = withPropertiesOf(fn, create(getPrototypeOf(fn)))
  // A call of a generator method makes an iterator, so it does not become a preemptible call.
  const members = filter(methods, key => !isGeneratorFunction(fn[key]))
  for (let i = 0; i < methods.length; i++) {
    const key = methods[i]
    const method = callable(`method ${key}`, getOwnPropertyDescriptor(fn, key)?.value)
    const value = shielded(rewriting, [method, { ...others, home }, members])
    defineProperty(home, key, /** @type {any} */ ({ __proto__: null, value }))
  }
  return home
}

/**
 * The emitter context of one function, or of the methods of a class.
 *
 * @typedef {Emitter & {
 *   fn: any, options: any, label: string, tree: Node, bindings: Map<string, any>, helpers: string[],
 *   links: Links, isVisible: boolean
 * }} FunctionEmitter
 *
 * `options` are the options of `preemptify`. `label` starts each error message. `bindings` are the parameters
 * of the function around the compiled text, with their values. `helpers` are the declarations in that
 * function. `isVisible` is `true` if `evaluate` finds the original function by its name.
 */

/**
 * The callees of a rewritten function. Rewritten code keeps this record, but not the syntax tree.
 *
 * @typedef {object} Links
 * @property {any} fn the original function
 * @property {any} self the generator function, after its compilation
 * @property {() => any} own returns `self`
 * @property {Map<string, { callee: any, get: () => any }>} table the preemptible functions by their names:
 *   `callee` if the function is constant, and a getter of the current function
 * @property {Map<string, () => any>} live getters of the variables that the function reads by `() => name`
 * @property {string[]} values the names whose values are in `scope`
 * @property {Set<string>} preemptible the names of members that may be preemptible
 * @property {Set<any> | null} generators the generator functions that calls run as a part of the caller,
 *   instead of making an iterator; null: all
 * @property {(key: string) => boolean} mayCome whether `calls` may get a function of this name later
 */

/** @param {string} key */
const isUnknown = key => !(key in globalThis) && !isOwnWord(key)

/**
 * @param {any} fn @param {any} options the options of `preemptify` @param {string[]} methods
 * @returns {Links}
 */
function linksOf(fn, options, methods) {
  const { scope = {}, evaluate, calls } = options
  /** @type {Links['table']} */
  const table = emptyMap()
  /** @type {Links['live']} */
  const live = emptyMap()
  /** @type {Links['preemptible']} */
  const preemptible = emptySet()
  const generators = evaluate ? emptySet() : null
  forEach(methods, key => preemptible.add(key))
  /** @param {any} value the value of a variable */
  const enlistMembers = value => {
    for (let holder = value; typeof holder === 'object' && holder; holder = getPrototypeOf(holder)) {
      forEach(keysOf(getOwnPropertyDescriptors(holder)), key => {
        const member = getOwnPropertyDescriptor(holder, key)?.value
        if (!isDelegable(member)) return
        preemptible.add(key)
        generators?.add(member)
      })
    }
  }
  /** @type {string[]} */
  const values = []
  forEach(variablesOf('scope', scope), ({ 0: key, 1: get }) => {
    const value = valueOf(get)
    if (isArray(scope)) live.set(key, get)
    else push(values, key)
    if (isDelegable(value)) table.set(key,
      isArray(scope) ? { callee: undefined, get } : { callee: value, get: () => value })
    enlistMembers(value)
  })
  const isByName = calls !== undefined && !isArray(calls)
  forEach(variablesOf('calls', calls ?? []), ({ 0: key, 1: get }) => {
    const value = isByName ? getOwnPropertyDescriptor(calls, key)?.value : valueOf(get)
    if (value !== undefined) delegable(key, value)
    if (!isByName) live.set(key, get)
    table.set(key, { callee: isByName ? value : undefined, get: () => delegable(key, get()) })
    preemptible.add(key)
  })
  /** @type {Links} */
  const links = {
    fn,
    self: null,
    own: () => links.self,
    table,
    live,
    values,
    preemptible,
    generators,
    mayCome: key => !evaluate && isByName && isUnknown(key)
  }
  return links
}

/**
 * Rewrites one function into a generator function, or the methods of a class.
 *
 * @param {any} fn @param {any} options the options of `preemptify`
 * @param {string[]} [methods] the names of all methods that are rewritten in one call
 * @param {boolean} [isClass] whether `fn` is the class of the methods
 * @returns {any} the generator function, or the class
 */
function rewriting(fn, options, methods = [], isClass = false) {
  checkPatterns()
  const source = sourceOf(fn)
  const label = `preemptify(${nameIn(fn) || 'anonymous'})`
  if (matches(NO_SOURCE, source)) {
    throw refusal(label, 'a native, bound or proxied function; give the one behind it')
  }
  for (let i = 0; i < OPTION_NAMES.length; i++) {
    const key = OPTION_NAMES[i]
    const type = OPTIONS[key]
    const value = options[key]
    if (value !== undefined &&
      (value === null || !holds(type, typeof value))) throw wrongType(key, type, value)
  }
  const links = linksOf(fn, options, methods)
  const tree = read(source, 'function')
  const target = tree.body[0]
  if (isClass && target.type !== 'ClassExpression') throw wrongType('fn',
    'a class or an object with methods', fn)
  const own = isClass ? null : functionIn(target, label)
  // The name of a function expression is resolved like a variable outside the function.
  const ownName = own?.id ? own.id.name : ''
  if (own) own.id = null
  const free = analyseScopes(tree)
  const our = prefixFor(`${source} ${join(links.values, ' ')}`)
  /** @type {FunctionEmitter} */
  const emitter = {
    fn, options, label, source, tree, free, our, unit: our, links, edits: [], variables: emptySet(),
    bindings: emptyMap(), helpers: [],
    written: { has: node => node.call || isCallStatement(node) }, spell: text => text, isVisible: false,
    around: null,
    helper: key => bind(emitter, HELPERS[key].name,
      key === 'e' || key === 'E' ? wayTo(links, 'call', key === 'E')
        : key === 'w' ? wayTo(links, 'awaited') : runtime[HELPERS[key].name]),
    budget: `${our}budget`, inlineCaches: null, says: false, begin: '', steps: '', self: 'this',
    isOfModule: false,
    isCounted: options.budgeted !== false, layout: null, callee: '', claims: [], canWait: true,
    lock: '', identity: ''
  }
  bind(emitter, 'budget', budget)
  return own ? rewriteFunction(emitter, own, ownName) : rewriteClass(emitter, target, methods)
}

/** The part of the message that explains why `eval` failed. */
const FORBIDDEN = "the Content-Security-Policy forbids eval (script-src lacks 'unsafe-eval', or " +
  "require-trusted-types-for 'script'), or Node does (--disallow-code-generation-from-strings)"

/** The name of a function; '' if the name is not a string or cannot be read. */
const nameIn = extend.nameOf

/**
 * The name of a function as the key of a property. Without brackets, `__proto__` would set a prototype.
 *
 * @param {any} fn
 */
function keyOf(fn) {
  const name = stringify(nameIn(fn))
  return name === '"__proto__"' ? `[${name}]` : name
}

/** @param {string} name @returns {string} the name as part of a URL, which cannot contain lone surrogates */
function urlPartOf(name) {
  try {
    return encodeURIComponent(name)
  } catch {
    return 'anonymous'
  }
}

/** @param {string} label @param {string} reason */
const refusal = (label, reason) => new TypeError(`${label}: ${reason}`)

/** @param {string} label */
const constructing = label =>
  refusal(label, 'a constructor or an accessor cannot be a generator; give a method, or { methods: [...] }')

/** @param {Node} node a function @param {string} label @returns {Node} the same, if it can be a generator */
function drivable(node, label) {
  if (!node.async || !node.generator) return node
  throw refusal(label, 'an async generator cannot be driven; write one that yields promises')
}

/** @param {Node} target the root of the source @param {string} label @returns {Node} the function in it */
function functionIn(target, label) {
  const { type, kind, value } = target
  const isMethod = type === 'Property'
  if (type === 'ClassExpression' || (isMethod && kind !== 'init')) throw constructing(label)
  return drivable(isMethod ? value : target, label)
}

/**
 * Makes a value available to the compiled text.
 *
 * @param {FunctionEmitter} emitter @param {string} key @param {any} value
 * @returns {string} the name of the value in the text
 */
function bind({ our, bindings }, key, value) {
  bindings.set(our + key, value)
  return our + key
}

/** Replaces a name by another text. @param {Emitter} emitter @param {Node} name @param {string} text */
function write(emitter, { start, end, parent }, text) {
  const property = parent.type === 'AssignmentPattern' ? parent.parent : parent
  const isKey = property.shorthand && property.key.start === start
  replace(emitter, start, end, isKey ? `${slice(emitter.source, start, end)}: ${text}` : text)
}

// Names

/** Whether a `with` statement may resolve a name. @param {Scope} scope the scope of the reference */
function isHidden({ barrier }) {
  while (barrier && barrier.node.type !== 'WithStatement') barrier = barrier.parent && barrier.parent.barrier
  return !!barrier
}

/**
 * Resolves the names that the source does not declare: binds their values, and enters callees in the table.
 *
 * @param {FunctionEmitter} emitter @param {string} ownName
 * @param {boolean} isNamed whether the function has this name in its source
 * @returns {string[]} the names that could not be resolved
 */
function resolveNames(emitter, ownName, isNamed) {
  const { fn, options, label, free, bindings, links } = emitter
  const { scope = {}, evaluate, calls } = options
  const { table, live, values, mayCome } = links
  forEach(values, key => (free[key] || emitter.tree.scope.hasEval) && bindings.set(key, scope[key]))
  if (evaluate) {
    // `s => eval(s)` hides a variable called s.
    const list = exec(/([^()]*)\)?\s*(?:=>|\{)/, sourceOf(evaluate))?.[1] ?? ''
    const name = /[^\s,]+/g
    for (let match; (match = exec(name, list));) {
      const key = match[0]
      if (free[key] && !(key in scope) && !table.has(key) && !live.has(key)) {
        throw refusal(label, `a variable ${key} is hidden by the parameter of evaluate; rename that`)
      }
    }
    try {
      emitter.isVisible = !!free[ownName] && fn === evaluate(ownName)
    } catch {} // undeclared, or in its temporal dead zone
  }
  if (free[ownName] && !table.has(ownName) && !bindings.has(ownName) && (emitter.isVisible || isNamed)) {
    table.set(ownName, { callee: undefined, get: links.own })
    if (!emitter.isVisible) bindings.set(ownName, fn)
  }
  /** @type {string[]} */
  const lost = []
  if (evaluate) return lost
  const keys = keysOf(free)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]
    if (mayCome(key) && !table.has(key) && !bindings.has(key) && find(free[key], isCalled)) {
      table.set(key, { callee: undefined, get: laterIn(calls, key) })
    }
    if (bindings.has(key) || live.has(key)) continue
    const callee = table.get(key)?.callee
    if (callee) bindings.set(key, originalOf(callee))
    else if (isWhole(fn) && matches(CLAIM, key)) bindings.set(key, unclaimed(key))
    else if (isUnknown(key)) push(lost, key)
  }
  return lost
}

/** Names with which the text of a function without a twin makes claims: see claimed.mjs. */
const CLAIM = /^\$[\w$]*(?:[PQ]\d+|[bFJZ])$/

/**
 * Returns a value that makes no claims, for a name in another copy of a function.
 *
 * @param {string} key a name that matches CLAIM @returns {any}
 */
function unclaimed(key) {
  switch (key[key.length - 1]) {
    case 'b': return { i: 0 }
    case 'Z': return runtime.first
    case 'F': return () => new Arguments(0, [])
    default: return () => false
  }
}

// Calls of preemptible functions

/**
 * Throws a SyntaxError if a call of a preemptible function is in code that cannot yield.
 *
 * @param {FunctionEmitter} emitter @param {Node} call @param {string} zone
 */
function refuseToYield(emitter, call, zone) {
  const found = linkOf(emitter, call)
  if (!found || found.get === emitter.links.own) return
  const { label, source } = emitter
  const { name, start } = calledIn(call)
  throw new SyntaxError(`${label}: ${name}() in ${zone} (${placeOf(source, start)}) cannot yield; ` +
    'move it into the function itself')
}

/**
 * Resolves the callee of a call, if the callee may be preemptible.
 *
 * @param {FunctionEmitter} emitter @param {Node} call
 */
function linkOf({ links }, call) {
  const { type, name, variable, scope } = calledIn(call)
  const isFree = type === 'Identifier' && variable === null && call.type !== 'NewExpression' &&
    !isHidden(scope)
  return isFree ? links.table.get(name) : undefined
}

/**
 * Collects the calls in a function that must become preemptible calls.
 *
 * @param {FunctionEmitter} emitter @param {any} plan @returns {CallSite[]}
 */
function linkedCalls(emitter, plan) {
  const { facts, node: own } = plan
  const { body } = own
  /** @type {CallSite[]} */
  const calls = []
  const inner = [facts]
  while (inner.length) {
    const { calls, functions, isGenerator } = takeLast(inner)
    forEach(functions, nested => push(inner, nested))
    if (isGenerator) continue
    if (calls !== facts.calls) forEach(calls, call => refuseToYield(emitter, call, 'nested code'))
    else forEach(calls, call => call.start < body.start && refuseToYield(emitter, call, 'its parameters'))
  }
  forEach(facts.calls, node => {
    const { type, tag } = node
    const callee = calledIn(node)
    if (node.start < body.start) return
    const found = linkOf(emitter, node)
    const isLinked = found || (type === 'CallExpression' && isMember(callee) && !callee.computed &&
      emitter.links.preemptible.has(nameOf(callee.property)))
    const linkedKind = tag ? 'tag' : found ? 'call' : 'member'
    const kind = isLinked ? linkedKind : facts.hasWith ? '' : unlinkedKind(emitter, node)
    if (kind === '') return
    const call = callSite(node, kind, null, own, '')
    if (!found || nameCallee(emitter, call, plan, found)) push(calls, node.call = call)
  })
  return calls
}

/**
 * Returns the kind of a call whose callee may have a twin. Only with `evaluate` can any variable be a callee.
 *
 * @param {FunctionEmitter} emitter @param {Node} call
 * @returns {string} the result of `kindOf`, or an empty text if the call stays unchanged
 */
const unlinkedKind = ({ options }, call) =>
  !options.evaluate || isDirectEval(call) || call.callee?.object?.type === 'Super' ? '' : kindOf(call)

/**
 * Chooses the text of the callee in a call of a known name.
 *
 * @param {FunctionEmitter} emitter @param {CallSite} call @param {any} plan the plan of the calling function
 * @param {any} found the entry of the name in `links.table`
 * @returns {boolean} `true` if the call becomes a preemptible call
 */
function nameCallee(emitter, call, plan, { callee: value, get }) {
  const { links, isVisible } = emitter
  const { node: own } = plan
  const { node, isAwaited } = call
  const callee = calledIn(node)
  const { name } = callee
  const isOwn = get === links.own
  if (own.generator && node.parent.type === 'YieldExpression') { // the scheduler makes the call
    node.call = call
    replace(emitter, callee.start, callee.end, `${bind(emitter, `generator_${name}`, get)}()`)
    return false
  }
  // An async function that is not awaited runs concurrently with its caller, and a call of a generator
  // function makes an iterator. The original function does both.
  if (isOwn && (own.generator || (own.async && !isVisible && !isAwaited))) return false
  const way = isAwaited ? 'awaited' : 'call'
  if (!isOwn) {
    call.name = value ? bind(emitter, `${way}_${name}`, wayOf(links, value, way))
      : `${bind(emitter, `${way}_${name}`, wayLater(links, get, way))}()`
  } else if (!isVisible) call.target = plan
  return true
}

// These are top-level functions, because a closure keeps all variables of its function alive.
/** @param {Links} links @param {string} way @param {boolean} [isMethod] */
const wayTo = (links, way, isMethod = false) => (/** @type {any} */ callee) => {
  const found = wayOf(links, callee, way)
  return isMethod ? asMethod(found) : found
}
/** @param {Links} links @param {() => any} get @param {string} way */
const wayLater = (links, get, way) => () => wayOf(links, get(), way)
/** @param {() => any} get */
const originalLater = get => () => originalOf(get())
/** @param {any} calls @param {string} key */
const laterIn = (calls, key) => () => delegable(key, calls[key])

/** @param {Node} key the key of a member @returns {string} the name, with the # of a private name */
const nameOf = ({ type, name }) => type === 'PrivateIdentifier' ? `#${name}` : name

/**
 * Returns the function that a preemptible call invokes in place of the callee. The callee can be a
 * preemptible function, the original of one in the table, a function with a twin, or a generator function.
 *
 * @param {Links} links @param {any} callee @param {string} way 'call' or 'awaited'
 */
function wayOf({ fn, self, table, generators }, callee, way) {
  const found = (callee === fn ? self : callee)?.[known]?.[way]
  if (found) return found
  if (twinOf(callee)) return way === 'awaited' ? awaitedEntryPointOf(callee) : entryPointOf(callee)
  if (typeof callee !== 'function' || isGeneratorFunction(callee)) {
    const runsGenerator = generators === null || generators.has(callee)
    return runsGenerator ? wayInto(callee) : callee
  }
  let target = callee
  table.forEach(({ get }) => {
    const others = valueOf(get)?.[known]
    if (others?.original === callee) target = others[way]
  })
  return target
}

/**
 * Replaces words that mean something else in the generator function (`this`, `new.target`, `super`,
 * `arguments`, `yield`), and names of variables that the function must read by a getter.
 *
 * @param {FunctionEmitter} emitter @param {Node} own @param {string} ownName
 */
function replaceWords(emitter, own, ownName) {
  const { fn, options, label, source, our, free, helpers, links, bindings, tree } = emitter
  const { isArrow, isGenerator } = own.facts
  /** @param {Node[]} nodes @param {string} key @param {string} get @param {string} set two texts of code */
  const reach = (nodes, key, get, set) => {
    for (let i = 0; i < nodes.length; i++) {
      const member = `${our}${key}.${nodes[i].parent.operator === 'typeof' ? 'typed' : 'value'}`
      write(emitter, nodes[i], isCalled(nodes[i]) ? `(0, ${member})` : member)
    }
    if (nodes.length) push(helpers,
      `const ${our}${key} = ${bind(emitter, 'access', access)}(() => ${get}, value => { ${set} });`)
  }
  /** @param {string} key @returns {Node[]} */
  const mentionsOf = key =>
    filter(free[key] ?? [], node => !isHidden(node.scope) && !(isCalled(node) && node.parent.call))
  /** @param {string} key */
  const reachName = key => {
    const nodes = mentionsOf(key)
    reach(nodes, key, key, find(nodes, isTarget) ? `${key} = value` : '')
  }
  if (isArrow) {
    /** The words in the arrow function and in the arrow functions inside it. @type {Node[]} */
    const words = []
    const unvisited = [own.facts]
    while (unvisited.length) {
      const facts = takeLast(unvisited)
      forEach(facts.words, word => push(words, word))
      forEach(facts.functions, inner => inner.isArrow && push(unvisited, inner))
    }
    if (options.evaluate && !options.home && own.facts.usesSuper) {
      forEach(words, ({ type, start, end, parent }) => {
        if (type !== 'Super') return
        replace(emitter, start, end, `${our}super`)
        if (!isCalled(parent) || parent.parent.optional) return
        const open = seek(source, '(', parent.end)
        replace(emitter, open, open + 1, `.call(${our}super(), `)
      })
      const proxy = bind(emitter, 'Proxy', engine.Proxy)
      push(helpers, `const ${our}super = new ${proxy}(() => this, { get: (_, key) => super[key], ` +
        'set: (_, key, value) => (super[key] = value, true) });')
    }
    const given = 'this' in options ? bind(emitter, 'given', options.this) : 'this'
    reach(filter(words, ({ type }) => type === 'ThisExpression'), 'this', given, '')
    reach(filter(words, ({ meta }) => meta?.name === 'new'), 'target', 'new.target', '')
    reachName('arguments')
  }
  if (!isGenerator) reachName('yield')
  forEach(tree.special, node => {
    const { name, variable, parent, start, end } = node
    if (name === 'yield' ? isGenerator : !isArrow) return
    if (parent.label === node) replace(emitter, start, end, labelOf(emitter, node))
    else if (variable && isOurs(variable.scope.facts, own)) write(emitter, node, our + name)
  })
  links.live.forEach((/** @type {() => any} */ get, /** @type {string} */ key) => {
    const nodes = mentionsOf(key)
    if (find(nodes, isTarget)) {
      throw refusal(label,
        `${key} cannot be assigned to through () => ${key}; give { evaluate: s => eval(s) }`)
    }
    reach(nodes, `variable_${key}`, `${bind(emitter, `get_${key}`, originalLater(get))}()`, '')
  })
  // Strict code throws at an assignment to the name of a function expression; sloppy code ignores it.
  const nodes = mentionsOf(ownName)
  if (bindings.get(ownName) !== fn || !find(nodes, isTarget)) return
  const original = bind(emitter, 'original', fn)
  const assignment = `${ownName} = value })()`
  reach(filter(nodes, ({ scope }) => !scope.isStrict), 'name', original,
    `(function ${ownName}() { ${assignment}`)
  reach(filter(nodes, ({ scope }) => scope.isStrict), 'strictName', original,
    `(function ${ownName}() { 'use strict'; ${assignment}`)
}

/** @param {Node} reference @returns {boolean} */
const isTarget = reference => reference.isWritten

/**
 * @param {Facts} facts @param {Node} own
 * @returns {boolean} whether the summary is of the function, or of an arrow function in it
 */
function isOurs(facts, own) {
  while (facts.isArrow && facts.node !== own && facts.parent) facts = facts.parent
  return facts.node === own
}

// Linking

/**
 * Returns the compilation plan of the function, with its preemptible calls.
 *
 * @param {FunctionEmitter} emitter @param {Node} own @returns {any} a plan for `planTwin`
 */
function planOfFunction(emitter, own) {
  const { facts } = own
  if (facts.awaitsDisposal) throw refusal(emitter.label,
    'await using cannot be driven; write a generator that yields what disposing gives')
  const plan = {
    node: own, facts, children: [], calls: /** @type {CallSite[]} */ ([]),
    frame: /** @type {Fragments} */ (null), entry: '', twin: `${emitter.our}self`,
    isLong: true, isDirect: true, isCalledDirectly: false, opening: [], closing: [], isHoisted: false,
    mark: '',
    title: nameIn(emitter.fn) ? asKey(nameIn(emitter.fn)) : ''
  }
  plan.calls = linkedCalls(emitter, plan)
  return plan
}

/**
 * Collects the edits that turn the function into a generator function.
 *
 * @param {FunctionEmitter} emitter @param {any} plan
 */
function planFunction(emitter, plan) {
  const { node, facts } = plan
  emitter.variables = emptySet()
  emitter.around = null
  forEach(facts.statements, statement => {
    if (!isCallStatement(statement)) return
    const { start, end } = statement
    const point = pointIn(emitter, statement, node)
    statement.separatedIn = emitter
    if (isInList(statement)) insert(emitter, start, STATEMENT_EDGE, end, `${point} `)
    else enclose(emitter, start, end, STATEMENT_EDGE, `{ ${point} `, ' }')
  })
  planTwin(emitter, plan)
  if (plan.entry || !plan.isCalledDirectly) return
  push(plan.opening, `${emitter.helper('g')}(`)
  push(plan.closing, ')')
}

/**
 * Prints the entry of the function: a twin that saves its state in frames when it suspends.
 *
 * @param {FunctionEmitter} emitter the emitter with all edits so far @param {any} plan
 * @returns {string} the text of the entry, or 'null'
 */
function entryText(emitter, plan) {
  const other = { ...emitter, edits: pushAll([], emitter.edits), variables: emptySet() }
  markResumePoints(plan, false)
  plan.frame = optimisations.frame ? frame(other, plan) : null
  if (!plan.frame) return 'null'
  plan.entry = `${emitter.our}begin`
  planFrame(other, plan.calls)
  inOrder(other.edits)
  return print(emitter.source, [withTitle(plan.title, textOfFrame(other, plan), isConcise(plan))])
}

/**
 * @param {FunctionEmitter} emitter @param {Node} own @param {string} ownName
 * @returns {any} the generator function
 */
function rewriteFunction(emitter, own, ownName) {
  const { fn, options, label, source, our, free, links, edits, tree } = emitter
  const { evaluate, home } = options
  const { isArrow, usesThis, usesSuper, usesNewTarget, hasWith } = own.facts
  if (!evaluate) {
    if (usesSuper && !home) throw refusal(label,
      'super needs its object, { home }, or the whole, { methods: [...] }')
    if (isArrow && (usesNewTarget || (usesThis && !('this' in options)) || free.arguments)) {
      throw refusal(label,
        'this and arguments of an arrow function are of the code around it; give { this: value }, or ' +
        '{ evaluate: s => eval(s) }')
    }
  }
  if (isArrow) emitter.self = `${our}this.value`
  const lost = resolveNames(emitter, ownName || nameIn(fn), ownName !== '')
  const plan = planOfFunction(emitter, own)
  replaceWords(emitter, own, ownName || nameIn(fn))
  const canBegin = emitter.isCounted && !tree.scope.hasEval && !tree.special.length && !hasWith &&
    !usesNewTarget && !usesSuper
  const entry = canBegin ? entryText(emitter, plan) : 'null'
  planFunction(emitter, plan)
  inOrder(edits)

  // The budget is a member of this object, where `with` and methods with `super` find it.
  const holder = usesSuper && home ? superOf(home, emitter.budget)
    : { __proto__: null, [emitter.budget]: budget }
  const around = bind(emitter, 'around', holder)
  const quoted = keyOf(fn)
  const member = hasWith || (usesSuper && home) ? `__proto__: ${around}, *${quoted}` : `${quoted}: function* `
  const rest = print(source, textOfTwin(emitter, plan))
  const { 0: inner, 1: begin } = compiled(emitter, member + rest, entry)
  const self = links.self = own.async || lost.length ? wrapping(inner, own.async, label, lost) : inner
  return publish(self, fn, `function* ${rest}`, own.async, self === inner && begin || wayInto(self))
}

/**
 * Returns an object for `super`: it has the members of the current prototype of the home object, and the
 * budget.
 *
 * @param {object} home @param {string} budgetName
 */
function superOf(home, budgetName) {
  const prototype = () => /** @type {object} */ (getPrototypeOf(home))
  return new Proxy({ __proto__: null }, {
    get: (_, key, self) => key === budgetName ? budget : reflectGet(prototype(), key, self),
    set: (_, key, value, self) => reflectSet(prototype(), key, value, self)
  })
}

/**
 * @param {FunctionEmitter} emitter @param {Node} target @param {string[]} methods
 * @returns {any} a new class with its own private names and its own `super`
 */
function rewriteClass(emitter, target, methods) {
  const { fn, label, source, links, edits } = emitter
  /** The methods by name; a static and an instance method can share a name. @type {Map<string, any[]>} */
  const made = emptyMap()
  forEach(methods, key => made.set(key, []))
  /** @type {Node[]} */
  const functions = []
  forEach(target.body.body, ({ type, start, end, key, value, kind, computed, static: isStatic }) => {
    if (type !== 'MethodDefinition' || computed) return
    const name = nameOf(key) ?? key.value ?? slice(source, key.start, key.end)
    if (!made.has(name)) return
    if (kind !== 'method') throw constructing(label)
    const from = isStatic ? pastSpace(source, start + 6) : start
    insert(emitter, start, -BODY_EDGE, 0, ';') // after a field without a semicolon
    replace(emitter, from, key.start, '*')
    push(functions, drivable(value, label))
    push(made.get(name), { isStatic, async: value.async, from, to: end })
    if (value.generator) links.preemptible.delete(name) // a call makes an iterator
  })
  made.forEach((parts, key) => {
    if (!parts.length) throw refusal(label, `${key} is no method`)
  })
  resolveNames(emitter, '', false)
  forEach(functions, own => planFunction(emitter, planOfFunction(emitter, own)))
  inOrder(edits)
  const edited = (/** @type {number} */ from, /** @type {number} */ to) =>
    print(source, [range(emitter, from, to)])
  const text = edited(0, source.length)
  const result = compiled(emitter, `${keyOf(fn)}: ${text}`)[0]
  made.forEach((parts, key) => forEach(parts, ({ isStatic, async, from, to }) => {
    const holder = isStatic ? result : result.prototype
    if (!hasOwn(holder, key)) return // private
    publish(holder[key], (isStatic ? fn : fn.prototype)[key], edited(from, to), async, wayInto(holder[key]))
  }))
  if (!hasOwn(result, 'source')) define(result, 'source', text)
  return result
}

/**
 * Evaluates a member of an object, together with the bindings and helpers that the member refers to. The
 * code runs in the scope of `evaluate`, or in the global scope.
 *
 * @param {FunctionEmitter} emitter @param {string} member
 * @param {string} [begin] the text of the entry of the member; a class has none
 * @returns {any[]} the member and its entry
 */
function compiled({ fn, options, label, our, bindings, helpers }, member, begin) {
  const { strict, evaluate } = options
  let mode = strict
  let isOpen = false // whether sloppy mode can still be tried
  if (strict === undefined && !evaluate) {
    // A plain function with a readable `caller` is sloppy. For other functions strict mode is tried first.
    try {
      void fn.caller
    } catch {
      isOpen = mode = true
    }
  }
  // V8 parses a function in parentheses once and an arrow function twice. But only an arrow function has the
  // `this` of the code around it.
  const list = `(${join(listOf(bindings), ', ')})`
  const head = !begin || helpers.length ? `${list} =>` : `function ${list}`
  const body = `${join(helpers, ' ')} const ${our}holder = { ${member} }, ${our}self = ${our}holder[${
    stringify(nameIn(fn))}], ` +
    `${our}begin = ${begin}; return [${our}self, ${our}begin]`
  const url = `preemptify/${++compilations}/${urlPartOf(nameIn(fn) || 'anonymous')}.js`
  /** @returns {any} */
  const attempt = () => {
    const directive = mode ? "'use strict'; " : ''
    try {
      return (evaluate ?? eval)(`(${head} { ${directive}${body} })\n//# sourceURL=${url}`)
    } catch (error) {
      const isInvalid = error instanceof SyntaxError
      if (isInvalid && isOpen) {
        isOpen = mode = false
        return attempt()
      }
      if (!isInvalid && !(error instanceof EvalError)) throw error
      throw new /** @type {any} */ (error).constructor(`${label}: ${isInvalid
        ? `${error.message}; super and private names need { methods: [...] }, or { evaluate } from inside`
        : `${FORBIDDEN}; write a generator with a yield`}`, { cause: error })
    }
  }
  const make = attempt()
  if (typeof make !== 'function') throw wrongType('evaluate', 's => eval(s)', evaluate)
  /** @type {any[]} */
  const values = []
  bindings.forEach(value => push(values, value))
  return apply(make, undefined, values)
}

/**
 * Gives a generator function the name, the length and the record of a preemptible function. A call of an
 * async function that is not awaited runs concurrently with its caller, so it has a separate entry.
 *
 * @param {any} generatorFunction @param {any} original @param {string} source @param {boolean} isAsync
 * @param {Function} awaited the entry of awaited calls
 */
function publish(generatorFunction, original, source, isAsync, awaited) {
  const { name, length } = original
  const call = isAsync ? asyncEntry(generatorFunction, original) : awaited
  /** @type {any} */
  const properties = { name, length, source, [known]: { original, awaited, call } }
  forEach(ownKeys(properties), key => define(generatorFunction, key, properties[key]))
  return generatorFunction
}

/**
 * Wraps a generator function: awaits the result of an async function, and adds to the error of an unresolved
 * variable how to pass the variable.
 *
 * @param {any} inner @param {boolean} isAsync @param {string} label @param {string[]} lost
 */
const wrapping = (inner, isAsync, label, lost) =>
/** @this {any} @param {any[]} args @returns {any} */ function* (...args) {
  try {
    const result = yield* defineProperties(apply(inner, this, args), steps)
    return isAsync && isObject(result) ? yield wait(result) : result
  } catch (error) {
    // These are the messages of the engines for undeclared variables. Errors of the dead zone stay unchanged.
    const name = error instanceof ReferenceError && find(lost, name =>
      startsWith(error.message, `${name} is not defined`) || error.message === `Can't find variable: ${name}`)
    if (!name) throw error
    throw new ReferenceError(`${name} is not defined: ${label} evaluates the source anew; give ` +
      `{ evaluate: s => eval(s) }, { scope: { ${name} } } or, if it is preemptible, { calls: { ${name} } }`,
    { cause: error })
  }
}

/** @param {Twin} twin @param {any} fn @returns {any} the preemptible version of a function with a twin */
function published(twin, fn) {
  if (twin.outer?.[known]) return twin.outer
  const outer = outerTwinOf(twin, fn)
  const isBeside = isAsync(fn)
  const whole = isBeside ? wrapping(outer, true, '', []) : outer
  const source = sourceOf(generatorOf(twin, fn))
  return twin.outer = publish(whole, fn, source, isBeside, awaitedEntryPointOf(fn))
}

/**
 * Wraps a function of rewritten code that has no twin. The source of the function cannot be evaluated again,
 * because its variables are not known.
 *
 * @param {any} fn @returns {any} a generator function that calls it
 */
function wrapped(fn) {
  const isIterated = isGeneratorFunction(fn)
  const { claim, changes } = /** @type {any} */ (claimerOf(fn))
  const mustWait = claimingAll(claim, changes)
  /** @this {any} @param {any[]} args @returns {Generator<any, any, any>} */
  const whole = function* (...args) {
    while (mustWait(this, args)) yield takeExpected()
    const result = apply(fn, this, args)
    return isIterated ? yield* defineProperties(result, steps) : result
  }
  const isBeside = isAsync(fn)
  const made = isBeside ? wrapping(whole, true, '', []) : whole
  return publish(made, fn, sourceOf(fn), isBeside, isBeside ? wayInto(whole) : fn)
}
