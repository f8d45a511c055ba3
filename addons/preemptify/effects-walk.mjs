/**
 * addons/preemptify/effects-walk.mjs: one walk over a text, which connects the flows of its expressions.
 *
 * The walk visits the parts of a node before the node, without recursion. Each expression that may hold an
 * object gets a flow; an expression without one is primitive.
 */

import { isMember, keyOf } from './calls.mjs'
import { callFlow, callMember, callValue, newObject } from './effects-calls.mjs'
import {
  COMPUTED, COPY, OWN, add, addTarget, calleeOf, connectResult, each, edge, either, giveBack, keep, load,
  makeUnknown, markState, objectsOf, ownOf, parameterOf, put, release, spreadInto, store, touch, use
} from './effects-flow.mjs'
import {
  BUILT_IN, LEAVE, MORE, READ, SHARED, SITE, WRITE, given, newCallee, newFlow, newSite, pathOf
} from './effects-roots.mjs'
import { commonOf, declareIn, isExports, replaceExports } from './effects-commonjs.mjs'
import { exportsDefinedBy } from './effects-interop.mjs'
import {
  callIfKnown, contain, convert, defineMember, inherit, instancesOf, invokeAccessor, iterated,
  memberOfBuiltIn, nameInstances, propertyOf, prototypeOf, withGetters
} from './effects-members.mjs'
import {
  capture, classAround, constructorOf, eachDescriptor, enter, exportAll, exportFlow, exportOfNamespace,
  fill, firstOf, globalOf, holderOf, initialized, isFalsy, isUndefined, made, moduleFlow, nameOfKey,
  noteUse, now, referenceTo, selfFlow, siteOf, siteOfClass, specifierOfLoad, unknownFlow, visitUnit
} from './effects-names.mjs'
import {
  codeAt, emptyMap, find, forEach, holds, lastIndexOf, matches, push, slice, takeLast
} from './primordials.mjs'
import { fieldsOf, isFixed } from './scopes.mjs'
/** @import { Callee, Effects, Flow } from './effects-roots.mjs' */
/** @import { Node, Variable } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */
/** @import { Holder, Unit } from './effects-names.mjs' */

/** @param {Plan} plan @returns {Effects} */
function newEffects(plan) {
  const { node, facts } = plan
  const { params = [] } = node
  const last = params[params.length - 1]
  const hasRest = last?.type === 'RestElement'
  /** @type {any} */
  const effects = newCallee()
  effects.effects = effects
  effects.plan = plan
  effects.site = newSite('function', node, effects)
  if (node.parent?.kind !== 'constructor') effects.site.properties = emptyMap()
  effects.uses = null
  effects.touched = null
  effects.captures = []
  effects.callees = []
  effects.declared = hasRest ? params.length - 1 : params.length
  effects.isOpenEnded = hasRest || facts.usesArguments
  effects.isDeferred = facts.isAsync || facts.isGenerator
  effects.claimsAll = facts.usesEval || facts.hasWith
  effects.self = /** @type {Holder | null} */ (null)
  effects.resumesAt = resumesAt(facts)
  effects.includes = []
  effects.returned = newFlow()
  effects.first = /** @type {Flow | null} */ (null)
  effects.endings = []
  effects.isChanged = false
  connectResult(effects)
  if (effects.isDeferred) add(effects.result, given)
  return effects
}

/**
 * The place in the text from which a function may run in a later stay: its first `await` or `yield`, or the
 * outermost loop around it. The body of a generator always runs later.
 *
 * @param {Plan['facts']} facts @returns {number}
 */
function resumesAt({ node, isAsync, isGenerator, awaits, loops }) {
  if (isGenerator) return node.start
  if (!isAsync) return Infinity
  let first = awaits.length ? awaits[0].start : Infinity
  for (let i = 0; i < loops.length && loops[i].start < first; i++) {
    if (loops[i].end > first || loops[i].await) first = loops[i].start
  }
  return first
}

