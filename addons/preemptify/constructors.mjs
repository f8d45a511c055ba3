/**
 * addons/preemptify/constructors.mjs: constructors, and functions that use `new.target`.
 *
 * `new` in a twin makes the object, and then runs the body of the constructor as a twin. In a derived class
 * the object exists after `super()`. So the twin of a derived constructor makes the object by `superCall`
 * (construct.mjs), and the engine adds the fields of the class to it.
 */

import { BODY_EDGE, STATEMENT_EDGE, insert, pastOperand, replace } from './edits.mjs'
import { MAX_SKIPPED_PARAMETERS } from './helpers.mjs'
import { find, forEach, keysOf, matches, push, takeLast } from './primordials.mjs'
/** @import { Emitter, Plan } from './calls.mjs' */
/** @import { Facts, Node } from './scopes.mjs' */

/**
 * Whether the engine can make an object by a constructor whose body is skipped. Its parameters must do
 * nothing then: each one gets a value, so that no default is evaluated.
 *
 * @param {Node} node a constructor
 */
export const canBeSkipped = ({ params }) => params.length <= MAX_SKIPPED_PARAMETERS &&
  !find(params, (/** @type {Node} */ { type, left, argument = left }) =>
    matches(/Pattern$/, argument?.type ?? type))

/** Whether each object gets fields, or private methods, of a class. @param {Node} node a class */
export const hasFields = ({ body }) =>
  find(body.body, (/** @type {Node} */ { type, key, static: isStatic }) =>
    !isStatic && (type === 'PropertyDefinition' || key?.type === 'PrivateIdentifier')) !== undefined

/** The class of a constructor. @param {Node} node @returns {Node} */
export const classOf = node => node.parent.parent.parent

/**
 * The statement `super(...)` in the body of a derived constructor.
 *
 * @param {Node} node a derived constructor @returns {Node | undefined}
 */
const superStatementOf = ({ body }) => find(body.body, (/** @type {Node} */ { type, expression }) =>
  type === 'ExpressionStatement' && expression.type === 'CallExpression' &&
  expression.callee.type === 'Super')

/**
 * Whether a derived constructor can be split at `super()`: the code before it does not use `this`, and shares
 * no variable with the rest except its own ones.
 *
 * @param {Plan} plan the plan of the constructor
 */
export function canBeSplit({ node, facts }) {
  const statement = superStatementOf(node)
  if (!statement || (hasFields(classOf(node)) && !canBeSkipped(node))) return false
  // Declared functions are hoisted above `super()`.
  if (find(facts.functions, ({ node: inner }) => inner.parent === node.body)) return false
  const { end } = statement
  /** Words of the constructor and of arrow functions in it. @type {Node[]} */
  const words = []
  const inner = [facts]
  while (inner.length) {
    const { functions, words: own } = /** @type {Facts} */ (takeLast(inner))
    forEach(own, word => push(words, word))
    forEach(functions, nested => nested.isArrow && push(inner, nested))
  }
  const isOther = (/** @type {Node} */ { type, parent, start }) =>
    type === 'Super' ? parent !== statement.expression : type === 'ThisExpression' && start < end
  if (find(words, isOther)) return false
  const isBefore = (/** @type {Node[]} */ nodes) => find(nodes, ({ start }) => start < end) !== undefined
  const isAfter = (/** @type {Node[]} */ nodes) => find(nodes, ({ start }) => start > end) !== undefined
  return !find(facts.scopes, ({ variables }) => find(keysOf(variables), name => {
    const { kind, declarations, references } = variables[name]
    return isAfter(kind === 'arguments' ? references : declarations) &&
      (kind === 'arguments' || isBefore(declarations) || isBefore(references))
  }) !== undefined)
}

/**
 * Whether a twin can get `new.target` from its caller: only the function itself uses it.
 *
 * @param {Plan} plan
 */
export function canTakeTarget({ facts }) {
  const { isArrow, isAsync, isGenerator, isMethod, isConstructor, usesArguments, functions } = facts
  return !isArrow && !isAsync && !isGenerator && !usesArguments && (isConstructor || !isMethod) &&
    !find(functions, inner => inner.isArrow && inner.usesNewTarget)
}

/** Whether a twin gets `new.target` as its first parameter. @param {Facts} facts */
export const takesTarget = ({ usesNewTarget, isDerived }) => usesNewTarget && !isDerived

/** Replaces `new.target` in a twin. @param {Emitter} emitter @param {Facts} facts */
export function planTarget(emitter, { words, isDerived }) {
  const target = isDerived ? `${emitter.our}G.target` : `${emitter.our}G`
  forEach(words, ({ meta, start, end, parent }) => {
    // Deleting a value has no effect; deleting a variable is an error in strict code.
    if (meta?.name !== 'new') return
    replace(emitter, start, end, parent.operator === 'delete' ? `(0,${target})` : target)
  })
}

/**
 * The twin of a derived constructor has the construction as `this`, and keeps the object in a variable:
 *
 *   constructor(a) { super(a); this.b = a }
 *   function* (a) { const n = this; const o = yield* superCall(n, [a]); o.b = a }
 *
 * If arrow functions use `this`, the rest of the body is a separate function. V8 needs 4 us to make and call
 * a generator function (Node 20).
 *
 *   function* (a) { ...; return yield* apply(function* () { this.b = () => this }, o, []) }
 *
 * @param {Emitter} emitter @param {Node} own the constructor
 */
export function planSuper(emitter, own) {
  const { source, our, helper } = emitter
  const statement = /** @type {Node} */ (superStatementOf(own))
  const { expression: call, end, start } = statement
  const open = pastOperand(source, call.callee.end)
  replace(emitter, call.start, open + 1, `const ${our}U=yield*${helper('s')}(${our}G,[`)
  replace(emitter, call.end - 1, call.end, '])')
  const { words, functions } = own.facts
  if (find(functions, ({ isArrow, usesThis }) => isArrow && usesThis)) {
    insert(emitter, end, -STATEMENT_EDGE, start, `;return yield*${helper('a')}(function*(){`)
    insert(emitter, own.body.end - 1, -BODY_EDGE, end, `},${our}U,[])`)
  } else {
    insert(emitter, end, -STATEMENT_EDGE, start, ';')
    forEach(words, ({ type, start, end }) =>
      type === 'ThisExpression' && replace(emitter, start, end, `${our}U`))
    emitter.self = `${our}U`
  }
}

