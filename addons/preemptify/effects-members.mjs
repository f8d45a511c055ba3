/**
 * addons/preemptify/effects-members.mjs: the objects of properties, and the functions that a name may reach.
 *
 * A call by a name may reach each function that any text stores under the name. The engine makes some calls:
 * it calls accessors, iterators, and methods that turn an object into a primitive value.
 */

import {
  add, addStored, addTarget, calleeOf, deepOf, each, edge, either, invoke, isFirstAccess, load, loadField,
  membersIn, outerFlow, put, use
} from './effects-flow.mjs'
import { BUILT_IN, READ, SHARED, SITE, builtIn, given, newFlow, newSite, newSlot } from './effects-roots.mjs'
import { GLOBAL_OBJECT, METHODS, PRIMITIVE_PROPERTY } from './effects-tables.mjs'
import { emptyMap, endsWith, forEach, matches } from './primordials.mjs'
import { freeName, made, now, openFlow, siteOf, unknownFlow } from './effects-names.mjs'
/** @import { Callee, Effects, Flow, Root, Site, Slot } from './effects-roots.mjs' */
/** @import { Node } from './scopes.mjs' */

/**
 * Stores a value in the properties with a name. Functions in the value become callees of calls by this name.
 *
 * @param {string} name @param {Flow | null} value @param {Site | null} site
 */
export function defineMember(name, value, site) {
  now.program.stored.set(name, true)
  if (!value) return
  if (name !== '') edge(value, memberNamed(name))
  else {
    edge(value, now.program.unnamed)
    if (site) edge(value, site.unknownMembers ??= newFlow())
  }
}

/** The end of the names of accessors, and the name of all of them. */
const ACCESSORS = '()'

/** @param {string} name @returns {Flow} */
export function memberNamed(name) {
  let flow = now.program.members.get(name)
  if (!flow) {
    now.program.members.set(name, flow = newFlow())
    flow.isNamed = true
    if (name !== ACCESSORS && endsWith(name, ACCESSORS)) edge(flow, memberNamed(ACCESSORS))
  }
  return flow
}

/** Returns the functions that a call by a name may reach. @param {string} name @returns {Callee} */
export function calleeNamed(name) {
  const flow = memberNamed(name)
  const isNew = flow.callee === null
  const callee = calleeOf(flow)
  if (isNew) {
    callee.isNamed = true
    callee.isMethod = METHODS[name] !== undefined
    addTarget(callee, now.program.unnamedFunctions)
  }
  return callee
}

/**
 * Adds the contents of instances to a flow, if the methods of the class store objects. The function that
 * stores an object claims it, so the object counts as an object from an unknown call.
 *
 * @param {Root} root the class @param {Flow} to
 */
export function contain({ kind, of }, to) {
  if ((kind === SITE || kind === SHARED) && of.instances) {
    each(of.instances, ({ kind, of }) => {
      if ((kind !== SITE && kind !== SHARED) || of.kind !== 'function') add(to, given)
    })
  } else if (kind !== BUILT_IN) add(to, given)
}

/** Returns the objects that a class stores in its instances. @param {Node} node @returns {Flow} */
export function instancesOf(node) {
  if (!node.instances) {
    node.instances = newFlow()
    node.stored = emptyMap()
  }
  return node.instances
}

/** Adds a property to the instances of a class. @param {Node} node the class @param {string} name */
export function nameInstances(node, name) {
  const flow = instancesOf(node)
  if (node.stored.has(name)) return
  node.stored.set(name, true)
  edge(memberNamed(name), flow)
}

/** Returns the prototype of a function or class. @param {Site} site @returns {Site} */
export function prototypeOf(site) {
  if (site.prototype === null) {
    site.prototype = newSite('object', site.node)
    site.prototype.properties = emptyMap()
    if (site.isOpen) openFlow(site.prototype.inside, true)
  }
  return site.prototype
}

/** @param {Root} root a function or class @returns {Slot} the holder of the prototype, as others reach it */
const slotOfPrototype = ({ of, slot }) =>
  newSlot(slot?.owner ?? null, `${slot?.name}.prototype`, null, of.node)