/** Prepares the functions of a text. @param {Unit} next */
export function prepare(next) {
  const { plans, tree } = next
  tree.unit = next
  for (let i = 0; i < plans.length; i++) {
    const plan = /** @type {any} */ (plans[i])
    plan.effects = newEffects(plan)
    const { calls } = plan.facts
    const { accessors } = now.program
    for (let k = 0; k < calls.length; k++) {
      const defined = exportsDefinedBy(calls[k], tree)
      if (defined) forEach(defined, ({ getter }) => { if (getter) getter.isExportGetter = true })
      else eachDescriptor(calls[k], (name, { properties }) => {
        accessors.set(name, true)
        const isAccessor = (/** @type {any} */ { key, computed }) => !key || matches(/^(?:[gs]et)?$/,
          nameOfKey(key, computed))
        if (find(properties, isAccessor)) now.program.definesAccessors = true
      })
    }
    if (!plan.facts.isAccessor) continue
    const { key, computed } = plan.node.parent
    now.program.accessors.set(nameOfKey(key, computed), true)
  }
  if (tree.sourceType === 'script') {
    const { variables } = tree.scope
    for (const name in variables) now.program.globals.set(name, holderOf(variables[name]))
  }
}

/** Connects the flows of a text. @param {Unit} next */
export function walk(next) {
  visitUnit(next)
  /** Nodes with their functions. A node whose parts are visited has `null` above it. @type {any[]} */
  const stack = [next.tree, next.tree.plan.effects]
  while (stack.length) {
    let around = takeLast(stack)
    const node = takeLast(stack)
    if (around === null) {
      enter(takeLast(stack))
      const flow = visits[node.type](node)
      if (flow) node.flow = flow
      continue
    }
    if (visits[node.type] !== undefined) push(stack, around, node, null)
    const own = node.plan?.effects ?? around
    const fields = fieldsOf(node)
    for (let i = 0; i < fields.length; i++) {
      const { key, isLabel } = fields[i]
      const part = node[key]
      if (!part || (isLabel && !node.computed)) continue
      const inner = key === 'key' ? around : own
      if (part.length === undefined) {
        if (part.type) pushNode(stack, part, inner)
      } else for (let k = 0; k < part.length; k++) if (part[k]) pushNode(stack, part[k], inner)
    }
  }
}

/** @param {any[]} stack @param {Node} node @param {Effects} around */
function pushNode(stack, node, around) {
  if (node.type === 'Identifier') {
    if (node.isWritten !== false) return
    enter(around)
    const flow = referenceTo(node)
    if (flow) node.flow = flow
  } else if (node.type !== 'Literal' || node.value === undefined) push(stack, node, around)
}

/**
 * The flow of an expression, by the type of its node. Functions are in a scope of their own: `f` is the
 * function around them.
 *
 * @type {Record<string, (node: any) => Flow | null | void>}
 */
