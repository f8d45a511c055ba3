/**
 * addons/preemptify/effects-calls.mjs: the effects of calls.
 */

import { isMember, keyOf, targetOf } from './calls.mjs'
import {
  COPY, NAMED, add, addCallee, addTarget, calleeOf, deepOf, each, edge, either, invoke, keep, load, loadField,
  makeUnknown, markState, membersIn, outerFlow, put, release, store, touch, use, whenPut, whenStable
} from './effects-flow.mjs'
import {
  BUILT_IN, DOM, LEAVE, MATCH, READ, SHARED, SITE, WRITE, domNode, foreign, given, newCallee, newFlow,
  newSite, newSlot, pathOf, selectorOf
} from './effects-roots.mjs'
import {
  calleeNamed, callIfKnown, contain, convert, inherit, invokeAccessor, iterated, memberNamed,
  memberOfBuiltIn, pairOf, propertyOf, withGetters
} from './effects-members.mjs'
import {
  classAround, eachDescriptor, enter, exportFlow, exportOfNamespace, firstOf, isNameOfProgram, made,
  moduleFlow, nameOfKey, now, selfFlow, siteOf, specifierOfLoad, unknownFlow
} from './effects-names.mjs'
import { requiredBy } from './commonjs.mjs'
import { requiredFlow } from './effects-commonjs.mjs'
import { callHelper, defineExports, exportsDefinedBy } from './effects-interop.mjs'
import { CHANGES_NODE, CONTAINER, FINDS_NODE, FUNCTIONS, METHODS, QUIET } from './effects-tables.mjs'
import { filter, forEach, holds, lastIndexOf, matches, push, pushAll, slice } from './primordials.mjs'
import { isDirectEval } from './scopes.mjs'
/** @import { Callee, Effects, Flow, Root } from './effects-roots.mjs' */
/** @import { Node } from './scopes.mjs' */

/** @param {Node[]} list @returns {{ args: (Flow | null)[], rest: Flow | null }} */
function argumentsOf(list) {
  /** @type {(Flow | null)[]} */
  const args = []
  /** @type {Flow | null} */
  let rest = null
  for (let i = 0; i < list.length; i++) {
    if (list[i].type === 'SpreadElement' || rest !== null) rest = either(rest, list[i].flow ?? newFlow())
    else push(args, list[i].flow ?? null)
  }
  return { args, rest }
}

/** @param {Node} node @returns {Flow | null} */
export function callFlow(node) {
  const { callee, arguments: list } = node
  const { args, rest } = argumentsOf(list)
  if (isDirectEval(node)) {
    now.f.claimsAll = true
    leave(args, rest, now.f)
    return unknownFlow()
  }
  if (callee.type === 'Super') return callSuper(node, args, rest)
  const specifier = specifierOfLoad(node)
  if (specifier !== null) {
    const unit = requiredBy(now.unit.tree, node) === null ? null : now.unit.required?.(specifier)
    if (unit) return requiredFlow(unit, now.f)
    const flow = moduleFlow(specifier, node)
    // A module that is loaded once is an object of a variable.
    if (!now.f.plan.isOnce) return flow
  }
  const defined = exportsDefinedBy(node, now.unit.tree)
  if (defined) return defineExports(args[0], defined, now.f)
  const converted = callHelper(node, args, now.f, now.unit.tree)
  if (converted !== undefined) return converted
  eachDescriptor(node, (name, { properties }) => filter(properties, ({ key, computed, value }) => {
    if (!value?.flow || !matches(/^[gs]et$/, nameOfKey(key, computed))) return
    keep(value.flow)
    edge(value.flow, memberNamed(`${name}()`))
  }))
  freezeLiteral(node)
  const target = targetOf(node)
  if (target) {
    const to = resultOf(node)
    const self = isMember(callee) ? callee.object.flow : null
    invoke(/** @type {any} */ (target).effects, self, args, rest, now.f, to)
    return to
  }
  const called = callee.type === 'ChainExpression' ? callee.expression : callee
  if (isMember(called)) return callMember(called, args, rest, node)
  return callValue(callee.flow, null, args, rest, node)
}

