/**
 * addons/preemptify/effects-names.mjs: the objects of variables, imports and exports.
 *
 * A variable is a holder of objects. The walk over a text is at one position: see `now`.
 */

import { isMember, keyOf } from './calls.mjs'
import {
  add, addInside, anyOf, each, edge, functionsIn, keep, makeUnknown, newCrowd, newVarious, note, outerFlow,
  parameterOf, put, release, setShared, touch
} from './effects-flow.mjs'
import {
  LEAVE, MORE, READ, SELF, SHARED, SITE, builtIn, domNode, foreign, given, newCallee, newFlow, newSite,
  newSlot, pathOf
} from './effects-roots.mjs'
import { commonOf, requiredFlow } from './effects-commonjs.mjs'
import { ENGINE, GLOBAL_OBJECT, PRIMITIVE_NAME } from './effects-tables.mjs'
import { emptyMap, find, forEach, matches, push, slice, sort } from './primordials.mjs'
import { isFixed, isWithin } from './scopes.mjs'
/** @import { Callee, Effects, Flow, Site, Slot } from './effects-roots.mjs' */
/** @import { Crowd } from './effects-flow.mjs' */
/** @import { Node, Variable } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */

/**
 * A text to analyse.
 *
 * @typedef {object} Unit
 * @property {Node} tree
 * @property {Plan[]} plans
 * @property {string} name the URL, or the name of the file
 * @property {string} text
 * @property {(variable: Variable) => ModuleExport | null} [importOf] null: the import is not known
 * @property {(name: string) => ModuleExport | null} [exportOf] null: the export is not known
 * @property {() => { names: string[], isComplete: boolean }} [exportNames]
 * @property {(specifier: string) => Unit | null} [required] null: the required file is not known
 */
/**
 * The text and the variable to which an import or an export refers.
 *
 * @typedef {object} ModuleExport
 * @property {Unit} unit
 * @property {Variable | null} variable null: the namespace, or the value of a default export's expression
 * @property {boolean} [isNamespace]
 */
/**
 * A variable as a holder of objects.
 *
 * @typedef {object} Holder
 * @property {Flow} inner the objects in the variable
 * @property {Flow | null} outer the same objects, as other functions reach them
 * @property {Slot} slot
 * @property {Effects} owner the function that declares it
 * @property {boolean} isExported
 * @property {boolean} isOpened whether any code can assign it
 * @property {any} location
 * @property {boolean} isCaptured whether other functions use it
 * @property {Node[]} writes references that assign to it
 * @property {Version[] | null} versions see versionsOf; null: one set of objects for the whole function
 */
/**
 * The objects that a variable holds from one statement to the next statement that assigns the variable.
 *
 * @typedef {object} Version
 * @property {number} from a position in the text
 * @property {Flow} inner
 * @property {Flow | null} outer
 */

/**
 * Properties and global names, which all texts of a program share.
 *
 * @typedef {object} Program
 * @property {Map<string, Flow>} members the values of all properties with one name
 * @property {Flow} unnamed the values under computed names
 * @property {Flow} thrown the thrown objects
 * @property {Flow} caught an unknown object, which may be any thrown object
 * @property {Callee} unnamedFunctions
 * @property {Map<string, Callee>} engine the functions that the engine may call, by their names
 * @property {Map<string, boolean>} accessors names of accessors; empty: a name that is not known
 * @property {boolean} definesAccessors whether a call such as `Object.defineProperty` defines accessors
 * @property {Map<string, boolean>} stored names of properties that some text assigns or defines
 * @property {any[]} matches uses of unknown regular expressions in properties that no visited text assigns
 * @property {any[]} marks constants that constructors give their prototypes: triples of the name, the class
 *   and the constructor
 * @property {Crowd} crowd
 * @property {Slot} various the holder of the objects that flows have forgotten
 * @property {Map<string, Holder>} globals variables of scripts, and names that no text declares
 */

/**
 * @param {boolean} [hasOthers] whether texts that are not analysed define methods too
 * @returns {Program}
 */