/** Returns the prototypes of functions. @param {Flow} functions @returns {Flow} */
function prototypesOf(functions) {
  const to = newFlow()
  each(functions, root => {
    const { kind, of } = root
    if ((kind !== SITE && kind !== SHARED) || of.kind !== 'function') return add(to, root)
    const own = newFlow()
    add(own, prototypeOf(of).root)
    edge(kind === SITE ? own : outerFlow(own, slotOfPrototype(root)), to)
    addStored(root, 'prototype', to)
  })
  return to
}

/**
 * Adds the known objects in the prototype of a class to the contents of an instance, because instances share
 * them. Calls find methods by their names.
 *
 * @param {Root} root the class @param {Flow} to
 */
export function inherit(root, to) {
  const { kind, of } = root
  if ((kind !== SITE && kind !== SHARED) || of.kind !== 'function') return
  const contents = newFlow()
  edge(kind === SITE ? contents : outerFlow(contents, slotOfPrototype(root)), to)
  const addContents = (/** @type {Site} */ { inside }) => each(inside, value => {
    const isKnown = value.kind === SITE || value.kind === SHARED
    if (isKnown && value.of.kind !== 'function') add(contents, value)
  })
  addContents(prototypeOf(of))
  const assigned = newFlow()
  addStored(root, 'prototype', assigned)
  each(assigned, other => {
    if (other.kind === SITE || other.kind === SHARED) addContents(other.of)
  })
}

/** @param {Flow | null} object @param {string} name @returns {Flow | null} */
export function propertyOf(object, name) {
  if (!object) return null
  if (name === 'prototype') return prototypesOf(object)
  if (matches(PRIMITIVE_PROPERTY, name)) {
    use(object, now.f, READ)
    return null
  }
  const value = /** @type {Flow} */ (name === '' ? load(object, now.f) : loadField(object, now.f, name))
  // A view writes the buffer of another view.
  const flow = name === 'buffer' ? /** @type {Flow} */ (either(value, object)) : value
  if (METHODS[name] !== undefined) addMethod(object, name, flow)
  if (!mayBeAccessor(name)) return flow
  const result = newFlow()
  invokeAccessor(object, name, [], result)
  return either(flow, result)
}

/** Whether a property may be an accessor. @param {string} name empty: any property */
function mayBeAccessor(name) {
  const { accessors } = now.program
  return name === '' ? accessors.size > 0 : accessors.has(name) || accessors.has('')
}

/**
 * Adds a method of built-in objects, for example of the list in `[].push.apply(a, b)`.
 *
 * @param {Flow} object @param {string} name @param {Flow} to
 */
function addMethod(object, name, to) {
  each(object, ({ kind, of }) => {
    if ((kind !== SITE && kind !== SHARED) || !matches(/^(?:array|map|collection|regexp)$/, of.kind)) return
    add(to, builtIn(`Array.prototype.${name}`).roots[0])
  })
}

/**
 * Calls the accessors that a read or a write of a property may reach.
 *
 * @param {Flow | null} object @param {string} name empty: any property, as in `Object.values(object)`
 * @param {(Flow | null)[]} args the value of a write @param {Flow | null} to the result of a read
 */
export function invokeAccessor(object, name, args, to) {
  const { accessors, definesAccessors } = now.program
  if (!object || !mayBeAccessor(name)) return
  const by = now.f
  if (name !== '' && accessors.has(name)) {
    callEngine(`${name}${ACCESSORS}`, object, args, by, to)
    if (!accessors.has('')) return
  }
  let isCalled = false
  each(object, ({ kind, of }) => {
    // Getters of exports only return a variable: see effects-interop.mjs.
    if (isCalled || (kind !== SITE && kind !== SHARED) || of.isExports) return
    if (of.kind !== 'instance' && !of.hasAccessors && !(definesAccessors && of.kind === 'object')) return
    isCalled = true
    // Accessors claim the objects that they return, apart from objects inside their receiver.
    if (to) {
      add(to, given)
      edge(deepOf(object, by), to)
    }
    if (args.length || isFirstAccess(object, by)) callEngine(ACCESSORS, object, args, by, null)
  })
}