/** Marks a literal that is frozen in place: no code can write it. @param {Node} call */
function freezeLiteral({ callee, arguments: { 0: literal } }) {
  if (!literal || !matches(/^(?:Object|Array)Expression$/, literal.type)) return
  if (!isMember(callee) || keyOf(callee) !== 'freeze' || pathOf(callee.object.flow) !== 'Object') return
  siteOf(literal.flow).isFrozen = true
}

/** @param {Node} node a call @returns {Flow | null} null: the result is not used */
const resultOf = ({ parent }) => parent.type === 'ExpressionStatement' ? null : newFlow()

/** @param {(Flow | null)[]} args @param {Flow | null} rest @param {Effects} by */
function leave(args, rest, by) {
  for (let i = 0; i < args.length; i++) touch(args[i], by, READ | LEAVE)
  touch(rest, by, READ | LEAVE)
}

/**
 * @param {Flow | null} called @param {Flow | null} self @param {(Flow | null)[]} args
 * @param {Flow | null} rest
 * @param {Node} node @returns {Flow | null}
 */
export function callValue(called, self, args, rest, node) {
  if (!called) {
    leave(args, rest, now.f)
    return unknownFlow()
  }
  const to = resultOf(node)
  const path = pathOf(called)
  if (path !== null) callBuiltIn({ args, rest, self, f: now.f, to }, path)
  else invoke(calleeOf(called), self, args, rest, now.f, to)
  return to
}

/**
 * @param {Node} node `super(...)` @param {(Flow | null)[]} args @param {Flow | null} rest
 * @returns {Flow | null}
 */
function callSuper(node, args, rest) {
  const around = /** @type {Node} */ (classAround(node))
  const self = selfFlow(node)
  const base = around.base ??= newFlow()
  includeFields(base, now.f)
  return callValue(base, self, args, rest, node)
}

/**
 * A call of a member. The functions of the name may be called, or a built-in method with that name.
 *
 * @param {Node} member @param {(Flow | null)[]} args @param {Flow | null} rest @param {Node} node
 * @returns {Flow | null}
 */
export function callMember(member, args, rest, node) {
  const { object, property, computed } = member
  const name = nameOfKey(property, computed)
  const to = resultOf(node)
  const path = pathOf(object.flow)
  if (path !== null) {
    const value = memberOfBuiltIn(path, name, node)
    return callValue(value, path === '' ? null : object.flow, args, rest, node)
  }
  if (object.type === 'Super') {
    invoke(calleeNamed(name), selfFlow(object), args, rest, now.f, to)
    return to
  }
  if (name === '') {
    const self = object.flow
    return callValue(either(propertyOf(self, ''), now.program.unnamed), self, args, rest, node)
  }
  const found = exportOfNamespace(object, name)
  if (found) return callValue(exportFlow(found), null, args, rest, node)
  const selector = selectorOf(object.flow)
  if (selector !== null && matches(FINDS_NODE, name)) return domNode(selectorIn(node, name))
  if (matches(/^(?:then|catch|finally)$/, name)) for (let i = 0; i < args.length; i++) react(object, args[i])
  callMethod(object.flow, name, args, rest, now.f, to, node)
  return to
}

/** @param {Node} call @param {string} name @returns {string} */
function selectorIn({ arguments: { 0: argument } }, name) {
  if (argument?.type !== 'Literal' || typeof argument.value !== 'string') return ''
  return name === 'getElementById' ? `#${argument.value}` : argument.value
}

/**
 * Gives the value of a promise to its reactions.
 *
 * @param {Node} promise @param {Flow | null} reactions
 */
function react(promise, reactions) {
  const specifier = promise.type === 'ImportExpression' ? specifierOfLoad(promise) : null
  const value = specifier === null ? promise.flow : moduleFlow(specifier, promise)
  if (reactions) startStay(reactions, [either(value, unknownFlow())], 'the value of a promise')
}

/**
 * Gives objects to functions that start a stay. No caller has claimed the objects in this stay, so they are
 * unknown objects of the module.
 *
 * @param {Flow} functions @param {(Flow | null)[]} values the arguments
 * @param {string} title the name of an argument whose parameter has no name
 */
function startStay(functions, values, title) {
  each(functions, ({ kind, of }) => {
    const f = (kind === SITE || kind === SHARED) && of.kind === 'function' ? of.effects?.effects : null
    if (!f) return
    const { node: { params }, facts } = f.plan
    for (let i = 0; i < values.length; i++) {
      const { name = title, variable = null } = params[i] ?? {}
      const to = i === 0 ? f.first : variable && firstOf(params[i])
      const value = values[i]
      if (to && value) edge(outerFlow(value, newSlot(null, name, variable, params[i])), to)
      if (value && (facts.usesArguments || !to && params.length)) f.claimsAll = true
    }
    release(of)
  })
}