export function newProgram(hasOthers = false) {
  const unnamed = newFlow()
  const thrown = newFlow()
  thrown.isNamed = true
  const unnamedFunctions = functionsIn(unnamed)
  if (hasOthers) makeUnknown(unnamedFunctions)
  return {
    thrown, caught: anyOf(thrown),
    members: emptyMap(), engine: emptyMap(), unnamed, unnamedFunctions, accessors: emptyMap(),
    definesAccessors: false,
    globals: emptyMap(), crowd: newCrowd(), various: newVarious(),
    stored: emptyMap(), matches: [], marks: []
  }
}

/**
 * The current position of the walk. `f` is the function of the visited node.
 *
 * @type {{ program: Program, unit: Unit, f: Effects }}
 */
export const now = /** @type {any} */ ({ program: null, unit: null, f: null })

/** @param {Program} next the texts that are known */
export function beginWalk(next) {
  now.program = next
  setShared(next)
}

/** Frees the program of the last text. */
export function endWalk() {
  setShared(/** @type {any} */ ({ crowd: null, various: null, unnamedFunctions: null }))
  now.program = now.unit = now.f = /** @type {any} */ (null)
}

/** @param {Node} key @param {boolean} isComputed @returns {string} empty: not known */
export function nameOfKey(key, isComputed) {
  if (key.type === 'Literal') return `${key.value ?? slice(now.unit?.text ?? '', key.start, key.end)}`
  if (key.type === 'PrivateIdentifier') return `#${key.name}`
  if (!isComputed) return key.name
  return isMember(key) && key.object.name === 'Symbol' ? `@${keyOf(key)}` : ''
}

/**
 * Calls `to` for each property that a call such as `Object.defineProperty(o, 'size', { get() {} })` defines.
 *
 * @param {Node} call @param {(name: string, descriptor: Node) => void} to
 */
export function eachDescriptor({ callee, arguments: list }, to) {
  if (!callee || !isMember(callee) || !matches(/^defineProperty$|^defineProperties$/, keyOf(callee))) return
  const { 1: second, 2: third } = list
  if (keyOf(callee) === 'defineProperty') {
    if (third?.type === 'ObjectExpression') to(nameOfKey(second, true), third)
  } else if (second?.type === 'ObjectExpression') {
    forEach(second.properties, ({ key, computed, value }) => {
      if (value?.type === 'ObjectExpression') to(nameOfKey(key, computed), value)
    })
  }
}

/** @param {Variable | any} variable @returns {Holder} */
export function holderOf(variable) {
  if (variable.holder) return variable.holder
  const owner = variable.scope.facts.node.plan.effects
  const node = variable.declarations[0] ?? variable.scope.node
  const holder = variable.holder = newHolder(owner, variable.name, variable, node)
  if (variable.isAssigned) holder.versions = versionsOf(variable, holder.inner)
  return holder
}

/**
 * Divides a variable of a function at the statements of its body that assign the variable. For example, after
 * `values = Array.from(values)` the variable holds only the new list. A closure in later text sees the last
 * version. Other functions see and assign all versions.
 *
 * @param {Variable} variable @param {Flow} all the objects of all versions @returns {Version[] | null}
 */
function versionsOf({ kind, isDynamic, declarations, references, scope: { facts } }, all) {
  const { node: { body }, parent, usesArguments, isStrict } = facts
  if (!parent || isDynamic || !matches(/^(?:parameter|let|var)$/, kind) || (usesArguments && !isStrict) ||
    find(declarations, ({ parent: { type } }) => type === 'FunctionDeclaration' && kind !== 'parameter')) {
    return null
  }
  /** @type {number[]} */
  const ends = [0]
  forEach(references, id => {
    const { parent: assignment, scope } = id
    const { type, operator, left, end, parent } = assignment
    if (type !== 'AssignmentExpression' || operator !== '=' || left !== id || scope.facts !== facts) return
    const statement = parent.type === 'SequenceExpression' ? parent.parent : parent
    if (statement.type === 'ExpressionStatement' && statement.parent === body) push(ends, end)
  })
  if (ends.length === 1) return null
  sort(ends, (/** @type {number} */ a, /** @type {number} */ b) => a - b)
  /** @type {Version[]} */
  const versions = []
  for (let i = 0; i < ends.length; i++) {
    push(versions, { from: ends[i], inner: newFlow(), outer: null })
    edge(versions[i].inner, all)
  }
  return versions
}