const visits = {
  // @ts-ignore
  __proto__: null,
  Program: ({ body }) => exportAll(body),
  Literal(node) {
    if (codeAt(now.unit.text, node.start) !== 47) return null
    const flags = slice(now.unit.text, lastIndexOf(now.unit.text, '/', node.end - 1), node.end)
    return holds(flags, 'g') || holds(flags, 'y') ? made('regexp', node) : null
  },
  ThisExpression: node => selfFlow(node),
  ArrayExpression(node) {
    const flow = made('array', node)
    const { elements } = node
    for (let i = 0; i < elements.length; i++) if (elements[i]) put(siteOf(flow), elements[i].flow, now.f)
    return flow
  },
  SpreadElement: ({ argument, parent }) =>
    parent.type === 'ObjectExpression' ? null : iterated(argument.flow),
  ObjectExpression(node) {
    const flow = made('object', node)
    const site = siteOf(flow)
    site.properties = emptyMap()
    const { properties } = node
    for (let i = 0; i < properties.length; i++) {
      const { type, key, value, computed, kind, method, shorthand, argument } = properties[i]
      if (type === 'SpreadElement') spreadInto(site, withGetters(argument.flow ?? null), now.f)
      else {
        if (kind !== 'init' || method) release(value.plan.effects.site)
        if (kind !== 'init') site.hasAccessors = true
        const isPrototype = key.name === '__proto__' && !computed && !shorthand && !method
        if (isPrototype) {
          site.hasAccessors = true // the prototype may have accessors
          spreadInto(site, value.flow ?? null, now.f)
          continue
        }
        if (kind === 'init') defineMember(nameOfKey(key, computed), value.flow, site)
        else defineMember(`${nameOfKey(key, computed)}()`, value.flow, null)
        put(site, value.flow, now.f, nameOfKey(key, computed))
      }
    }
    return flow
  },
  FunctionExpression: functionFlow,
  ArrowFunctionExpression: functionFlow,
  FunctionDeclaration: functionFlow,
  ClassExpression: classFlow,
  ClassDeclaration: classFlow,
  PropertyDefinition(node) {
    const { key, computed, value, static: isStatic, parent: { parent } } = node
    const flow = value?.flow ?? null
    const name = nameOfKey(key, computed)
    defineMember(name, flow, null)
    if (isStatic) put(siteOfClass(parent), flow, now.f, name)
    else if (flow) {
      touch(flow, node.plan.effects, READ | LEAVE)
      if (name === '') edge(flow, instancesOf(parent))
      else nameInstances(parent, name)
    }
  },
  MemberExpression: memberFlow,
  ChainExpression: ({ expression }) => expression.flow,
  ParenthesizedExpression: ({ expression }) => expression.flow,
  SequenceExpression: ({ expressions }) => expressions[expressions.length - 1].flow,
  ConditionalExpression: ({ test, consequent, alternate }) =>
    isFalsy(test) ? alternate.flow : either(consequent.flow, alternate.flow),
  LogicalExpression({ operator, left, right }) {
    if (operator === '&&') return isFalsy(left) ? null : right.flow
    return either(left.flow, right.flow)
  },
  AssignmentExpression({ operator, left, right }) {
    const isPlain = operator === '='
    if (!isPlain && !matches(/^(?:&&|\|\||\?\?)=$/, operator)) {
      use(left.type === 'Identifier' ? referenceTo(left) : left.flow, now.f, READ)
      use(right.flow, now.f, READ)
      convert(left.type === 'Identifier' ? referenceTo(left) : left.flow, now.f)
      convert(right.flow, now.f)
      assign(left, null)
      return null
    }
    if (isPlain && isExports(left, now.unit.tree)) replaceExports(now.unit, right)
    assign(left, right.flow)
    return isPlain ? right.flow : either(right.flow, left.type === 'Identifier' ? referenceTo(left)
      : left.flow)
  },
  UpdateExpression({ argument }) {
    const flow = argument.type === 'Identifier' ? referenceTo(argument) : argument.flow
    use(flow, now.f, READ)
    convert(flow, now.f)
    assign(argument, null)
  },
  UnaryExpression({ operator, argument }) {
    if (matches(/^[-+~]$/, operator)) {
      use(argument.flow, now.f, READ)
      convert(argument.flow, now.f)
    }
    if (operator !== 'delete') return
    const { type, expression, object } = argument
    const holder = type === 'ChainExpression' ? expression.object : object
    use(holder?.flow ?? null, now.f, READ | WRITE)
    markState(holder?.flow ?? null)
  },
  BinaryExpression({ operator, left, right }) {
    // `==` converts an object that is compared with another primitive value than null.
    const isEquality = matches(/^[!=]==?$/, operator)
    if (isEquality && (operator.length > 2 || find([left, right], isNullish))) return
    use(left.flow, now.f, READ)
    use(right.flow, now.f, READ)
    if (operator === 'instanceof' && right.flow) {
      callIfKnown(right.flow, ['@hasInstance'], [left.flow ?? null], now.f)
    }
    if (matches(/^in(?:stanceof)?$/, operator)) return
    convert(left.flow, now.f)
    convert(right.flow, now.f)
  },
  TemplateLiteral({ expressions }) {
    for (let i = 0; i < expressions.length; i++) {
      use(expressions[i].flow, now.f, READ)
      convert(expressions[i].flow, now.f)
    }
  },
  AwaitExpression: ({ argument }) => either(argument.flow, unknownFlow()),
  YieldExpression({ argument }) {
    touch(argument?.flow ?? null, now.f, READ | LEAVE)
    return unknownFlow()
  },
  CallExpression: callFlow,
  NewExpression: newObject,
  TaggedTemplateExpression(node) {
    const { tag, quasi } = node
    const args = [unknownFlow()]
    for (let i = 0; i < quasi.expressions.length; i++) push(args, quasi.expressions[i].flow)
    return isMember(tag) ? callMember(tag, args, null, node) : callValue(tag.flow, null, args, null, node)
  },
  ImportExpression(node) {
    const specifier = specifierOfLoad(node)
    if (specifier === null) return unknownFlow()
    const flow = moduleFlow(specifier, node)
    return node.parent.type === 'AwaitExpression' ? flow : unknownFlow()
  },
  MetaProperty: unknownFlow,
  VariableDeclarator({ id, init }) {
    if (init) bind(id, init.flow, true)
  },
  ForInStatement({ left, right }) {
    use(right.flow, now.f, READ)
    bindLoop(left, null)
  },
  ForOfStatement({ left, right }) {
    const items = iterated(right.flow)
    bindLoop(left, right.parent.await ? either(items, unknownFlow()) : items)
  },
  CatchClause({ param }) {
    if (param) bind(param, either(unknownFlow(), now.program.caught), true)
  },
  ReturnStatement({ argument }) {
    // The exported value is known: see exportsDefinedBy.
    if (now.f.plan.node.isExportGetter) return
    giveBack(argument?.flow ?? null, now.f)
  },
  ThrowStatement({ argument }) {
    touch(argument.flow, now.f, READ | LEAVE)
    edge(argument.flow, now.program.thrown)
  }
}