/**
 * @param {Flow | null} object @param {string} name @param {(Flow | null)[]} args @param {Flow | null} rest
 * @param {Effects} by the caller @param {Flow | null} to @param {Node} node
 */
function callMethod(object, name, args, rest, by, to, node) {
  const word = METHODS[name]
  if (!object) {
    if (word) applyWord(word, null, null, args, rest, by, to, node)
    else {
      // A primitive value has built-in methods only.
      leave(args, rest, by)
      if (to) add(to, foreign)
    }
    return
  }
  const self = newFlow()
  let hasCalled = false
  let isApplied = false
  /** The unknown functions of a call by `call` or `apply`. @type {Callee | null} */
  let unknown = null
  const call = () => {
    if (hasCalled) return
    hasCalled = true
    invoke(calleeNamed(name), self, args, rest, by, to)
  }
  const apply = (/** @type {Root} */ root) => {
    if (!word || isApplied) return
    isApplied = true
    applyWord(word, object, root, args, rest, by, to, node)
  }
  if (word) for (let i = 0; i < args.length; i++) touch(args[i], by, READ)
  each(object, root => {
    const { kind, of } = root
    if (kind === DOM) {
      use(object, by, matches(CHANGES_NODE, name) ? READ | WRITE : READ)
      leave(args, rest, by)
      if (to) add(to, root)
      return
    }
    if (kind === BUILT_IN) return callBuiltIn({ args, rest, self: object, f: by, to }, `${of}.${name}`)
    if (kind === SITE || kind === SHARED) {
      if (of.kind === 'function' && matches(/^(?:call|apply|bind)$/, name)) {
        return callFunction(root, name, args, rest, by, to)
      }
      if (of.isExports) return callExport(root, name, args, rest, by, to)
      const isBuiltIn = !matches(/^(?:object|instance|function|namespace)$/, of.kind)
      if (isBuiltIn && word) return apply(root)
      if (of.unknownMembers) each(of.unknownMembers, ({ kind }) => {
        if (kind !== SITE && kind !== SHARED && kind !== BUILT_IN) leave([object], null, by)
      })
      add(self, root)
      if (of.kind === 'function') callStatic(root, name, { self, args, rest, by, to }, call)
      else call()
      if (word && of.kind === 'instance') apply(root)
      return
    }
    if (matches(/^(?:call|apply|bind)$/, name)) {
      // The object can be another object of the program, with a method of this name.
      whenStable(() => {
        if (!isNameOfProgram(name)) return
        add(self, root)
        call()
      })
      // Or it is an unknown function, which does not leave by its call.
      if (name === 'bind') {
        leave(args, rest, by)
        if (to) add(to, given)
        return
      }
      if (unknown === null) {
        unknown = newCallee()
        applyTo(unknown, name, args, rest, by, to)
      }
      return addCallee(root, unknown, true)
    }
    add(self, root)
    call()
    apply(root)
  })
}

/**
 * A call of a member of a known function or class: the functions that texts store in it under the name, and
 * its own static method. If it has none, the method of a class that it extends, or any method of the name.
 *
 * @param {Root} root @param {string} name @param {any} call @param {() => void} callByName
 */
function callStatic(root, name, call, callByName) {
  const { self, args, rest, by, to } = call
  const { of } = root
  const own = of.statics?.get(name)
  const holder = newFlow()
  add(holder, root)
  const stored = loadField(holder, by, name)
  const members = membersIn(stored)
  let isCalled = false
  const callMembers = () => {
    if (isCalled) return
    isCalled = true
    invoke(members, self, args, rest, by, to)
  }
  each(stored, callMembers)
  whenPut(of, () => {
    makeUnknown(members)
    callMembers()
  })
  if (own) {
    addTarget(members, own)
    return callMembers()
  }
  whenStable(() => {
    if (isCalled) return
    const { base = null } = of.statics === null ? {} : classOf(of)
    if (base === null) return callByName()
    each(base, other => {
      if ((other.kind !== SITE && other.kind !== SHARED) || other.of.kind !== 'function') callByName()
      else callStatic(other, name, call, callByName)
    })
  })
}