/** @param {Version[]} versions @param {number} position @returns {Version} */
function versionAt(versions, position) {
  let i = versions.length - 1
  while (versions[i].from > position) i--
  return versions[i]
}

/**
 * Gives a value to a variable.
 *
 * @param {Holder} holder @param {Flow | null} value @param {Node} id the assigned name
 */
export function fill({ versions, owner, inner }, value, { start, parent }) {
  if (versions === null) return edge(value, inner)
  const position = parent.type === 'AssignmentExpression' ? parent.end : start
  if (owner === now.f) edge(value, versionAt(versions, position).inner)
  else forEach(versions, version => edge(value, version.inner))
}

/** @param {Node} id a parameter @returns {Flow} the objects that callers pass */
export function firstOf({ variable, start }) {
  const { inner, versions } = initialized(variable)
  return versions === null ? inner : versionAt(versions, start).inner
}

/**
 * Whether a closure runs only after the text before it has run: no function around it is hoisted.
 *
 * @param {Effects} owner the function that declares the variable
 */
function isAfterText(owner) {
  for (let f = /** @type {any} */ (now.f); f !== owner; f = f.plan.parent.effects) {
    if (f.plan.node.type === 'FunctionDeclaration') return false
  }
  return true
}
/**
 * @param {Effects} owner @param {string} name @param {Variable | null} variable @param {Node} node
 * @returns {Holder}
 */
function newHolder(owner, name, variable, node) {
  const slot = newSlot(owner === null || owner.plan.isOnce ? null : owner, name, variable, node)
  return { inner: newFlow(), outer: null, slot, owner, isExported: false, isOpened: false, location: null,
    isCaptured: false, writes: [], versions: null }
}

/** @param {string} name a name that no text declares @param {Node} node @returns {Holder} */
export function globalOf(name, node) {
  let holder = now.program.globals.get(name)
  if (!holder) {
    now.program.globals.set(name, holder = newHolder(/** @type {any} */ (null), name, null, node))
    add(holder.inner, given)
  }
  return holder
}

/** @returns {Flow} */
export function unknownFlow() {
  const flow = newFlow()
  add(flow, given)
  return flow
}

/** @param {string} kind @param {Node} node @returns {Flow} a new object */
export function made(kind, node) {
  const flow = newFlow()
  add(flow, newSite(kind, node).root)
  return flow
}

/** @param {Flow} flow a flow with one site @returns {Site} */
export const siteOf = flow => flow.roots[0].of

/** @param {Node} node @returns {string | null} the path of a built-in value */
export const pathOfNode = ({ type, flow, variable, name }) =>
  type !== 'Identifier' ? pathOf(flow ?? null)
    : variable === null && !now.program.globals.has(name) && matches(ENGINE, name) ? name : null

/** Whether the analysed texts have a property with a name. @param {string} name */
export const isNameOfProgram = name => (now.program.members.get(name)?.roots.length ?? 0) > 0

/** @param {Node} id @returns {Flow | null} */
export function referenceTo(id) {
  const { variable, name } = id
  if (id.isDynamic) now.f.claimsAll = true
  if (!variable) {
    if (matches(PRIMITIVE_NAME, name)) return null
    if (matches(GLOBAL_OBJECT, name)) return builtIn('')
    return freeName(name, id)
  }
  const path = pathOfVariable(variable)
  if (path !== null) return builtIn(path)
  if (variable.kind === 'import') return importedFlow(variable, id)
  if (!variable.isAssigned && isPrimitive(variable, id)) return null
  return readHolder(initialized(variable), id)
}

/** The types of primitive values. */
const PRIMITIVE_TYPE = /^(?:number|string|boolean|bigint|symbol|undefined)$/

/**
 * Whether a test by `typeof` shows that a variable that no code assigns holds a primitive value at a
 * reference: `if (typeof x === 'number') ...`, or `if (typeof x !== 'number') return` in earlier text.
 *
 * @param {Variable | any} variable @param {Node} id
 */
