/**
 * addons/preemptify/effects.mjs: finds the contested locations that each function uses.
 *
 * A *location* is a variable, an object that a variable holds, or the `lastIndex` of a regular expression. It
 * is *contested* if some function writes it after its module has loaded. A function *claims* the contested
 * locations that its own body uses: exclusively if it writes the location or lets the object leave, otherwise
 * shared. So a callee claims for itself, and a call whose callee is not known costs precision only.
 *
 * The caller claims an object before it passes the object. Therefore a function claims nothing for its
 * parameters and for results of calls, except for those that it still uses after an `await` or a `yield`.
 *
 *   effects-tables.mjs   the effects of built-in functions
 *   effects-roots.mjs    objects, flows and functions
 *   effects-flow.mjs     the objects that values may be, and the worklist
 *   effects-origins.mjs  the objects that unknown objects may be
 *   effects-names.mjs    the objects of variables, imports and exports
 *   effects-members.mjs  the objects of properties, and calls that the engine makes
 *   effects-commonjs.mjs the exports of CommonJS files
 *   effects-interop.mjs  code that compilers emit to turn modules into CommonJS files
 *   effects-calls.mjs    the effects of calls
 *   effects-walk.mjs     one walk over each text
 *   effects-exempt.mjs   caches, lazy variables and counters
 *   effects-whole.mjs    packages that are too large, whose functions claim the whole package
 */

import { callBuiltIn, finishWalk } from './effects-calls.mjs'
import { propagate, setBuiltInHandler, takeChanged } from './effects-flow.mjs'
import {
  CHANGE, DETAIL, DOM, LEAVE, MATCH, MORE, READ, RESET, SELF, SHARED, SPREAD, WRITE
} from './effects-roots.mjs'
import { isExempt } from './effects-exempt.mjs'
import { findKept, findOrigins } from './effects-origins.mjs'
import { beginWalk, endWalk, newProgram } from './effects-names.mjs'
import { prepare, walk } from './effects-walk.mjs'
import { emptyMap, emptySet, filter, find, forEach, matches, push, takeLast } from './primordials.mjs'
import { claimWhole, isTooLarge } from './effects-whole.mjs'
import { isFunctionNode } from './scopes.mjs'
/** @import { Effects, Root, Slot } from './effects-roots.mjs' */
/** @import { Program, Unit } from './effects-names.mjs' */
/** @import { Node, Variable } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */

/**
 * State that functions can share.
 *
 * @typedef {object} Location
 * @property {'variable' | 'object' | 'regexp' | 'dom'} kind
 * @property {string} name a name for people, for example `tokens` or `[].rules`
 * @property {Variable | null} variable the variable, or the variable by which functions reach the object
 * @property {Node} node the node in the text
 * @property {string} unit the name of the text
 * @property {Plan | null} owner the function whose activation it belongs to; null: the module or script
 * @property {boolean} isContested
 * @property {boolean} isOpen whether a text that is compiled later can make it contested
 * @property {boolean} isExported whether it is a variable that other texts can import
 * @property {boolean} isExempt a cache, a lazy variable or a counter, which no function needs to claim
 * @property {Location[]} aliases locations that can be the same object; all of them are contested together
 * @property {any} site the expression that makes the object, if that is known
 * @property {boolean} isOfParameter whether all objects of the location are values of a parameter
 * @property {Location | null} group a representative of the locations that functions use together: see
 *   groupOf
 */
/**
 * @typedef {object} Claim
 * @property {Location} location
 * @property {boolean} isExclusive
 * @property {string} guard the name of a parameter; a primitive value of the parameter needs no claim. Empty:
 *   none
 * @property {boolean} isForFunctions whether the claim is necessary if the guard is a function
 */