/** @param {any} site the site of a class @returns {Node} the class */
const classOf = ({ node }) => node.body.type === 'ClassBody' ? node : classAround(node)

/**
 * A call of a member of an exports object.
 *
 * @param {Root} root the exports object @param {string} name @param {(Flow | null)[]} args
 * @param {Flow | null} rest @param {Effects} by @param {Flow | null} to
 */
function callExport(root, name, args, rest, by, to) {
  const object = newFlow()
  add(object, root)
  const around = now.f
  enter(by)
  const member = propertyOf(object, name)
  enter(around)
  if (!member) return giveUp(args, rest, by, to)
  const callee = calleeOf(member)
  let isCalled = false
  let isPassed = false
  each(member, ({ kind, of }) => {
    const isKnown = kind === SITE || kind === SHARED
    if (isKnown && !matches(/^(?:function|instance)$/, of.kind)) return
    if (!isCalled) invoke(callee, null, args, rest, by, to)
    isCalled = true
    if (isPassed || (isKnown && isWithoutThis(of))) return
    isPassed = true
    invoke(callee, object, [], null, by, to)
  })
}

/** Whether a call of a function does not use `this`. @param {any} site the site of the function */
function isWithoutThis({ effects }) {
  if (!effects?.effects) return false
  const { usesThis, usesEval, usesSuper } = effects.effects.plan.facts
  return !usesThis && !usesEval && !usesSuper
}

/**
 * `f.call(...)`, `f.apply(...)` and `f.bind(...)`.
 *
 * @param {Root} root @param {string} name @param {(Flow | null)[]} args @param {Flow | null} rest
 * @param {Effects} by @param {Flow | null} to
 */
function callFunction({ of }, name, args, rest, by, to) {
  if (name !== 'bind') return applyTo(of.effects, name, args, rest, by, to)
  leave(args, rest, by)
  release(of)
  if (to) add(to, given)
}

/**
 * `f.call(...)` or `f.apply(...)` of known functions.
 *
 * @param {Callee} callee @param {string} name @param {(Flow | null)[]} args @param {Flow | null} rest
 * @param {Effects} by @param {Flow | null} to
 */
function applyTo(callee, name, args, rest, by, to) {
  const { 0: self = null } = args
  if (name === 'apply') return invoke(callee, self, [], load(args[1] ?? null, by), by, to)
  /** @type {(Flow | null)[]} */
  const others = []
  for (let i = 1; i < args.length; i++) push(others, args[i])
  invoke(callee, self, others, rest, by, to)
}

/**
 * The effects of a built-in method.
 *
 * @param {string} word @param {Flow | null} object @param {Root | null} root of the object
 * @param {(Flow | null)[]} args @param {Flow | null} rest @param {Effects} by @param {Flow | null} to
 * @param {Node} node
 */
function applyWord(word, object, root, args, rest, by, to, node) {
  const items = load(object, by)
  for (let i = 0; i < args.length; i++) touch(args[i], by, READ)
  touch(rest, by, READ)
  use(object, by, READ)
  if (holds(word, 'w') || holds(word, 's')) use(object, by, READ | WRITE)
  if (holds(word, 'x')) match(object, by, node)
  if (holds(word, 's')) {
    for (let i = 0; i < args.length; i++) store(object, args[i], by, NAMED)
    if (rest) store(object, rest, by, NAMED)
  }
  if (holds(word, 'l')) leave(args, rest, by)
  const { 0: callback = null } = args
  const result = newFlow()
  if (callback) {
    if (holds(word, 'c')) {
      const second = holds(word, 'y') && root?.of?.kind !== 'array' ? items : null
      invoke(calleeOf(callback), args[1] ?? null, [items, second, object], null, by, result)
    }
    if (holds(word, 'k')) invoke(calleeOf(callback), null, [items, items], null, by, null)
    if (holds(word, 'd')) {
      const first = either(result, either(items, args[1] ?? null))
      invoke(calleeOf(callback), null, [first, items, null, object], null, by, result)
    }
  }
  if (holds(word, 't')) convert(items, by)
  if (holds(word, 'p')) for (let i = 0; i < args.length; i++) {
    const flow = args[i]
    if (flow) each(flow, other => {
      const { kind, of } = other
      if (kind === SITE && of.kind === 'function') invoke(of.effects, null, [], null, by, null)
    })
  }
  if (to) giveResult(word, object, items, result, args, rest, by, to, node)
}