function isPrimitive(variable, { start }) {
  const { kind, isDynamic, isOpen, declarations, scope: { facts } } = variable
  if (isDynamic || isOpen || declarations.length !== 1 || !matches(/^(?:parameter|let|const)$/, kind) ||
    (facts.usesArguments && !facts.isStrict)) return false
  const ranges = variable.primitives ??= primitiveRanges(variable)
  for (let i = 0; i < ranges.length; i += 2) {
    if (start >= ranges[i] && start < ranges[i + 1]) return isAfterText(facts.node.plan.effects)
  }
  return false
}

/** @param {Variable} variable @returns {number[]} the starts and ends of texts where it is primitive */
function primitiveRanges({ references }) {
  /** @type {number[]} */
  const ranges = []
  forEach(references, ({ parent: type }) => {
    const { parent: test } = type
    if (type.operator !== 'typeof' || test.type !== 'BinaryExpression' || test.left !== type ||
      !matches(PRIMITIVE_TYPE, `${test.right.value}`)) return
    const { parent: around } = test
    const { start, end } = around.consequent ?? around.right ?? test // the text that runs if the test holds
    if (around.test !== test && (around.operator !== '&&' || around.left !== test)) return
    if (matches(/^===?$/, test.operator)) push(ranges, start, end)
    else if (around.type === 'IfStatement' && !around.alternate && leaves(around.consequent) &&
      around.parent.type === 'BlockStatement') push(ranges, around.end, around.parent.end)
  })
  return ranges
}

/** Whether a statement always ends the function. @param {Node} statement */
function leaves({ type, body }) {
  const last = type === 'BlockStatement' ? body[body.length - 1]?.type : type
  return matches(/^(?:Return|Throw)Statement$/, last ?? '')
}

/**
 * Returns the path of the built-in value in a constant, for example in `const push = Array.prototype.push`.
 *
 * @param {Variable | any} variable @returns {string | null}
 */
function pathOfVariable(variable) {
  if (variable.path !== undefined) return variable.path
  variable.path = null
  // The variable of another text is imported there.
  const found = variable.kind === 'import' ? variable.scope.node.unit?.importOf?.(variable)?.variable : null
  if (found) return variable.path = pathOfVariable(found)
  if (!isFixed(variable) || variable.declarations.length !== 1) return null
  const { 0: id } = variable.declarations
  const { parent } = id
  if (parent.type === 'VariableDeclarator' && parent.id === id) {
    return variable.path = parent.init ? pathOfExpression(parent.init) : null
  }
  if (parent.type !== 'Property' || parent.value !== id || parent.parent.type !== 'ObjectPattern') return null
  const { parent: declarator } = parent.parent
  if (declarator.type !== 'VariableDeclarator' || !declarator.init) return null
  return variable.path = memberPath(pathOfExpression(declarator.init), nameOfKey(parent.key, parent.computed))
}

/** @param {Node} node @returns {string | null} */
function pathOfExpression(node) {
  const { type, variable, name, object, property, computed, expressions, operator, left, right } = node
  if (type === 'LogicalExpression') {
    // The global object of several environments, for example `typeof self === 'object' && self || global`
    const path = pathOfExpression(right)
    return operator === '&&' && path === '' || path === '' && pathOfExpression(left) === '' ? '' : null
  }
  if (isGlobalCall(node)) return ''
  // A built-in value that an environment may lack, for example `Buffer ? Buffer.isBuffer : undefined`
  if (type === 'ConditionalExpression') {
    return isUndefined(node.alternate) ? pathOfExpression(node.consequent) : null
  }
  if (type === 'SequenceExpression') return pathOfExpression(expressions[expressions.length - 1])
  if (type === 'MemberExpression') return memberPath(pathOfExpression(object), nameOfKey(property, computed))
  if (type !== 'Identifier') return null
  if (variable) return pathOfVariable(variable)
  if (matches(GLOBAL_OBJECT, name)) return ''
  return !now.program.globals.has(name) && matches(ENGINE, name) ? name : null
}

/**
 * Whether an expression is always falsy, for example `typeof exports === 'object' && exports` in a module.
 * Such tests select code for other environments.
 *
 * @param {Node} node @returns {boolean}
 */