/** Whether an expression is `null` or `undefined`. @param {Node} node */
const isNullish = node => node.value === null || isUndefined(node)

/** @param {Node} left of a loop @param {Flow | null} value */
function bindLoop(left, value) {
  if (left.type === 'VariableDeclaration') bind(left.declarations[0].id, value, left.kind !== 'var')
  else bind(left, value, false)
}

/** @param {Node} target @param {Flow | null} value */
export const assign = (target, value) => bind(target, value, false)

/**
 * Gives a value to a target.
 *
 * @param {Node} target an identifier, a member or a pattern @param {Flow | null} value
 * @param {boolean} isDeclaration
 */
export function bind(target, value, isDeclaration) {
  /** @type {any[]} */
  const rest = [target, value]
  while (rest.length) {
    const flow = takeLast(rest)
    const node = takeLast(rest)
    switch (node?.type) {
      case 'Identifier':
        bindName(node, flow, isDeclaration)
        break
      case 'ChainExpression': case 'MemberExpression':
        bindMember(node, flow)
        break
      case 'AssignmentPattern':
        push(rest, node.left, either(flow, node.right.flow))
        break
      case 'RestElement': {
        const list = made(node.parent.type === 'ObjectPattern' ? 'object' : 'array', node)
        put(siteOf(list), flow, now.f)
        push(rest, node.argument, list)
        break
      }
      case 'ArrayPattern': {
        const items = iterated(flow)
        for (let i = 0; i < node.elements.length; i++) push(rest, node.elements[i], items)
        break
      }
      case 'ObjectPattern': {
        const path = pathOf(flow)
        for (let i = 0; i < node.properties.length; i++) {
          const part = node.properties[i]
          if (part.type === 'RestElement') push(rest, part, load(withGetters(flow), now.f))
          else {
            const name = nameOfKey(part.key, part.computed)
            push(rest, part.value, path !== null ? memberOfBuiltIn(path, name, node) : propertyOf(flow,
              name))
          }
        }
      }
    }
  }
}