/**
 * The part of an analysis that later texts of the package need.
 *
 * @typedef {object} PackageState
 * @property {Program} program the texts that are known
 * @property {Location} unknown all objects that left, and all unknown objects that variables hold
 * @property {Location} patterns unknown regular expressions
 * @property {Location} dom nodes of the document without a name
 * @property {Map<string, Location>} named nodes of the document with a constant selector, and built-in
 *   objects
 * @property {Location[]} locations
 * @property {Effects[]} functions
 * @property {number} located the number of functions whose locations are known
 * @property {boolean} isOwn whether the package is own code, with a lock for each group of locations
 * @property {string} directory the directory of the package; empty: own code
 * @property {Set<string>} joins the directories of the packages whose objects this package keeps
 */

/**
 * The state for the first texts of a package.
 *
 * @param {boolean} [isOwn] whether each group of locations has a lock; default: one lock for the package
 * @param {Program} [program] the texts of all packages, if a later text can add a method; default: those
 *   of the
 *   package alone
 * @returns {PackageState}
 */
export function newPackage(isOwn = false, program = newProgram(), directory = '') {
  return {
    isOwn,
    program,
    unknown: newLocation('object', 'unknown objects', null, /** @type {any} */ (null), ''),
    patterns: newLocation('regexp', 'unknown regular expressions', null, /** @type {any} */ (null), ''),
    dom: newLocation('dom', 'document', null, /** @type {any} */ (null), ''),
    named: emptyMap(),
    locations: [],
    functions: [],
    located: 0,
    directory,
    joins: emptySet()
  }
}

/**
 * @param {Location['kind']} kind @param {string} name @param {Variable | null} variable @param {Node} node
 * @param {string} unit @returns {Location}
 */
function newLocation(kind, name, variable, node, unit) {
  /** @type {Location} */
  const location = {
    kind, name, variable, node, unit, owner: null, isContested: false, isOpen: false, isExported: false,
    isExempt: false, aliases: [], site: null, group: null, isOfParameter: false
  }
  push(location.aliases, location)
  return location
}

/**
 * Finds the contested locations that each function of these texts uses. Planning comes first. A later call
 * with the same package can make earlier locations contested, and replaces the lists of earlier plans that
 * have new effects. So the run-time support reads `isContested` when it claims. `groupOf` returns the
 * location that stands for a lock; a location with an owner has a lock in each activation. Sets on each plan:
 *
 *   claims      what it claims at its entry; effects of short functions that it calls by name are included
 *   openClaims  what it claims as soon as a later text makes the location contested
 *   changes     the arguments that it or its callees may change: `{ this: boolean, parameters: boolean[],
 *               others: boolean }`
 *   isExposed   whether code that is not known can call it
 *   claimsAll   whether it claims the whole package exclusively
 *
 * The functions of a package that is too large claim the whole package.
 *
 * @param {Unit[]} units all texts of one package that are known together
 * @param {{ package?: PackageState }} [options] `package`: the state of earlier texts of the package
 */
export function findEffects(units, { package: state = newPackage() } = {}) {
  addTexts([{ units, state }])
  findClaims([state])
  return state
}

/**
 * Adds texts to the packages of one program. `findClaims` then finds the claims of their functions.
 *
 * @param {{ units: Unit[], state: PackageState }[]} packages the new texts of each package
 */
export function addTexts(packages) {
  const added = filter(packages, ({ units }) => {
    const isWhole = isTooLarge(units)
    if (isWhole) forEach(units, unit => {
      unit.tree.isTooLarge = true
      claimWhole(unit.plans, unit.text)
    })
    return !isWhole
  })
  if (added.length === 0) return
  setBuiltInHandler(callBuiltIn)
  beginWalk(added[0].state.program)
  // Packages can import each other, so all texts are prepared before the first of them is walked.
  forEach(added, ({ units }) => forEach(units, prepare))
  forEach(added, ({ units }) => forEach(units, walk))
  propagate()
  finishWalk()
  propagate()
  // An earlier function has new effects if a new text adds a method or assigns a variable that it uses.
  const changed = takeChanged()
  for (let i = 0; i < changed.length; i++) {
    const earlier = /** @type {PackageState | undefined} */ (/** @type {any} */ (changed[i]).state)
    if (earlier) earlier.located = 0
  }
  forEach(added, ({ units, state }) => forEach(units, ({ plans, name }) => {
    forEach(plans, plan => {
      const { effects } = /** @type {any} */ (plan)
      effects.unit = name
      effects.state = state
      push(state.functions, effects)
    })
    plans[0].joins = state.joins
  }))
}