export function isFalsy(node) {
  const { type, operator, left, right, value, variable, callee } = node
  if (type === 'Literal') return value === false || value === null || value === 0 || value === ''
  if (type === 'ParenthesizedExpression') return isFalsy(node.expression)
  if (type === 'Identifier' && variable) return isFalsyVariable(variable)
  if (type === 'LogicalExpression' && operator === '&&') return isFalsy(left) || isFalsy(right)
  if (type === 'LogicalExpression') return isFalsy(left) && isFalsy(right)
  if (type === 'BinaryExpression' && matches(/^===?$/, operator)) {
    return left.operator === 'typeof' && typeof right.value === 'string' && right.value !== 'undefined' &&
      isOfCommonJs(left.argument)
  }
  if (type !== 'CallExpression' || callee.type !== 'FunctionExpression') return isUndefined(node)
  const { facts: { isAsync, isGenerator, returns } } = callee
  return !isAsync && !isGenerator && !find(returns, ({ argument }) => argument && !isFalsy(argument))
}

/** @param {Variable | any} variable @returns {boolean} */
function isFalsyVariable(variable) {
  if (variable.isFalsy !== undefined) return variable.isFalsy
  variable.isFalsy = false
  const found = variable.kind === 'import' ? variable.scope.node.unit?.importOf?.(variable)?.variable : null
  if (found) return variable.isFalsy = isFalsyVariable(found)
  const { declarations } = variable
  if (!isFixed(variable) || declarations.length !== 1) return false
  const { parent } = declarations[0]
  return variable.isFalsy = parent.type === 'VariableDeclarator' && parent.id === declarations[0] &&
    parent.init && isFalsy(parent.init)
}

/** Whether an expression is a name that CommonJS declares, in a module. @param {Node} node */
const isOfCommonJs = ({ name = '', variable }) =>
  variable === null && now.unit.tree.sourceType === 'module' &&
  matches(/^(?:exports|module|require)$/, name) && !isAssigned(now.program.globals.get(name))

/** Whether a script declares a global name, or a text assigns it. @param {Holder | undefined} holder */
const isAssigned = holder =>
  holder !== undefined && (holder.slot.variable !== null || holder.writes.length > 0)

/** Whether an expression is `undefined`. @param {Node} node */
export const isUndefined = ({ type, name, variable, operator }) =>
  type === 'Identifier' ? name === 'undefined' && variable === null : operator === 'void'

/**
 * Whether an expression is `Function('return this')()`, or a call in place of a function that finds the
 * global object: `(function () { if (typeof self !== 'undefined') return self; ... })()`.
 *
 * @param {Node} node
 */
function isGlobalCall({ type, callee }) {
  if (type !== 'CallExpression') return false
  if (callee.type === 'CallExpression') {
    return callee.callee.name === 'Function' && callee.callee.variable === null &&
      callee.arguments[0]?.value === 'return this'
  }
  const inner = callee.type === 'ParenthesizedExpression' ? callee.expression : callee
  if (inner.type !== 'FunctionExpression') return false
  const { params, async, generator, body: { body } } = inner
  if (params.length || async || generator) return false
  return body.length > 0 && isGlobalObject(resultOf(body[0])) &&
    !find(body, statement => !isGlobalObject(resultOf(statement)) && !isFallback(resultOf(statement)))
}

/** @param {Node} statement @returns {Node | null} the value of `return x` or `if (...) return x` */
function resultOf({ type, alternate, consequent, argument }) {
  if (type === 'ReturnStatement') return argument
  if (type !== 'IfStatement' || alternate) return null
  const { type: inner, body, argument: result } = consequent
  if (inner === 'BlockStatement') return body.length === 1 && body[0].argument || null
  return inner === 'ReturnStatement' ? result : null
}

/** Whether an expression is a free name of the global object. @param {Node | null} node */
const isGlobalObject = node => node?.type === 'Identifier' && node.variable === null &&
  matches(GLOBAL_OBJECT, node.name)

/**
 * Whether an expression is a new object for environments without a global object. `var global` inside of the
 * text hides the name of the global object.
 *
 * @param {Node | null} node
 */