/**
 * Records that `exec` or `test` of an object may move its `lastIndex`. A property that never holds an unknown
 * object or a regular expression with `g` or `y` is safe.
 *
 * @param {Flow | null} object @param {Effects} by @param {Node} node the call
 */
function match(object, by, node) {
  const receiver = node.callee?.object
  const name = receiver && isMember(receiver) ? nameOfKey(receiver.property, receiver.computed) : ''
  if (name === '' || !object) return use(object, by, READ | MATCH)
  each(memberNamed(name), ({ kind, of }) => {
    if (kind === BUILT_IN || ((kind === SITE || kind === SHARED) && of.kind !== 'regexp')) return
    use(object, by, READ | MATCH)
  })
  push(now.program.matches, name, object, by)
}

/**
 * Records the uses of regular expressions in properties that only unknown code assigns, and constants of
 * prototypes as writes if other code assigns a property with the name.
 */
export function finishWalk() {
  const { matches: list, marks, stored } = now.program
  for (let i = 0; i < marks.length; i += 3) if (stored.has(marks[i])) {
    use(marks[i + 1], marks[i + 2], READ | WRITE)
    markState(marks[i + 1])
  }
  for (let i = 0; i < list.length; i += 3) {
    if (!stored.has(list[i])) use(list[i + 1], list[i + 2], READ | MATCH)
  }
  now.program.matches = []
}

/**
 * @param {string} word @param {Flow | null} object @param {Flow | null} items @param {Flow} result
 * @param {(Flow | null)[]} args @param {Flow | null} rest @param {Effects} by @param {Flow} to
 * @param {Node} node
 */
function giveResult(word, object, items, result, args, rest, by, to, node) {
  const last = word[word.length - 1]
  if (last === 'n') return
  if (last === 'u') return add(to, given)
  if (last === 'r') return edge(object, to)
  if (last === 'e') {
    edge(items, to)
    if (holds(word, 'd')) {
      edge(result, to)
      edge(args[1] ?? null, to)
    }
    return
  }
  const site = newSite('array', node)
  add(to, site.root)
  if (matches(/[fai]/, last)) put(site, items, by)
  if (last === 'j') add(site.inside, site.root)
  if (matches(/[qi]/, last)) add(site.inside, pairOf(items, node, by))
  if (last === 'm' || last === 'o') {
    put(site, result, by)
    if (!args[0]) put(site, items, by)
    if (last === 'm') put(site, load(result, by), by)
  }
  if (last !== 'a') return
  put(site, load(items, by), by)
  for (let i = 0; i < args.length; i++) {
    put(site, args[i], by)
    put(site, load(args[i], by), by)
  }
  put(site, rest, by)
  put(site, load(rest, by), by)
}

/** Built-in functions that read all properties of their arguments. */
const READS_ALL = /^(?:Object\.(?:values|entries|assign)|Reflect\.get|JSON\.stringify|structuredClone)$/
/** Built-in functions that store a value under a name, or the properties of other objects. */
const STORES = /^(?:Object\.assign|Reflect\.set)$/
/** Built-in functions that later call a function with arguments. */
const TIMERS = /^set(?:Timeout|Interval|Immediate)$/
/** Built-in functions that iterate their first argument. */
const ITERATES = /^(?:\w*Array\.from|Object\.fromEntries)$/
/** Built-in functions that turn their arguments into primitive values. */
const CONVERTS = /^(?:Math\.\w+|String|Number|BigInt|parse\w+|is\w+)$/

/**
 * Calls the methods of its arguments that a built-in function calls: accessors, iterators, conversions, and
 * the callback and the methods of `JSON.stringify`.
 *
 * @param {string} path @param {(Flow | null)[]} args @param {Flow | null} rest @param {Effects} by
 * @returns {(Flow | null)[]} the arguments, with the results of their getters and iterators
 */