/** @param {Node} id @param {Flow | null} value @param {boolean} isDeclaration */
function bindName(id, value, isDeclaration) {
  const { variable, name } = id
  if (id.isDynamic) now.f.claimsAll = true
  const holder = variable ? initialized(variable) : globalOf(name, id)
  fill(holder, value, id)
  if (isDeclaration && holder.owner === now.f) return
  push(holder.writes, id)
  noteUse(holder, WRITE)
  if (holder.owner === now.f) return
  capture(holder)
  if (holder.owner === null) touch(value, now.f, READ | LEAVE)
  else keep(value)
}

/** @param {Node} member @param {Flow | null} value */
function bindMember({ object, property, computed }, value) {
  if (!object) return
  const name = nameOfKey(property, computed)
  const path = pathOf(object.flow)
  if (path === '' && name !== '') {
    const holder = globalOf(name, property)
    edge(value, holder.inner)
    noteUse(holder, WRITE)
    touch(value, now.f, READ | LEAVE)
    return
  }
  if (isMark(object)) {
    push(now.program.marks, name, object.flow, now.f)
    return
  }
  use(object.flow, now.f, READ | WRITE)
  markState(object.flow)
  invokeAccessor(object.flow, name, [value], null)
  if (!value) {
    now.program.stored.set(name, true)
    if (now.unit.tree.commonJS && now.f.plan.isOnce) declareIn(object.flow, name)
    return
  }
  const around = object.type === 'ThisExpression' ? classOfThis() : null
  if (around) {
    if (name === '') edge(value, instancesOf(around))
    else nameInstances(around, name)
  }
  store(object.flow, value, now.f, name === '__proto__' ? COPY : around ? OWN : name === '' ? COMPUTED : name)
  defineMember(name, value, null)
}

/**
 * Whether a constructor gives the prototype of its class a constant: `Box.prototype.isBox = true`. Each
 * instance has the property, whoever makes the first one.
 *
 * @param {Node} object the object whose member is assigned
 */
function isMark({ type, object: id, parent: { computed, parent: assignment } }) {
  if (type !== 'MemberExpression' || computed || id.type !== 'Identifier') return false
  const { node } = now.f.plan
  const around = node.parent?.kind === 'constructor' ? classAround(node) : null
  const isAlways = assignment.operator === '=' && assignment.right.type === 'Literal' &&
    assignment.parent.type === 'ExpressionStatement' && assignment.parent.parent === node.body
  return isAlways && around?.id?.name === id.name && keyOf(assignment.left.object) === 'prototype' &&
    classOf(id.variable) === around
}

/** @param {Variable | null} variable @returns {Node | null} the class that a variable always holds */
function classOf(variable) {
  if (!variable || !isFixed(variable) || variable.declarations.length !== 1) return null
  const { 0: { parent } } = variable.declarations
  return matches(/^Class/, parent.type) ? parent : null
}

/** @param {Node} node @returns {Flow[] | null} the values of the parameters of a CommonJS file */
function valuesOf(node) {
  if (node !== now.unit.tree.commonJS) return null
  const { exports, module } = commonOf(now.unit)
  return [exports, unknownFlow(), module, newFlow(), newFlow()]
}

/** @param {Node} node @returns {Flow} */
function functionFlow(node) {
  const { id, params, body, plan: { effects }, type } = node
  const around = now.f
  enter(effects)
  const values = valuesOf(node)
  for (let i = 0; i < params.length; i++) {
    const root = parameterOf(effects, params[i].type === 'RestElement' ? MORE : i)
    const isName = values === null && params[i].type === 'Identifier'
    const flow = values?.[i] ?? (isName ? firstOf(params[i]) : newFlow())
    if (values === null) add(flow, root)
    if (i === 0) effects.first = flow
    if (!isName) bind(params[i], flow, true)
  }
  if (body.type !== 'BlockStatement' && !node.isExportGetter) giveBack(body.flow, effects)
  enter(around)
  const flow = newFlow()
  add(flow, effects.site.root)
  if (type === 'FunctionDeclaration' && id) {
    const holder = initialized(id.variable)
    edge(flow, holder.inner)
    if (holder.owner !== now.f) keep(flow)
  } else if (id) edge(flow, initialized(id.variable).inner)
  return flow
}

