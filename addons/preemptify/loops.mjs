/**
 * addons/preemptify/loops.mjs: preemption points, and loops that run in chunks of one budget.
 */

import { kindOf } from './calls.mjs'
import {
  BODY_EDGE, EXPRESSION_EDGE, STATEMENT_EDGE, enclose, insert, pastParentheses, replace, seek, some,
  variable
} from './edits.mjs'
import { matches, slice } from './primordials.mjs'
import { pastSpace } from './read.mjs'
import { LISTS, isDirectEval } from './scopes.mjs'
/** @import { Node } from './scopes.mjs' */
/** @import { Emitter } from './calls.mjs' */

/**
 * Whether a node of a function is in the body of a `with`.
 *
 * @param {Node} node
 * @param {Node} own the function
 */
function isInWith(node, own) {
  if (!own.facts.hasWith) return false
  for (; node !== own; node = node.parent) if (node.parent.type === 'WithStatement') return true
  return false
}

/**
 * Returns a statement that yields on a condition.
 *
 * @param {Emitter} emitter @param {string} condition @param {string} [budget] the expression for the budget
 */
const pause = ({ steps, layout, budget: name }, condition, budget = name) => layout ? layout.pause(condition)
  : steps ? `if (${condition} && ${steps}.p()) yield ${steps};` : `if (${condition}) yield ${budget}.p;`

/**
 * Returns a preemption point. In the body of a `with`, a property can hide any name. There the budget is read
 * from `super`, which is not a name.
 *
 * @param {Emitter} emitter @param {Node} node @param {Node} own
 */
export function pointIn(emitter, node, own) {
  const budget = `${isInWith(node, own) ? 'super.' : ''}${emitter.budget}`
  return emitter.isCounted ? emitter.spell(pause(emitter, `--${budget}.left <= 0`, budget))
    : `yield ${budget}.p;`
}

/**
 * Whether a loop with this node cannot run in chunks, because the node may yield or capture variables.
 *
 * @param {Emitter} emitter @param {Node} node
 */
const preventsChunks = ({ written }, node) => written.has(node) || node.facts || node.type === 'ClassBody' ||
  matches(/^(?:loop|await|yield)s$/, LISTS[node.type] ?? '') || isDirectEval(node)

/** Returns the labels of a statement, and their start. @param {Emitter} emitter @param {Node} statement */
export function labelsOf(emitter, statement) {
  let text = ''
  for (; statement.parent.type === 'LabeledStatement'; statement = statement.parent) {
    text = `${labelOf(emitter, statement.parent.label)}: ${text}`
  }
  return { start: statement.start, text }
}

/**
 * Returns the text of a label. A label `yield` gets another name, because it is invalid in a generator.
 *
 * @param {Emitter} emitter @param {Node} label
 */
export const labelOf = ({ our, source }, { name, start, end }) =>
  name === 'yield' ? `${our}yield` : slice(source, start, end)

/**
 * Finds the code in a loop that determines the form of its chunks. `hasMembers` also covers iterations: both
 * can run code that is not visible in the text. `hasExits` is true if a `return`, a `throw` or a jump to a
 * label can leave the loop.
 *
 * @param {Emitter} emitter @param {Node} loop
 * @returns {{ hasCalls: boolean, hasMembers: boolean, hasExits: boolean } | null} null if the loop contains
 *   code for which it cannot run in chunks
 */
function contentsOf(emitter, loop) {
  let hasCalls = false
  let hasMembers = false
  let hasExits = false
  const isRefused = some(loop, node => {
    if (node !== loop && preventsChunks(emitter, node)) return true
    const { type, object, computed } = node
    hasCalls ||= type === 'ImportExpression' ||
      (LISTS[type] === 'calls' && (type === 'TaggedTemplateExpression' || kindOf(node) !== ''))
    hasMembers ||= type === 'MemberExpression'
      ? !computed && !(object.name === 'Math' && object.variable === null)
      : matches(/^(?:Spread|ArrayP|ObjectP|TemplateL)/, type)
    hasExits ||= matches(/^(?:Return|Throw)/, type) || (matches(/^(?:Break|Continue)/, type) && node.label)
  })
  return isRefused ? null : { hasCalls, hasMembers, hasExits }
}

