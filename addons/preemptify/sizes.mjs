/**
 * addons/preemptify/sizes.mjs: the length of a rewritten text, predicted from the tree and measured in twins.
 *
 * The growth of a text is limited. A twin in generator form is shorter than one in frame form, and slower. So
 * the compiler predicts the length of each twin and chooses its form before it makes the twin.
 */

import { directOf } from './calls.mjs'
import { canClaimInTail, isTailOnly } from './frames.mjs'
import { emptyMap, emptySet, filter, forEach, isArray, join, max, sort } from './primordials.mjs'
/** @import { Edit, Fragments } from './edits.mjs' */
/** @import { Plan } from './calls.mjs' */

// Mean numbers of characters that rewriting adds, fitted to 20 packages, most of them minified. The predicted
// length of a whole text is mostly within 10 % of its length.
const FRAME = { twin: 146, place: 108, call: 13, loop: 60 }
const GENERATOR = { twin: 35, call: 51, loop: 35 }
const TAIL = { twin: 6, call: 7 }
/** Characters for the text of the callee in each call, which error messages use. */
const MESSAGE = 20
/** Characters of the call that attaches a twin: a constant, and factors for the title and the twin's name. */
const REGISTRATION = { call: 21, title: 3.7, name: 2.4 }
/** Characters of a function body that only runs the twin. */
const STUB = 61
/** Characters for the claims of a function: in a twin in frame form, in a generator, and in a plain body. */
const CLAIM = { frame: 32, generator: 24, plain: 9 }
/** Characters of the call that claims arguments, without the arguments. */
const IDENTITY = 12
/** Characters of a factory and the calls of it, without the parameters and the arguments. */
const FACTORY = 36

/**
 * Predicts by how much a twin is longer than the text of its function.
 *
 * @param {Plan} plan @param {boolean} says whether calls pass on the text of the callee for error messages
 * @param {boolean} isFramed whether the twin has frame form
 */
function addedBy(plan, says, isFramed) {
  const { calls, facts: { loops } } = plan
  const { length } = calls
  const isClaiming = plan.claimTexts.length > 0
  const said = (says ? MESSAGE * length : 0) + (isClaiming ? isFramed ? CLAIM.frame : CLAIM.generator : 0)
  if (!isFramed) return said + GENERATOR.twin + GENERATOR.call * length + GENERATOR.loop * loops.length
  if (isTailOnly(plan) && canClaimInTail(plan)) return said + TAIL.twin + TAIL.call * length
  let places = 0
  for (let i = 0; i < length; i++) if (calls[i].node.isHeld) places++
  return said + FRAME.twin + FRAME.place * places + FRAME.call * (length - places) + FRAME.loop * loops.length
}

/**
 * Predicts the length of a rewritten text from the tree.
 *
 * @param {Plan[]} plans the plans of all functions, after `countCopies` and `markResumePoints`
 * @param {boolean} says whether calls pass on the text of the callee for error messages
 * @param {number} inlineCaches the length of the texts of inline caches
 */
export function predictedLength(plans, says, inlineCaches) {
  let length = inlineCaches
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    const { node, isLong, title, twin, lifted, copies: { 0: outside, 1: inside } } = plan
    const own = ownSpan(plan) + (plan.claimTexts.length > 0 ? CLAIM.plain : 0) +
      (plan.identity ? IDENTITY + plan.identity.length : 0)
    length += outside * (isPrintedWhole(plan, false) ? own : STUB)
    length += inside * (isPrintedWhole(plan, true) ? own : STUB)
    if (!isLong) continue
    const added = addedBy(plan, says, plan.isFramed)
    const name = node.type === 'FunctionDeclaration' ? REGISTRATION.name * twin.length : 0
    const registration = REGISTRATION.call + REGISTRATION.title * title.length + name
    length += (outside + inside) * (own + added + registration)
    if (lifted) length += FACTORY + 3 * join(lifted.parameters, ',').length
  }
  return length
}

/** Returns the number of inline caches that calls may use. @param {Plan[]} plans */
export function possibleInlineCaches(plans) {
  const names = emptySet()
  for (let i = 0; i < plans.length; i++) {
    const { calls } = plans[i]
    for (let k = 0; k < calls.length; k++) {
      const { kind, target, cachedName } = calls[k]
      if (kind !== 'new' && !target?.isDirect) names.add(cachedName)
    }
  }
  return names.size
}

/**
 * Changes twins to generator form until the predicted text is short enough.
 *
 * @param {Plan[]} spare functions whose twins may be generators, in the order of the change
 * @param {number} excess the number of characters above the limit
 * @param {boolean} says whether calls pass on the text of the callee for error messages
 * @returns {number} how many elements of `spare` have become generators
 */
export function chooseGenerators(spare, excess, says) {
  let count = 0
  for (; count < spare.length && excess > 0; count++) {
    spare[count].isFramed = false
    excess -= gainOf(spare[count], says)
  }
  return count
}