/**
 * Finds the claims of functions with new effects.
 *
 * @param {PackageState[]} states all packages of a program
 */
export function findClaims(states) {
  /** @type {Effects[][]} */
  const found = []
  for (let i = 0; i < states.length; i++) {
    const state = states[i]
    const functions = after(state.functions, state.located)
    state.located = state.functions.length
    push(found, functions)
    findLoading(functions)
  }
  for (let i = 0; i < states.length; i++) locate(found[i], states[i], states)
  for (let i = 0; i < states.length; i++) contest(found[i], states[i])
  // A function can call functions of all packages.
  for (let i = 0; i < states.length; i++) findClaimed(found[i])
  for (let i = 0; i < states.length; i++) claim(found[i], states[i])
  endWalk()
}

/** @param {Effects[]} list @param {number} first @returns {Effects[]} */
function after(list, first) {
  /** @type {Effects[]} */
  const rest = []
  for (let i = first; i < list.length; i++) push(rest, list[i])
  return rest
}

// Code that runs only while its module loads

/**
 * Marks the functions that run only while their module loads: code that runs once, functions that only such
 * code calls by name, and callbacks that only such code calls.
 *
 * @param {Effects[]} functions
 */
function findLoading(functions) {
  for (let i = 0; i < functions.length; i++) {
    const effects = /** @type {any} */ (functions[i])
    const { plan } = effects
    effects.isLoading = plan.isOnce || mayBeLoading(effects)
  }
  for (let isStable = false; !isStable;) {
    isStable = true
    for (let i = 0; i < functions.length; i++) {
      const effects = /** @type {any} */ (functions[i])
      if (!effects.isLoading || effects.plan.isOnce || hasLoadingCallers(effects)) continue
      effects.isLoading = false
      isStable = false
    }
  }
}

/** @param {Effects} effects @returns {boolean} */
function mayBeLoading({ plan: { node, facts }, site, isDeferred }) {
  if (node.type === 'StaticBlock' ||
    node.type === 'PropertyDefinition') return node.type === 'StaticBlock' || node.static
  return isFunctionNode(node) && !site.hasLeft && !isDeferred && !facts.isMethod
}

/** @param {any} effects @returns {boolean} */
function hasLoadingCallers({ plan: { node, parent } }) {
  const variable = variableOfFunction(node)
  if (!variable) return isCalledInPlace(node) && parent.effects.isLoading
  const { references, declarations, isAssigned } = variable
  if (isAssigned || declarations.length > 1) return false
  for (let i = 0; i < references.length; i++) {
    const { parent, scope } = references[i]
    if (parent.callee !== references[i] || !scope.facts.node.plan.effects.isLoading) return false
  }
  return true
}

/** @param {Node} node @returns {Variable | null} the variable that holds a function */
function variableOfFunction({ type, id, parent }) {
  if (type === 'FunctionDeclaration') return id?.variable ?? null
  return parent.type === 'VariableDeclarator' && parent.id.type === 'Identifier' ? parent.id.variable : null
}

/** @param {Node} node a function @returns {boolean} whether it is called, or an argument, where it stands */
function isCalledInPlace(node) {
  const { parent, type } = node
  if (type === 'StaticBlock' || type === 'PropertyDefinition') return true
  if (parent.type === 'MemberExpression' && parent.object === node) return parent.parent.callee === parent
  return parent.type === 'CallExpression' || parent.type === 'NewExpression'
}

// Locations

/**
 * Finds the locations that each function uses, with effects as bits.
 *
 * @param {Effects[]} functions @param {PackageState} state @param {PackageState[]} states all packages
 */