function callMethodsOf(path, args, rest, by) {
  const { 0: first = null, 1: second = null } = args
  if (matches(CONVERTS, path)) forEach(args, arg => convert(arg, by))
  if (path === 'JSON.stringify' && first) {
    const values = /** @type {Flow} */ (either(first, deepOf(first, by)))
    callIfKnown(values, ['toJSON'], [], by)
    if (second) invoke(calleeOf(second), values, [null, values], null, by, null)
  }
  if (path === 'structuredClone' && second) use(first, by, READ | WRITE) // the clone can get the buffers
  if (matches(TIMERS, path) && first) {
    const values = path === 'setImmediate' ? cutFirst(args) : cutFirst(cutFirst(args))
    if (rest) push(values, rest)
    startStay(first, values, 'the argument of a timer')
  }
  if (matches(STORES, path)) {
    const isCopy = path === 'Object.assign'
    let value = isCopy ? load(rest, by) : args[2] ?? null
    if (isCopy) forEach(cutFirst(args), source => { value = either(value, load(source, by)) })
    invokeAccessor(first, '', [value], null)
  }
  if (matches(ITERATES, path) && first) {
    const items = made('array', by.plan.node)
    put(siteOf(items), iterated(first), by)
    return pushAll([either(first, items)], cutFirst(args))
  }
  if (!matches(READS_ALL, path)) return args
  /** @type {(Flow | null)[]} */
  const read = []
  forEach(args, arg => push(read, withGetters(arg)))
  return read
}

/**
 * A call of a built-in function.
 *
 * @param {any} call @param {string} path
 */
export function callBuiltIn({ args: list, rest, f: by, to }, path) {
  const word = FUNCTIONS[path] ?? (matches(QUIET, path) ? 'n' : undefined)
  const around = now.f
  enter(by)
  const args = callMethodsOf(path, list, rest, by)
  const { 0: first = null } = args
  const node = by.plan.node
  if (path === 'Object.freeze' && first && by.plan.isOnce) each(first, ({ kind, of }) => {
    if (kind === SITE) of.isFrozen = true
  })
  if (path === 'Promise' || path === 'Promise.prototype.then') leave(args, rest, by)
  if (path === 'RegExp') {
    if (to && (args.length > 1 || first)) add(to, newSite('regexp', node).root)
  } else if (matches(/\.prototype\.\w+\.(?:call|apply)$/, path)) {
    const isCall = matches(/call$/, path)
    const end = lastIndexOf(path, '.')
    const name = slice(path, lastIndexOf(path, '.', end - 1) + 1, end)
    /** @type {(Flow | null)[]} */
    const others = []
    if (isCall) for (let i = 1; i < args.length; i++) push(others, args[i])
    const spread = isCall ? rest : load(args[1] ?? null, by)
    if (METHODS[name]) applyWord(METHODS[name], first, first?.roots[0] ?? null, others, spread, by, to, node)
    else giveUp(args, rest, by, to)
  } else if (word === undefined) giveUp(args, rest, by, to)
  else if (matches(/^(?:Object\.assign|(?:Object|Reflect)\.setPrototypeOf)$/, path)) {
    const sources = cutFirst(args)
    for (let i = 0; i < sources.length; i++) store(first, sources[i], by, COPY)
    store(first, rest, by, COPY)
    if (first) each(first, ({ kind, of }) => {
      if (kind === SITE || kind === SHARED) of.hasState = true
    })
    applyWord('wr', first, first?.roots[0] ?? null, sources, rest, by, to, node)
  } else {
    /** @type {(Flow | null)[]} */
    const others = []
    const isStatic = holds(word, 'w') || holds(word, 's') || holds(word, 'c')
    for (let i = isStatic ? 1 : 0; i < args.length; i++) {
      push(others, holds(word, 's') ? storedBy(path, args[i], by) : args[i])
    }
    if (!isStatic && matches(/[nzj]$/, word)) {
      for (let i = 0; i < args.length; i++) touch(args[i], by, holds(word, 'l') ? READ | LEAVE : READ)
      touch(rest, by, holds(word, 'l') ? READ | LEAVE : READ)
      if (to) giveResult(word, null, null, newFlow(), args, rest, by, to, node)
    } else {
      const list = isStatic ? others : path === 'Array.of' ? args : cutFirst(args)
      applyWord(word, first, first?.roots[0] ?? null, list, rest, by, to, node)
    }
  }
  enter(around)
}

/**
 * The value that a built-in function stores: the properties of an object, the value or the result of the
 * getter of a descriptor, or the object itself.
 *
 * @param {string} path @param {Flow | null} flow @param {Effects} by @returns {Flow | null}
 */