const isFallback = node => node?.type === 'ObjectExpression' && node.properties.length === 0 ||
  node?.type === 'Identifier' && matches(GLOBAL_OBJECT, node.name)

/** @param {string | null} path @param {string} name @returns {string | null} */
function memberPath(path, name) {
  if (path === null || name === '') return null
  if (path === '' && (!matches(ENGINE, name) || now.program.globals.has(name))) return null
  return path === '' ? name : `${path}.${name}`
}

/** @param {string} name @param {Node} node @returns {Flow} */
export function freeName(name, node) {
  const holder = now.program.globals.get(name)
  if (!holder && name === 'document') return domNode('')
  if (!holder && matches(ENGINE, name)) return builtIn(name)
  return readHolder(holder ?? globalOf(name, node), node)
}

/**
 * Returns the holder of a variable, with the objects that the variable holds initially.
 *
 * @param {Variable | any} variable @returns {Holder}
 */
export function initialized(variable) {
  const holder = holderOf(variable)
  if (variable.kind === 'arguments' && !holder.inner.roots.length) {
    const { owner } = holder
    const list = newSite('array', holder.slot.node)
    for (let i = 0; i < owner.declared; i++) add(list.inside, parameterOf(owner, i))
    add(list.inside, parameterOf(owner, MORE))
    add(holder.inner, list.root)
    const { facts, node } = owner.plan
    // In sloppy code an element of `arguments` is the parameter.
    if (!facts.isStrict) {
      forEach(node.params, ({ variable }) => variable && edge(list.inside, holderOf(variable).inner))
    }
  }
  if (variable.isDynamic && !holder.isOpened) open(holder, holder.owner)
  return holder
}

/** Notes that any code can read and assign a variable. @param {Holder} holder @param {Effects} by */
function open(holder, by) {
  holder.isOpened = true
  add(holder.inner, given)
  if (by) touch(holder.inner, by, LEAVE)
}

/** @param {Holder} holder @param {Node} node @returns {Flow} */
function readHolder(holder, node) {
  const { owner, inner, versions, slot } = holder
  if (owner === now.f && node.start < /** @type {any} */ (now.f).resumesAt) {
    return versions === null ? inner : versionAt(versions, node.start).inner
  }
  noteUse(holder, READ)
  if (owner !== now.f) capture(holder)
  else keep(inner)
  const last = versions?.[versions.length - 1]
  if (last && owner !== now.f && node.start >= last.from && isAfterText(owner)) {
    return last.outer ??= outerFlow(last.inner, slot)
  }
  return holder.outer ??= outerFlow(inner, holder.slot)
}

/** @param {Holder} holder @param {number} bits */
export function noteUse(holder, bits) {
  note(now.f, holder, bits)
}

/** Notes a variable of an outer function in all functions between. @param {Holder} holder */
export function capture(holder) {
  const { owner, slot } = holder
  holder.isCaptured = true
  if (slot.owner === null) return
  for (let inner = /** @type {any} */ (now.f); inner && inner !== owner; inner = inner.plan.parent?.effects) {
    push(inner.captures, holder)
  }
}

/** @param {Node} node `this` @returns {Flow | null} */
export function selfFlow(node) {
  let owner = /** @type {any} */ (now.f)
  while (owner.plan.facts.isArrow) owner = owner.plan.parent.effects
  const { plan } = owner
  if (!owner.self) {
    owner.self = newHolder(owner, 'this', null, plan.node)
    if (plan.node.type === 'Program') add(owner.self.inner, given)
    else if (plan.node === now.unit.tree.commonJS) edge(commonOf(now.unit).exports, owner.self.inner)
    else if (plan.node.type === 'StaticBlock' || (plan.node.type === 'PropertyDefinition' &&
      plan.node.static)) {
      add(owner.self.inner, siteOfClass(plan.node.parent.parent).root)
    } else add(owner.self.inner, parameterOf(owner, SELF))
  }
  return readHolder(owner.self, node)
}