function locate(functions, state, states) {
  /** @type {Slot[]} */
  const slots = []
  /** @type {Slot[]} */
  const written = []
  /** The slots of all unknown objects that the functions use. @type {Slot[]} */
  const kept = []
  for (let i = 0; i < functions.length; i++) {
    const { uses } = functions[i]
    if (uses !== null) uses.forEach((/** @type {number} */ bits, /** @type {any} */ key) => {
      const { kind, of, slot, owner, writes } = key
      if (kind === SHARED && slot.owner && !isInsider(functions[i], slot.owner.plan)) of.isReached = true
      if (kind !== undefined || writes) return
      push(kept, key)
      if (!owner) return
      push(slots, key)
      if (bits & WRITE) push(written, key)
    })
  }
  findOrigins(slots, written)
  joinPackages(functions, kept, state, states)
  for (let i = 0; i < functions.length; i++) {
    const f = /** @type {any} */ (functions[i])
    f.known = f.parts = null
    if (f.uses === null) {
      f.located = NO_LOCATIONS
      continue
    }
    /** @type {Map<Location, number>} */
    const found = emptyMap()
    const note = (/** @type {Location | null} */ location, /** @type {number} */ bits) => {
      if (location) found.set(location, (found.get(location) ?? 0) | bits)
    }
    f.uses.forEach((/** @type {number} */ bits, /** @type {any} */ key) => {
      const { owner } = key.slot ?? key
      // A caller claims its arguments, also for closures that run before the call returns.
      if (!key.writes && owner && (!isInside(f, owner.plan) || !owner.isDeferred &&
        isInsider(f, owner.plan))) return
      if (key.writes) return note(locationOfVariable(key, state), bits)
      if (key.kind === undefined) {
        if (bits & (MATCH | RESET)) note(state.patterns, bits & MATCH ? WRITE : READ)
        return noteUnknown(key, f, bits, state, note)
      }
      const used = key.kind === SHARED && key.of.kind === 'function' ? usesOfFunction(key.of, bits) : bits
      if (used !== 0) note(locationOfRoot(key, f, state), used)
    })
    f.located = found
  }
}

/**
 * Joins the locks of packages if one package may keep an object of the other, because each of them may write
 * the object. All unknown objects of the two packages are one location from then on.
 *
 * @param {Effects[]} functions the functions of one package @param {Slot[]} kept the slots of unknown objects
 * @param {PackageState} state @param {PackageState[]} states all packages
 */
function joinPackages(functions, kept, state, states) {
  if (states.length < 2) return
  forEach(findKept(functions, kept), node => {
    const { directory } = stateOfNode(node)
    if (directory === state.directory || state.joins.has(directory)) return
    state.joins.add(directory)
    const other = /** @type {PackageState} */ (find(states, one => one.directory === directory))
    unite(state.unknown, other.unknown)
  })
}

/** @param {Node} node @returns {PackageState} the package of the text that contains a node */
const stateOfNode = node => topOf(node).plan.effects.state

/** @param {Slot} slot @returns {Plan | null} */
const ownerOf = ({ owner }) => owner === null || /** @type {any} */ (owner).isLoading ? null : owner.plan

/** Names of holders that no code assigns. */
const CONSTANT = /^(?:this|\*default\*|\*namespace\*)$/

/** @param {any} holder @param {PackageState} state @returns {Location | null} */
function locationOfVariable(holder, state) {
  const { slot, location, isOpened, isExported } = holder
  const { name, variable, node } = slot
  const isConstant = variable ? !isOpened && !variable.isAssigned && !variable.isOpen
    : matches(CONSTANT, name)
  if (isConstant || (holder.owner && !holder.isCaptured && !isExported)) return null
  if (location) return location
  const made = holder.location = newLocation('variable', name, variable, node, nameOfUnit(node))
  made.owner = ownerOf(slot)
  made.isOpen = !variable || variable.isOpen
  made.isExported = isExported
  if (isOpened) made.isContested = true
  push(state.locations, made)
  return made
}

/**
 * Notes the use of an unknown object that a variable holds. If only closures of one activation can reach the
 * object, the object belongs to the activation. Otherwise another activation, a module or another package may
 * keep the same object, so all unknown objects are one location.
 *
 * @param {any} slot @param {any} f @param {number} bits @param {PackageState} state
 * @param {(location: Location, bits: number) => void} note
 */