/**
 * Predicts by how much a text gets longer if a twin changes from generator form to frame form.
 *
 * @param {Plan} plan @param {boolean} says whether calls pass on the text of the callee for error messages
 */
export function gainOf(plan, says) {
  const { 0: outside, 1: inside } = plan.copies
  return (outside + inside) * (addedBy(plan, says, true) - addedBy(plan, says, false))
}

/**
 * Whether a function keeps its body in addition to its twin. Without a separate body, a plain call of the
 * function runs the twin.
 *
 * @param {Plan} plan @param {boolean} isInner whether this copy of the function is inside of a twin
 */
export const isPrintedTwice = ({ node, facts, duals, children }, isInner) =>
  facts.isAsync || facts.isGenerator ||
  (facts.isMethod && node.parent.type === 'MethodDefinition') ||
  (!isInner && (duals > 0 || children.length === 0))

/**
 * Whether a copy of a function contains its body, in addition to a twin or without a twin.
 *
 * @param {Plan} plan @param {boolean} isInner whether this copy of the function is inside of a twin
 */
export const isPrintedWhole = (plan, isInner) => !plan.isLong || isPrintedTwice(plan, isInner)

/**
 * Counts the copies of each function in the text: see Plan. A lifted function has one copy. A function that
 * would have one copy anyway is not lifted.
 *
 * @param {Plan[]} plans outer functions first
 */
export function countCopies(plans) {
  plans[0].copies = [1, 0]
  for (let i = 0; i < plans.length; i++) {
    const { copies: { 0: around, 1: within }, lifted } = plans[i]
    if (around + within < 2) plans[i].lifted = null
    else if (lifted) plans[i].copies = [1, 0]
    const { isLong, copies: { 0: outside, 1: inside } } = plans[i]
    const plain = isPrintedWhole(plans[i], false) ? outside : 0
    const inner = (isLong ? outside + inside : 0) + (isPrintedWhole(plans[i], true) ? inside : 0)
    forEach(plans[i].children, child => { child.copies = [plain, inner] })
  }
}

/**
 * Counts how often the text calls each twin by its name.
 *
 * @param {Plan[]} plans @returns {Map<Plan, number>}
 */
export function directCalls(plans) {
  const counts = emptyMap()
  forEach(plans, ({ isLong, emitter, calls, copies }) => isLong && forEach(calls, call => {
    if (!directOf(emitter, call)) return
    counts.set(call.target, (counts.get(call.target) ?? 0) + copies[0] + copies[1])
  }))
  return counts
}

/** Returns the length of a function in the source. @param {Plan} plan */
const spanOf = ({ node: { start, end } }) => end - start

/** Returns the length of a function in the source without the functions in it. @param {Plan} plan */
function ownSpan(plan) {
  let span = spanOf(plan)
  forEach(plan.children, child => { span -= spanOf(child) })
  return span
}

/** @param {Plan} a @param {Plan} b */
const byLength = (a, b) => spanOf(b) - spanOf(a)

/** Returns the length of a text if its ranges are not edited. @param {Fragments} text @returns {number} */
export function plainLength(text) {
  if (typeof text === 'string') return text.length
  if (!isArray(text)) return text.name === undefined ? text.to - text.from : 0
  let length = 0
  for (let i = 0; i < text.length; i++) length += plainLength(text[i])
  return length
}

/** Returns the number of characters that edits add, without those in their ranges. @param {Edit[]} edits */
export function addedByEdits(edits) {
  let length = 0
  for (let i = 0; i < edits.length; i++) length += plainLength(edits[i].text) - (edits[i].to - edits[i].at)
  return length
}

/** Returns the number of characters that the edits of a twin add. @param {Plan} plan @param {Edit[]} edits */
export function addedInTwin({ frame, children }, edits) {
  let length = addedByEdits(edits)
  if (frame) forEach(children, ({ registered }) => { length -= plainLength(registered ?? '') })
  return length
}

/**
 * Lists the functions whose twins may change from frame form to generator form, in the order of the change.
 * Functions that create closures come first, because closures are called more often than the functions around
 * them; then the longest functions.
 *
 * @param {Plan[]} plans
 */
export function inOrderOfLoss(plans) {
  const spare = filter(plans, plan => plan.isFramed && !(isTailOnly(plan) && canClaimInTail(plan)))
  /** The number of levels of functions inside of each function. @type {Map<Plan, number>} */
  const heights = emptyMap()
  const heightOf = (/** @type {Plan} */ plan) => heights.get(plan) ?? 0
  for (let i = plans.length; i-- > 0;) {
    const { parent } = plans[i]
    if (parent) heights.set(parent, max(heightOf(parent), heightOf(plans[i]) + 1))
  }
  return sort(spare, (/** @type {Plan} */ a, /** @type {Plan} */ b) =>
    heightOf(b) - heightOf(a) || a.node.scope.depth - b.node.scope.depth || byLength(a, b))
}