function storedBy(path, flow, by) {
  if (!matches(/^(?:Object|Reflect)\.defineP/, path)) return flow
  const parts = load(flow, by)
  const values = matches(/ies$/, path) ? load(parts, by) : parts
  if (!values) return parts
  const to = newFlow()
  edge(values, to)
  let isCalled = false
  each(values, ({ kind, of }) => {
    if (isCalled || (kind !== SITE && kind !== SHARED) || of.kind !== 'function') return
    isCalled = true
    invoke(calleeOf(values), null, [], null, by, to)
  })
  return to
}

/** @param {any[]} args */
function cutFirst(args) {
  /** @type {any[]} */
  const rest = []
  for (let i = 1; i < args.length; i++) push(rest, args[i])
  return rest
}

/** @param {(Flow | null)[]} args @param {Flow | null} rest @param {Effects} by @param {Flow | null} to */
function giveUp(args, rest, by, to) {
  leave(args, rest, by)
  if (to) add(to, given)
}

/**
 * A new regular expression. The expression counts as an object if it may have `g` or `y`: by its flags, or
 * by the flags of the expression that it copies.
 *
 * @param {Node} node @param {(Flow | null)[]} args
 */
function newPattern(node, { 0: pattern = null }) {
  const { arguments: { 1: flags } } = node
  if (flags !== undefined) {
    const isPlain = typeof flags.value === 'string' && !matches(/[gy]/, flags.value)
    return isPlain ? newFlow() : made('regexp', node)
  }
  const flow = newFlow()
  const { root } = newSite('regexp', node)
  if (pattern) each(pattern, ({ kind, of }) => {
    if (kind !== BUILT_IN && ((kind !== SITE && kind !== SHARED) || of.kind === 'regexp')) add(flow, root)
  })
  return flow
}

/**
 * Makes the fields of classes, and of the classes that they extend, parts of a function that constructs an
 * object.
 *
 * @param {Flow} classes @param {any} by
 */
function includeFields(classes, by) {
  each(classes, ({ kind, of }) => {
    if ((kind !== SITE && kind !== SHARED) || !of.fields) return
    for (let i = 0; i < of.fields.length; i++) push(by.includes, of.fields[i])
    const { base, superClass } = classOf(of)
    // A constructor calls super().
    if (superClass && base && of.effects.effects === null) includeFields(base, by)
  })
}

/** @param {Node} node @returns {Flow} */
export function newObject(node) {
  const { callee, arguments: list } = node
  const { args, rest } = argumentsOf(list)
  const path = pathOf(callee.flow)
  if (path === 'Proxy') now.f.claimsAll = true
  if (path === 'RegExp') return newPattern(node, args)
  if (path !== null && matches(CONTAINER, path)) {
    const flow = made(path === 'Map' ? 'map' : path === 'Array' ? 'array' : 'collection', node)
    const site = siteOf(flow)
    if (path === 'URL') add(site.inside, site.root) // a change of `searchParams` changes the URL
    for (let i = 0; i < args.length; i++) {
      touch(args[i], now.f, READ)
      put(site, args[i], now.f)
      const items = iterated(args[i])
      put(site, items, now.f)
      put(site, load(items, now.f), now.f)
    }
    put(site, rest, now.f)
    // A view writes its buffer.
    if (args[0] && matches(/\w+Array$|^DataView$/, path)) each(args[0], root => {
      const { kind, of } = root
      const isCopied = (kind === SITE || kind === SHARED) && !matches(/Buffer$/, of.node.callee?.name ?? '')
      if (!isCopied || isMember(list[0]) && keyOf(list[0]) === 'buffer') add(flow, root)
    })
    return flow
  }
  const flow = made('instance', node)
  const { inside } = siteOf(flow)
  if (callee.flow) each(callee.flow, root => {
    contain(root, inside)
    inherit(root, inside)
  })
  else add(inside, given)
  if (!callee.flow) {
    leave(args, rest, now.f)
    return flow
  }
  const to = newFlow()
  const target = targetOf(node)
  invoke(target ? /** @type {any} */ (target).effects : calleeOf(callee.flow), flow, args, rest, now.f, to)
  includeFields(callee.flow, now.f)
  edge(to, flow)
  return flow
}