function noteUnknown(slot, f, bits, state, note) {
  const owner = ownerOf(slot)
  if (owner === null || slot.isShared) {
    return note(locationOfSlot(slot, f, state), bits & (READ | WRITE | LEAVE | DETAIL))
  }
  if (bits & WRITE || slot.mayBeWritten) {
    note(locationOfSlot(slot, f, state), READ | bits & (WRITE | DETAIL))
  }
  if (!slot.own) {
    const { name, variable, node } = slot
    const made = slot.own = newLocation('object', `${name}.*`, variable, node, nameOfUnit(node))
    made.owner = owner
    push(state.locations, made)
  }
  note(slot.own, bits & (READ | WRITE | LEAVE))
}

/**
 * Returns the effects on the properties of a function. A function that leaves counts as used only if a text
 * certainly writes its properties, because most functions leave and have no properties.
 *
 * @param {any} site the site of the function @param {number} bits @returns {number}
 */
function usesOfFunction({ hasState, mayHaveState, isRead }, bits) {
  if (hasState) return bits & (READ | WRITE | LEAVE)
  return mayHaveState && isRead ? bits & (READ | WRITE) : 0
}

/**
 * @param {any} slot the slot of an unknown object @param {any} f @param {PackageState} state @returns
 *   {Location}
 */
function locationOfSlot(slot, f, state) {
  if (slot.location) return slot.location
  const { name, variable, node } = slot
  const made = slot.location = newLocation('object', `${name}.*`, variable, node, node ? nameOfUnit(node)
    : f.unit)
  made.isOpen = true
  made.isOfParameter = variable?.holder?.slot === slot && isFixedParameter(variable)
  unite(state.unknown, made)
  push(state.locations, made)
  return made
}

/** @param {Root} root @param {any} f @param {PackageState} state @returns {Location} */
function locationOfRoot(root, f, state) {
  const { kind, of } = root
  if (kind === DOM && of === '') return state.dom
  if (kind !== SHARED) {
    const node = f.plan.node
    const name = kind === DOM ? `document ${of}` : of
    const known = state.named.get(name)
    if (known) return known
    const made = newLocation(kind === DOM ? 'dom' : 'variable', name, null, node, f.unit)
    made.isOpen = true
    state.named.set(name, made)
    push(state.locations, made)
    return made
  }
  const { shared } = of
  if (!of.location) {
    const { name, variable } = /** @type {Slot} */ (root.slot)
    const made = of.location = newLocation(of.kind === 'regexp' ? 'regexp' : 'object', name, variable,
      of.node, nameOfUnit(of.node))
    made.owner = ownerOf(shared[0].slot)
    made.site = of
    push(state.locations, made)
  }
  const { location } = of
  for (let i = 0; i < shared.length; i++) {
    if (ownerOf(shared[i].slot) !== location.owner) location.owner = null
  }
  location.isOpen = of.isOpen
  if (of.hasLeft && of.kind !== 'function' && !of.isFrozen) {
    location.owner = null
    location.isOpen = true
    unite(state.unknown, location)
    if (of.kind === 'regexp') unite(state.unknown, state.patterns)
  }
  return location
}

/** @param {Node} node @returns {string} */
const nameOfUnit = node => topOf(node).plan.effects.unit

/** @param {Node} node @returns {any} the module or script that contains a node */
function topOf(node) {
  let top = node
  while (top.parent) top = top.parent
  return top
}

/** Two locations can be the same object. @param {Location} one @param {Location} other */
function unite(one, other) {
  if (one.aliases === other.aliases) return
  const { aliases, isContested: wasContested } = one
  for (let i = 0; i < other.aliases.length; i++) push(aliases, other.aliases[i])
  const moved = other.aliases
  for (let i = 0; i < moved.length; i++) moved[i].aliases = aliases
  if (wasContested === other.isContested) return
  for (let i = 0; i < aliases.length; i++) aliases[i].isContested = true
}

/** The locations of a function that uses none. @type {Map<any, any>} */
const NO_LOCATIONS = /* @__PURE__ */ emptyMap()