/** @param {Variable} variable @param {Node} id @returns {Flow | null} */
function importedFlow(variable, id) {
  const found = now.unit.importOf?.(variable)
  if (found) {
    // The walk resolves a member of a namespace by its name.
    if (found.isNamespace && isMember(id.parent) && id.parent.object === id &&
      exportOfNamespace(id, nameOfKey(id.parent.property, id.parent.computed))) return null
    return exportFlow(found)
  }
  const holder = holderOf(variable)
  if (!holder.inner.roots.length) fillUnknown(holder)
  noteUse(holder, READ)
  return holder.outer ??= outerFlow(holder.inner, holder.slot)
}

/** Gives an import the objects of an unknown text. @param {Holder} holder */
function fillUnknown({ inner, slot: { variable } }) {
  add(inner, foreign)
  push(now.unit.tree.plan.unknownImports, variable)
}

/**
 * Returns the flow of `require('x')` or of `await import('x')` in a function: the same objects as those of a
 * variable that holds the module.
 *
 * @param {string} specifier @param {Node} node @returns {Flow}
 */
export function moduleFlow(specifier, node) {
  const { unit } = /** @type {any} */ (now)
  const modules = unit.modules ??= emptyMap()
  let holder = modules.get(specifier)
  if (!holder) {
    const variable = /** @type {any} */ ({
      name: specifier, kind: 'import', specifier, declarations: [], references: [], isAssigned: false,
      isOpen: false, isDynamic: false
    })
    holder = variable.holder = newHolder(unit.tree.plan.effects, specifier, variable, node)
    modules.set(specifier, holder)
    fillUnknown(holder)
  }
  return holder.outer ??= outerFlow(holder.inner, holder.slot)
}

/** @param {ModuleExport} found @returns {Flow} the objects that another text exports */
export function exportFlow(found) {
  const holder = holderOfExport(found)
  if (found.isNamespace) {
    releaseExports(found.unit)
    forEach(exportsOf(found.unit).known, one => { if (!one.isNamespace) noteUse(holderOfExport(one), READ) })
  } else {
    noteUse(holder, READ)
    capture(holder)
  }
  return holder.outer ??= outerFlow(holder.inner, holder.slot)
}

/**
 * Returns the export to which a member of a namespace refers.
 *
 * @param {Node} object @param {string} name empty: not known
 * @returns {ModuleExport | null} null if the object is not a namespace, or if the export is not known
 */
export function exportOfNamespace({ variable }, name) {
  if (variable?.kind !== 'import' || name === '') return null
  const found = now.unit.importOf?.(variable)
  return found?.isNamespace ? found.unit.exportOf?.(name) ?? null : null
}

/** @param {ModuleExport | any} found @returns {Holder} */
function holderOfExport({ unit, variable, isNamespace }) {
  if (variable) return initialized(variable)
  if (!isNamespace) return defaultOf(unit)
  if (!unit.namespace) {
    const { known, isComplete } = exportsOf(unit)
    unit.namespace = newHolder(/** @type {any} */ (null), '*namespace*', null, unit.tree)
    const site = newSite('namespace', unit.tree)
    add(unit.namespace.inner, site.root)
    forEach(known, one => put(site, holderOfExport(one).inner, now.f))
    if (!isComplete) add(site.inside, given)
  }
  return unit.namespace
}

/**
 * Returns the specifier of a `require` or an `import()`.
 *
 * @param {Node} node @returns {string | null}
 */
export function specifierOfLoad({ type, callee, source, arguments: list }) {
  const isLoad = type === 'ImportExpression' || callee.name === 'require'
  const given = isLoad ? source ?? list[0] : null
  return typeof given?.value === 'string' ? given.value : null
}

/** Returns the holder of the value of a default export. @param {Unit | any} unit @returns {Holder} */
const defaultOf = unit =>
  unit.defaultValue ??= newHolder(/** @type {any} */ (null), '*default*', null, unit.tree)

/** @param {Unit | any} unit @returns {{ known: ModuleExport[], isComplete: boolean }} */
function exportsOf(unit) {
  if (unit.exports) return unit.exports
  const { names, isComplete } = unit.exportNames?.() ?? { names: [], isComplete: false }
  const exports = unit.exports = { known: /** @type {ModuleExport[]} */ ([]), isComplete }
  forEach(names, name => {
    const one = unit.exportOf?.(name)
    if (one) push(exports.known, one)
    else exports.isComplete = false
  })
  return exports
}