/**
 * Returns the objects of a flow with one more object, which holds the results of their getters.
 *
 * @param {Flow | null} flow @returns {Flow | null}
 */
export function withGetters(flow) {
  if (!flow || !mayBeAccessor('')) return flow
  const results = newFlow()
  invokeAccessor(flow, '', [], results)
  const list = made('array', now.f.plan.node)
  put(siteOf(list), results, now.f)
  return either(flow, list)
}

/**
 * A call that the engine makes if the object has a method with a name.
 *
 * @param {string} name @param {Flow} object @param {(Flow | null)[]} args @param {Effects} by
 * @param {Flow | null} to
 */
function callEngine(name, object, args, by, to) {
  const { engine } = now.program
  let callee = engine.get(name)
  if (!callee) {
    engine.set(name, callee = membersIn(memberNamed(name)))
    callee.isMethod = true
  }
  invoke(callee, object, args, null, by, to)
}

/** The kinds of objects with methods of the program. */
const OWN_METHODS = /^(?:object|instance|function)$/
/** The methods that turn an object into a primitive value. */
const CONVERSIONS = ['@toPrimitive', 'valueOf', 'toString']

/**
 * Converts the objects of the program in a flow to primitive values. Such methods hardly change anything, so
 * unknown objects and parameters are left out.
 *
 * @param {Flow | null} flow @param {Effects} by
 */
export function convert(flow, by) {
  if (flow) callIfKnown(flow, CONVERSIONS, [], by)
}

/**
 * Calls methods of the objects of the program in a flow, because the engine may call them.
 *
 * @param {Flow} flow @param {string[]} names @param {(Flow | null)[]} args @param {Effects} by
 */
export function callIfKnown(flow, names, args, by) {
  const { program } = now
  let isCalled = false
  each(flow, ({ kind, of }) => {
    if (isCalled || (kind !== SITE && kind !== SHARED) || !matches(OWN_METHODS, of.kind)) return
    isCalled = true
    forEach(names, name => { if (program.members.has(name)) callEngine(name, flow, args, by, null) })
  })
}

/** @param {string} path @param {string} name @param {Node} node @returns {Flow | null} */
export function memberOfBuiltIn(path, name, node) {
  if (name === '') return unknownFlow()
  if (path === '') return matches(GLOBAL_OBJECT, name) ? builtIn('') : freeName(name, node)
  if (matches(/^(?:Math|Number)$/, path) && matches(/^[A-Z]/, name)) return null
  return builtIn(`${path}.${name}`)
}

/** Returns the elements of an iterated value. @param {Flow | null} flow @returns {Flow | null} */
export function iterated(flow) {
  if (!flow) return null
  const items = load(flow, now.f)
  const to = newFlow()
  edge(items, to)
  const by = now.f
  let hasCalled = false
  each(flow, ({ kind, of }) => {
    if (kind !== SITE && kind !== SHARED) {
      if (kind === BUILT_IN || hasCalled || !now.program.members.has('@iterator')) return
    } else {
      if (of.kind === 'map') return add(to, pairOf(items, of.node, by))
      if (of.kind === 'array' || of.kind === 'collection' || hasCalled ||
        !now.program.members.has('@iterator')) return
    }
    hasCalled = true
    const iterator = newFlow()
    callEngine('@iterator', flow, [], by, iterator)
    const results = newFlow()
    callEngine('next', iterator, [], by, results)
    edge(load(results, by), to)
    callEngine('return', iterator, [], by, null)
    add(to, given)
  })
  return to
}

/**
 * @param {Flow | null} items @param {Node} node @param {Effects} by @returns {Root} a new list of the items
 */
export function pairOf(items, node, by) {
  const site = newSite('array', node)
  put(site, items, by)
  return site.root
}