/** @param {Location} location */
function setContested({ aliases, isContested }) {
  if (isContested) return
  for (let i = 0; i < aliases.length; i++) aliases[i].isContested = true
}

/**
 * Whether a function runs only during the activation that a location belongs to: the owner, and closures that
 * only code of the activation calls.
 *
 * @param {any} f @param {Plan} owner @returns {boolean}
 */
function isInsider(f, owner) {
  while (f.plan !== owner) {
    if (f.site.hasLeft || !f.plan.parent || f.isDeferred) return false
    f = f.plan.parent.effects
  }
  return true
}

/** Whether a function stands in another one, or is that function. @param {any} f @param {Plan} owner */
function isInside({ plan }, owner) {
  for (let around = plan; around; around = around.parent) if (around === owner) return true
  return false
}

/**
 * Finds the contested locations.
 *
 * @param {Effects[]} functions @param {PackageState} state
 */
function contest(functions, state) {
  /** Locations of activations that code outside of the activation uses. */
  const outside = emptySet()
  const written = emptySet()
  forEach(functions, f => {
    const { isLoading, located } = /** @type {any} */ (f)
    located.forEach((/** @type {number} */ bits, /** @type {Location} */ location) => {
      const { owner, site } = location
      if (owner === null) {
        // Code that is not followed calls a function, but does not write its properties.
        const leave = site?.kind === 'function' ? 0 : LEAVE
        if (isLoading ? bits & leave : bits & (WRITE | leave)) setContested(location)
        return
      }
      if (!isInsider(f, owner)) outside.add(location)
      if (bits & (WRITE | LEAVE)) written.add(location)
    })
  })
  const { locations } = state
  for (let i = 0; i < locations.length; i++) {
    const location = /** @type {any} */ (locations[i])
    const { site, owner } = location
    if (owner !== null) {
      if (outside.has(location) && (written.has(location) || site?.isWritten)) setContested(location)
    } else if (site && !site.isFrozen) {
      for (let k = 0; k < site.leavers.length; k++) if (site.leavers[k].isLoading) setContested(location)
    }
    // An unknown object in a variable can be the function.
    if (site?.kind === 'function' && site.hasLeft && location.isContested) unite(state.unknown, location)
  }
}

// Claims

/** Finds the locations that functions and their parts use. @param {Effects[]} functions */
function findClaimed(functions) {
  for (let i = 0; i < functions.length; i++) {
    const f = /** @type {any} */ (functions[i])
    f.claimed = f.isLoading ? NO_LOCATIONS : claimedBy(f)
  }
}

/** @param {Effects[]} functions @param {PackageState} state */
function claim(functions, state) {
  exempt(state)
  group(functions, state)
  const writers = findWriters(functions)
  for (let i = 0; i < functions.length; i++) {
    const f = /** @type {any} */ (functions[i])
    const { plan, claimed } = f
    /** @type {Claim[]} */
    plan.claims = []
    /** @type {Claim[]} */
    plan.openClaims = []
    plan.changes = changesOf(f)
    plan.isExposed = !f.isLoading && f.site.hasLeft
    plan.claimsAll = !f.isLoading && claimsAll(f)
    const written = writers.get(f)
    claimed.forEach((/** @type {boolean} */ isWriter, /** @type {Location} */ location) => {
      if (location.isExempt) return
      const isExclusive = isWriter || (written !== undefined && written.has(groupOf(location)))
      const guard = guardOf(location, plan)
      const made = { location, isExclusive, guard, isForFunctions: f.detailed.has(location) }
      if (location.isContested) push(plan.claims, made)
      else if (location.isOpen) push(plan.openClaims, made)
    })
  }
}

/**
 * The locations that a function uses, with the code that is a part of it.
 *
 * @param {any} f
 * @returns {Map<Location, boolean>} whether the function writes the location, or lets the object leave
 */