/** @param {Unit | any} unit a module whose namespace is used as a value */
function releaseExports(unit) {
  if (unit.hasLeft) return
  unit.hasLeft = true
  const namespace = holderOfExport({ unit, variable: null, isNamespace: true })
  touch(namespace.inner, unit.tree.plan.effects, READ | LEAVE)
}

/** @param {Unit | any} of @returns {Map<string, Variable>} the variables that the text exports */
function exportedBy(of) {
  if (of.exported) return of.exported
  of.exported = emptyMap()
  const { body, scope: { variables } } = of.tree
  for (let i = 0; i < body.length; i++) {
    const { type, source, specifiers, declaration } = body[i]
    if (type === 'ExportDefaultDeclaration') {
      const variable = declaration.id?.variable ?? declaration.variable
      if (variable) of.exported.set('default', variable)
    }
    if (type !== 'ExportNamedDeclaration' || source) continue
    for (let k = 0; k < specifiers.length; k++) {
      const { local, exported } = specifiers[k]
      if (local.variable) of.exported.set(exported.name ?? exported.value, local.variable)
    }
    if (!declaration) continue
    for (const key in variables) {
      const id = variables[key].declarations[0]
      if (id && isWithin(id, declaration)) of.exported.set(key, variables[key])
    }
  }
  return of.exported
}

/** @param {Node[]} body the body of a module or script */
export function exportAll(body) {
  const { tree } = now.unit
  if (tree.commonJS) return openFlow(requiredFlow(now.unit, now.f), true)
  if (tree.sourceType === 'script') {
    const { variables } = tree.scope
    for (const name in variables) exportVariable(variables[name])
    return
  }
  exportedBy(now.unit).forEach(exportVariable)
  for (let i = 0; i < body.length; i++) {
    const { type, declaration } = body[i]
    if (type !== 'ExportDefaultDeclaration' || !declaration.flow) continue
    edge(declaration.flow, defaultOf(now.unit).inner)
    openFlow(declaration.flow, true)
  }
}

/** @param {Variable | any} variable a variable that other texts can use */
function exportVariable(variable) {
  if (variable.kind === 'import') return
  const holder = initialized(variable)
  holder.isExported = true
  if (variable.isOpen) add(holder.inner, given)
  openFlow(holder.inner, now.unit.tree.sourceType === 'module')
}

/**
 * Lets other texts name the objects of a flow and call its functions.
 *
 * @param {Flow} flow
 * @param {boolean} isModule whether other texts import the objects, and may store theirs in them
 */
export function openFlow(flow, isModule) {
  each(flow, ({ kind, of }) => {
    if (kind !== SITE && kind !== SHARED) return
    if (of.kind === 'function') release(of)
    if (of.isOpen) return
    of.isOpen = true
    if (of.prototype) openFlow(of.prototype.inside, isModule)
    if (isModule && of.kind !== 'function' && !of.isExports) addInside(of, given)
    openFlow(of.inside, isModule)
  })
}

/** @param {Node} node a class @returns {Site} */
export function siteOfClass(node) {
  if (node.site) return node.site
  const own = constructorOf(node)
  if (own) node.site = own.plan.effects.site
  else {
    const callee = newCallee()
    callee.isDefault = !node.superClass
    node.site = newSite('function', node, callee)
  }
  if (!node.superClass) node.site.properties = emptyMap()
  return node.site
}

/** @param {Node} node a class @returns {Node | undefined} */
export function constructorOf({ body: { body } }) {
  for (let i = 0; i < body.length; i++) if (body[i].kind === 'constructor') return body[i].value
}

/** @param {Node} node @returns {Node | null} the class around a function */
export function classAround(node) {
  for (let part = node; part; part = part.parent) if (part.type === 'ClassBody') return part.parent
  return null
}

/** Starts the walk of a text. @param {Unit} next */
export function visitUnit(next) {
  now.unit = next
}

/** Starts the walk of the code of a function. @param {Effects} next */
export function enter(next) {
  now.f = next
}