/** @param {Node} node a class @returns {Flow} */
function classFlow(node) {
  const { id, superClass, body: { body } } = node
  const site = siteOfClass(node)
  const own = constructorOf(node)
  const flow = newFlow()
  site.statics = emptyMap()
  add(flow, site.root)
  const instances = /** @type {any} */ (site).instances = instancesOf(node)
  if (superClass?.flow) each(superClass.flow, root => {
    contain(root, instances)
    const isKnown = root.kind === SITE || root.kind === SHARED
    if (isKnown && root.of.kind === 'function') edge(objectsOf(root), ownOf(site))
    inherit(root, prototypeOf(site).inside)
  })
  if (superClass) {
    edge(load(superClass.flow, now.f), site.inside)
    const callee = /** @type {Callee} */ (site.effects)
    if (!own && superClass.flow) {
      addTarget(callee, calleeOf(superClass.flow))
      each(superClass.flow, ({ kind }) => { if (kind === BUILT_IN) makeUnknown(callee) })
    }
  }
  if (superClass?.flow) edge(superClass.flow, node.base ??= newFlow())
  /** @type {Effects[]} */
  const fields = []
  for (let i = 0; i < body.length; i++) {
    const { type, key, kind, value, computed, static: isStatic } = body[i]
    if (type === 'PropertyDefinition' || type === 'StaticBlock') {
      if (!body[i].plan) continue // a field without a value
      if (!isStatic && type === 'PropertyDefinition') push(fields, body[i].plan.effects)
      else push(/** @type {any} */ (now.f).includes, body[i].plan.effects)
    } else if (kind !== 'constructor') {
      release(value.plan.effects.site)
      const name = nameOfKey(key, computed)
      if (isStatic && kind === 'method') site.statics?.set(name, value.plan.effects)
      defineMember(kind === 'method' ? name : `${name}()`, value.flow, null)
    }
  }
  /** @type {any} */ (site).fields = fields
  if (own) for (let i = 0; i < fields.length; i++) push(own.plan.effects.includes, fields[i])
  if (id) {
    const holder = initialized(id.variable)
    edge(flow, holder.inner)
    const inner = node.scope?.variables[id.name]
    if (inner && inner !== id.variable) edge(flow, initialized(inner).inner)
  }
  return flow
}

/** @returns {Node | null} the class that `this` is an instance of */
function classOfThis() {
  let owner = /** @type {any} */ (now.f)
  while (owner.plan.facts.isArrow) owner = owner.plan.parent.effects
  const { node } = owner.plan
  const { parent } = node
  const member = node.type === 'PropertyDefinition' ? node : parent
  const isMethod = member?.type === 'MethodDefinition' || member?.type === 'PropertyDefinition'
  return isMethod && !member.static ? member.parent.parent : null
}

/** @param {Node} node @returns {Flow | null} */
function memberFlow(node) {
  const { object, property, computed, parent } = node
  if (computed) {
    use(property.flow, now.f, READ)
    convert(property.flow, now.f)
  }
  if (parent.callee === node && parent.type === 'CallExpression') return null // callMember
  if (parent.left === node && parent.operator === '=' || parent.type === 'UnaryExpression' &&
    parent.operator === 'delete') return null
  const name = nameOfKey(property, computed)
  const path = pathOf(object.flow)
  if (path !== null) return memberOfBuiltIn(path, name, node)
  if (object.type === 'Super') return either(unknownFlow(), propertyOf(selfFlow(object), name))
  const found = exportOfNamespace(object, name)
  if (found) return exportFlow(found)
  return propertyOf(object.flow, name)
}