function claimedBy(f) {
  /** @type {Map<Location, boolean> | null} */
  let found = null
  f.detailed = emptySet()
  const parts = partsOf(f)
  for (let k = 0; k < parts.length; k++) {
    const part = parts[k]
    part.located.forEach((/** @type {number} */ bits, /** @type {Location} */ location) => {
      const { owner } = location
      // The stay in which an activation begins needs no claim. A deferred body can run in another stay.
      if (owner === f.plan ? !f.isDeferred : owner !== null && isInsider(part, owner)) return
      found ??= emptyMap()
      found?.set(location, found.get(location) || (bits & (WRITE | LEAVE)) !== 0)
      if (bits & (WRITE | DETAIL)) f.detailed.add(location)
    })
  }
  return found ?? NO_LOCATIONS
}

/**
 * Returns the name of the parameter of an outer function that holds the objects of a location. A primitive
 * value of the parameter needs no claim, and neither does a function whose properties are not used.
 *
 * @param {Location} location @param {Plan} plan the function that claims
 * @returns {string} empty: the objects have other origins, or the name means another variable
 */
function guardOf({ variable, isOfParameter }, { facts }) {
  if (!isOfParameter) return ''
  const { name, scope: home } = /** @type {Variable} */ (variable)
  let { scope } = facts
  while (scope && scope !== home) {
    if (scope.variables[name]) return ''
    scope = /** @type {any} */ (scope.parent)
  }
  return scope ? name : ''
}

/** Whether the value of a parameter never changes. @param {Variable | null} variable */
function isFixedParameter(variable) {
  if (variable?.kind !== 'parameter' || variable.isAssigned || variable.isDynamic) return false
  const { isSplit, facts: { usesArguments, isStrict } } = variable.scope
  return !isSplit && (!usesArguments || isStrict)
}

/** @param {any} f @returns {boolean} */
function claimsAll(f) {
  const parts = partsOf(f)
  for (let i = 0; i < parts.length; i++) if (parts[i].claimsAll) return true
  return false
}

/** Marks caches, lazy variables and counters. @param {PackageState} state */
function exempt({ locations }) {
  const mayWrite = (/** @type {Node} */ node) => hasWriter(/** @type {any} */ (node.plan).effects)
  for (let i = 0; i < locations.length; i++) {
    const location = locations[i]
    if (location.isContested && location.owner === null && isExempt(location,
      mayWrite)) location.isExempt = true
  }
}

/** @param {any} f @returns {boolean} whether a function or a callee may write contested locations */
function hasWriter(f) {
  /** @type {any[]} */
  const list = [f]
  const seen = emptySet()
  for (let i = 0; i < list.length; i++) {
    if (seen.has(list[i])) continue
    seen.add(list[i])
    if (list[i].claimsAll || hasUnknownCall(list[i])) return true
    let isWriter = false
    list[i].claimed.forEach((/** @type {boolean} */ isExclusive, /** @type {Location} */ location) => {
      if (isExclusive && location.isContested && !location.isExempt) isWriter = true
    })
    if (isWriter) return true
    const targets = targetsOf(list[i])
    for (let k = 0; k < targets.length; k++) push(list, targets[k])
  }
  return false
}

/** @param {any} f @returns {boolean} */
function hasUnknownCall({ callees }) {
  for (let i = 0; i < callees.length; i++) {
    const { isUnknown, open, isNamed, targets } = callees[i]
    if (isUnknown || open.length || (isNamed && targets.length > 1)) return true
  }
  return false
}

/**
 * Joins the locations that functions use together: in a package all of them, in own code those that one
 * function
 * uses. Each activation is a group.
 *
 * @param {Effects[]} functions @param {PackageState} state
 */
function group(functions, { isOwn, unknown }) {
  for (let i = 0; i < functions.length; i++) {
    /** @type {Location | null} */
    let first = isOwn ? null : unknown
    const { claimed } = /** @type {any} */ (functions[i])
    claimed.forEach((/** @type {boolean} */ _, /** @type {Location} */ location) => {
      if (location.owner !== null || location.isExempt) return
      if (first === null) first = location
      else join(first, location)
      join(location.aliases[0], location)
    })
  }
}