/**
 * Makes a loop run in chunks of one budget. A preemption point in a loop is slow, because engines optimise a
 * loop with a `yield` less well; the counting costs less. So a loop in which nothing else can yield or
 * capture variables is split:
 *
 *   for (init; test; update) body  ->  for (init;;) {
 *                                        for (; (test) && there are points left; update) body
 *                                        if (the loop has ended) break
 *                                        if (the job must yield) yield
 *                                      }
 *
 * If the loop has calls, a called function can end the budget, so the loop counts the budget down itself. The
 * test then runs before the count, and is not repeated after a yield. Without calls, the loop counts a copy
 * of the budget down before the test. The budget is -1 during a chunk. If an accessor can end the budget, the
 * loop also checks for this.
 *
 * @param {Emitter} emitter @param {Node} loop @param {Node} own the function of the loop
 * @returns {boolean} `true` if the loop runs in chunks
 */
export function chunk(emitter, loop, own) {
  const { source, helper, spell } = emitter
  const { type, start, end, init, test, body } = loop
  if (!emitter.isCounted || loop.left || isInWith(loop, own)) return false
  const contents = contentsOf(emitter, loop)
  if (contents === null) return false
  const { hasCalls, hasMembers, hasExits } = contents
  const isFor = type === 'ForStatement'
  const isDo = type === 'DoWhileStatement'
  const open = seek(source, '(', isDo ? seek(source, 'while', body.end) : start)
  const testFrom = pastSpace(source, (isFor ? seek(source, ';', init ? init.end : open + 1) : open) + 1)
  const testTo = !test ? testFrom
    : isFor ? seek(source, ';', test.end) : pastParentheses(source, test.end) - 1
  const left = `${emitter.budget}.left`
  const count = variable(emitter, 'l')
  const restore = ` if (${left} < 0) ${left} = ${count};`
  const check = hasCalls ? `(${count} = --${left}) > 0`
    : hasMembers ? `(${count} = ${left} ? ${count} - 1 : 0) > 0` : `--${count} > 0`
  const { 0: begin, 1: stop, 2: handOver } = hasCalls
    ? ['', '', `${count} = 1; ${pause(emitter, `${helper('v')}()`)} ${count} = 0;`]
    : [
        `${count} = ${left}; ${left} = -1; ${hasExits ? 'try { ' : ''}`,
        hasExits ? ` } finally {${restore} }` : restore, pause(emitter, `${helper('v')}()`)
      ]
  const { 0: opening, 1: closing } = isDo ? ['(', `) && ${check}`] : !test ? [check, '']
    : hasCalls ? [`(${count} < 1 || (`, `) || !(${count} = 1)) && ${check}`] : [`${check} && (`, ')']
  const labels = labelsOf(emitter, loop)
  // A twin with a frame resumes after the chunk.
  const resumePoint = emitter.layout ? `${emitter.our}K` : ''
  const isAhead = emitter.layout && `${resumePoint} < ${emitter.layout.resumePoint}`
  const { 0: skip, 1: skipped, 2: reset } = isAhead
    ? [`if (${isAhead}) { `, ' }', ` ${resumePoint} = 0;`] : ['', '', '']
  if (isAhead && init) {
    enclose(emitter, init.start, pastParentheses(source, init.end), EXPRESSION_EDGE, `${isAhead}&&(`, ')')
  }
  insert(emitter, isFor ? testFrom : start, STATEMENT_EDGE, end, spell(
    `${isFor ? '' : 'for (;'};) { ${skip}${begin}` +
    `${isDo ? `if (${check}) ` : ''}${labels.text}${isFor ? 'for (; ' : ''}`))
  enclose(emitter, testFrom, testTo, BODY_EDGE, spell(opening), spell(closing))
  replace(emitter, labels.start, start, '')
  insert(emitter, end, -STATEMENT_EDGE, start,
    spell(`;${stop} if (${count} > 0) break;${skipped} ${handOver}${reset} ${helper('u')}() }`))
  return true
}