/** @param {Location} location @returns {Location} the representative of its group */
export function groupOf(location) {
  if (location.owner !== null) return /** @type {any} */ (location.owner).effects.group ??= location
  let top = location
  while (top.group !== null) top = top.group
  if (top !== location) location.group = top
  return top
}

/** @param {Location} one @param {Location} other */
function join(one, other) {
  const first = groupOf(one)
  const second = groupOf(other)
  if (first !== second) second.group = first
}

/**
 * The groups that each function may write, itself or by a callee. A function that reads and whose callee
 * writes
 * claims exclusively at once, so that two readers do not wait for each other.
 *
 * @param {Effects[]} functions @returns {Map<any, Set<Location>>}
 */
function findWriters(functions) {
  /** @type {Map<any, any[]>} */
  const callers = emptyMap()
  /** @type {Map<any, Set<Location>>} */
  const written = emptyMap()
  /** Pairs of a function and a group. @type {any[]} */
  const rest = []
  for (let i = 0; i < functions.length; i++) {
    const f = /** @type {any} */ (functions[i])
    if (f.isLoading) continue
    f.claimed.forEach((/** @type {boolean} */ isExclusive, /** @type {Location} */ location) => {
      if (isExclusive && location.isContested && !location.isExempt) push(rest, f, groupOf(location))
    })
    const targets = targetsOf(f)
    for (let k = 0; k < targets.length; k++) {
      const list = callers.get(targets[k])
      if (list) push(list, f)
      else callers.set(targets[k], [f])
    }
  }
  while (rest.length) {
    const location = takeLast(rest)
    const f = takeLast(rest)
    let groups = written.get(f)
    if (!groups) written.set(f, groups = emptySet())
    if (/** @type {any} */ (groups).has(location)) continue
    groups?.add(location)
    const list = callers.get(f)
    if (list) for (let i = 0; i < list.length; i++) push(rest, list[i], location)
  }
  return written
}

/** @param {Effects} effects */
function changesOf({ parameters, declared }) {
  const isChanged = (/** @type {number} */ index) => {
    const parameter = parameters[index - SPREAD]
    return parameter !== undefined && (parameter.isPassed || (parameter.bits & CHANGE) !== 0)
  }
  /** @type {boolean[]} */
  const list = []
  for (let i = 0; i < declared; i++) push(list, isChanged(i))
  return { this: isChanged(SELF), parameters: list, others: isChanged(MORE) }
}

/**
 * A function, and the code that claims as a part of the function: closures that are called in place,
 * fields of
 * the class, and short functions that are called by name.
 *
 * @param {any} f @returns {any[]}
 */
function partsOf(f) {
  if (f.parts) return f.parts
  const parts = f.parts = [f]
  f.partOf = parts
  const include = (/** @type {any} */ other) => {
    if (other.partOf === parts || other.isLoading) return
    other.partOf = parts
    push(parts, other)
  }
  for (let i = 0; i < parts.length; i++) {
    const { includes, plan: { children } } = parts[i]
    for (let k = 0; k < includes.length; k++) include(includes[k])
    for (let k = 0; k < children.length; k++) {
      const { effects } = children[k]
      if (!effects.site.hasLeft && !effects.isDeferred && isFunctionNode(effects.plan.node)) include(effects)
    }
    const targets = targetsOf(parts[i])
    for (let k = 0; k < targets.length; k++) if (!targets[k].plan.isLong) include(targets[k])
  }
  return parts
}

/** @param {any} f @returns {any[]} the functions that a function calls by their own names */
function targetsOf(f) {
  if (f.known) return f.known
  const { callees } = f
  /** @type {any[]} */
  const found = f.known = []
  /** @type {any[]} */
  const rest = []
  for (let i = 0; i < callees.length; i++) push(rest, callees[i])
  while (rest.length) {
    const callee = takeLast(rest)
    if (callee.isNamed || callee.calledBy === found) continue
    callee.calledBy = found
    if (callee.effects !== null) push(found, callee.effects)
    for (let i = 0; i < callee.targets.length; i++) push(rest, callee.targets[i])
  }
  return found
}
