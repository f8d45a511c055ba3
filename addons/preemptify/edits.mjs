/**
 * addons/preemptify/edits.mjs: edits of the source text, and the printer that applies them.
 *
 * The compiler prints no text from the tree. It collects edits, sorts them, and copies the ranges of the
 * source between them.
 */

import {
  codeAt, digitsOf, find, flat, indexOf, isArray, matches, push, sign, slice, sort, split, startsWith,
  stringify, takeLast
} from './primordials.mjs'
import { pastSpace, withoutEscapes } from './read.mjs'
import { fieldsOf } from './scopes.mjs'
/** @import { Emitter } from './calls.mjs' */
/** @import { Facts, Node } from './scopes.mjs' */

/**
 * The edited text between two positions of the source.
 *
 * @typedef {{ edits: Edit[], from: number, to: number }} Range
 */
/**
 * A text, a range, the name of a position (`mark` of Plan), or a list of Fragments.
 *
 * @typedef {any} Fragments
 */
/** @typedef {string | Fragments[]} Text */
/**
 * A change of the source. It replaces the text from `at` to `to` by `text`. If it opens or closes a range,
 * `other` is the opposite end of the range. Edits at the same position are ordered by `rank`. Closing edits
 * have negative ranks and come before opening edits. If two pairs enclose the same text, the outer pair has
 * the rank nearer to 0.
 *
 * @typedef {{ at: number, rank: number, other: number, text: Text, to: number }} Edit
 */

export const NAME_PART = /[^\s!-#%-/:-@[\]^`{-~]/

// The positions and ranks of edits are small integers. V8 keeps any other number in a separate object, and
// when a field first gets such a number, V8 converts all objects with this field.
export const BODY_EDGE = 4
export const STATEMENT_EDGE = 8
export const EXPRESSION_EDGE = 12
export const REPLACES = 16
/** A position after the end of any text: the opposite end of an edit that encloses all others. */
export const BEYOND = 2 ** 30 - 1

/** Sorts edits into the order that `print` needs. @param {Edit[]} edits */
export function inOrder(edits) {
  for (let i = 1; i < edits.length; i++) {
    if (byPosition(edits[i - 1], edits[i]) > 0) return sort(edits, byPosition)
  }
  return edits
}

/** @param {Edit} a @param {Edit} b */
const byPosition = (a, b) =>
  a.at - b.at || sign(a.rank) - sign(b.rank) || b.other - a.other || a.rank - b.rank

/**
 * Joins two texts.
 *
 * @param {Fragments} first @param {Fragments} second @returns {Fragments}
 */
export const concat = (first, second) =>
  typeof first === 'string' && typeof second === 'string' ? first + second
    : first === '' ? second : second === '' ? first : [first, second]

/** Length up to which texts are concatenated before they are copied into one. */
const CHUNK = 10_000

/**
 * Prints a text. Ranges can be nested in edits to any depth.
 *
 * @param {string} source @param {Fragments[]} fragments
 * @param {number[] | null} [kept] receives the unchanged ranges of the source, for `mapOf`
 * @param {(number | string)[]} [named] receives the names of positions in the text, for `mapOf`
 * @returns {string}
 */
export function print(source, fragments, kept = null, named = []) {
  let result = ''
  let last = ''
  /** The lists of fragments and the ranges that are being printed, the innermost last. @type {any[]} */
  const stack = [fragments]
  /** The index of the next fragment or edit of each list and range. */
  const nexts = [0]
  /** The position in the source that each range has reached. */
  const positions = [0]
  for (let depth = 0; depth >= 0;) {
    const around = stack[depth]
    const next = nexts[depth]++
    /** @type {any} */
    let fragment
    if (isArray(around)) {
      fragment = around[next]
    } else {
      const { edits, from, to } = around
      const position = positions[depth]
      /** @type {Edit | undefined} */
      const edit = edits[next]
      const isLast = edit === undefined || edit.at > to || (edit.at === to && edit.rank > 0)
      // Skip edits outside the range, and edits inside a part that another edit replaces.
      if (!isLast && (edit.at < position || (edit.at === from && edit.rank < 0))) continue
      const end = isLast ? to : edit.at
      if (end > position) {
        if (kept) push(kept, result.length + last.length, position, end - position)
        last += slice(source, position, end)
        if (last.length >= CHUNK) {
          result += flat(last)
          last = ''
        }
      }
      if (!isLast) {
        if (end > position && edit.rank > 0 && isGlued(source, end, edit.text)) last += ' '
        positions[depth] = edit.to
        fragment = edit.text
      }
    }
    if (fragment === undefined) {
      depth--
    } else if (typeof fragment === 'string') {
      last += fragment
    } else if (isArray(fragment)) {
      stack[++depth] = fragment
      nexts[depth] = 0
    } else if (fragment.name === undefined) {
      stack[++depth] = fragment
      positions[depth] = fragment.from
      nexts[depth] = firstFrom(fragment.edits, fragment.from)
    } else if (kept) {
      push(named, kept.length, fragment.name)
      push(kept, result.length + last.length, fragment.at, 0)
    }
  }
  return result + last
}

/** Returns the index of the first edit at or after a position. @param {Edit[]} edits @param {number} from */
function firstFrom(edits, from) {
  let first = 0
  for (let end = edits.length; first < end;) {
    const middle = (first + end) >> 1
    if (edits[middle].at >= from) end = middle
    else first = middle + 1
  }
  return first
}

/**
 * Whether a text needs a space, because it would join the word before it. For example, the minified code
 * `return(a)=>b` has no space before the parenthesis.
 *
 * @param {string} source @param {number} at @param {Text} text
 */
function isGlued(source, at, text) {
  if (!isWord(codeAt(source, at - 1))) return false
  const first = firstText(text)
  return typeof first === 'string' && isWord(codeAt(first, 0))
}

/** Whether a character can be part of a name. @param {number} code */
const isWord = code => code > 126 || (code > 96 && code < 123) || (code > 64 && code < 91) ||
  (code > 47 && code < 58) || code === 95/*_*/ || code === 36/*$*/ || code === 92/*\\*/

/** Returns the first text or range that is not empty. @param {Fragments} text @returns {string | Range} */
function firstText(text) {
  if (!isArray(text)) return text.name === undefined ? text : ''
  let first = /** @type {string | Range} */ ('')
  for (let i = 0; i < text.length && first === ''; i++) first = firstText(text[i])
  return first
}

/** Removes the spaces of a text, except spaces between two words. @param {string} text */
export function terse(text) {
  const words = split(text, ' ')
  let result = words[0]
  for (let i = 1; i < words.length; i++) {
    const isBetween = matches(/[\w$]$/, words[i - 1]) && matches(/^[\w$]/, words[i])
    result += isBetween ? ` ${words[i]}` : words[i]
  }
  return result
}

// Edits

/** A holder of edits, for example an emitter. @typedef {{ edits: Edit[] }} EditHolder */
/**
 * Adds an edit: see Edit for the parameters.
 *
 * @param {EditHolder} holder @param {number} at @param {number} rank @param {number} other
 * @param {Text} text
 */
export const insert = ({ edits }, at, rank, other, text, to = at) =>
  push(edits, { at, rank, other, text, to })
/**
 * Adds a pair of edits around a part of the source.
 *
 * @param {EditHolder} holder @param {number} from @param {number} to @param {number} rank
 * @param {Text} before @param {string} after
 */
export const enclose = (holder, from, to, rank, before, after) => {
  insert(holder, from, rank, to, before)
  insert(holder, to, -rank, from, after)
}
/** @param {EditHolder} holder @param {number} from @param {number} to @param {Text} text */
export const replace = (holder, from, to, text) => insert(holder, from, REPLACES, to, text, to)
/** @param {EditHolder} holder @param {number} from @param {number} to @returns {Range} */
export const range = ({ edits }, from, to) => ({ edits, from, to })

/**
 * Returns the name of a variable of the twin, and declares it.
 *
 * @param {Emitter} emitter @param {string} key
 */
export function variable({ our, variables }, key) {
  variables.add(our + key)
  return our + key
}

/** Returns a short hash of a text. @param {string} text @returns {string} */
export function hashOf(text) {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + codeAt(text, i)) | 0
  return digitsOf(hash >>> 0, 36)
}

/**
 * Returns a prefix for new names: `$` with underscores. No name of the text has this prefix followed by a
 * letter or a digit.
 *
 * @param {string} text
 */
export function prefixFor(text) {
  if (matches(/\\u(?:0024|\{0*24\})/, text)) text = withoutEscapes(text)
  let our = '$'
  for (let at = -1; (at = indexOf(text, our, at + 1)) >= 0;) {
    if (!matches(/[^\W_]/, text[at + our.length] ?? '')) continue
    our += '_'
    at = -1
  }
  return our
}

/** Returns a name as the text of a key of an object literal. @param {string} name */
export const asKey = name =>
  matches(/^[a-z_$][\w$]*$/i, name) && name !== '__proto__' ? name : `[${stringify(name)}]`

/**
 * Returns the text of a function expression with the name of `key`, which is not a variable in the function.
 * Without a key, the function gets no name. V8 shows an anonymous function under the names before it in the
 * statement, but not across a call.
 *
 * @param {string} key the name as the key of an object literal, or an empty string @param {Fragments} fn
 * @param {boolean} [isMethod] whether `fn` starts with the key
 * @returns {Fragments}
 */
export const withTitle = (key, fn, isMethod = false) =>
  key ? [isMethod ? '{' : `{${key}:`, fn, key[0] === '[' ? `}${key}` : `}.${key}`] : ['(()=>', fn, ')()']

/**
 * Whether the text of a twin can be a method of an object literal, which is shorter than a function.
 *
 * @param {{ node: Node, facts: Facts, title: string, isHoisted: boolean, frame: Fragments | null }} plan
 */
export const isConcise = ({ node: { params }, facts, title, isHoisted, frame }) => title !== '' &&
  !isHoisted && !(frame && facts.isArrow && facts.usesThis) &&
  !find(params, ({ variable }) => variable?.declarations.length > 1)

// Positions

/**
 * Returns the next position of a token outside comments.
 *
 * @param {string} source @param {string} token @param {number} at
 */
export function seek(source, token, at) {
  while (!startsWith(source, token, at = pastSpace(source, at))) at++
  return at
}

/**
 * Returns the position after all closing parentheses at a position.
 *
 * @param {string} source @param {number} at
 */
export function pastParentheses(source, at) {
  for (let next; source[next = pastSpace(source, at)] === ')';) at = next + 1
  return at
}

/**
 * Returns the position after an operand: where the arguments of a callee or the member of an object starts.
 *
 * @param {string} source @param {number} at
 */
export const pastOperand = (source, at) => pastSpace(source, pastParentheses(source, at))

/** Returns the position after the directives of a body. @param {Node[]} body @param {number} at the start */
export function pastDirectives(body, at) {
  for (let i = 0; i < body.length && body[i].directive !== undefined; i++) at = body[i].end
  return at
}

/**
 * Returns the name of the variable that holds a parameter in a twin with frames.
 *
 * @param {Emitter} emitter @param {Node} param @returns {string}
 */
export const parameterOf = ({ our, source }, { type, argument, start, end }) =>
  type === 'Identifier' ? slice(source, start, end)
    : argument ? slice(source, argument.start, argument.end) : `${our}a${start}`

/** Whether a node or any node in it is wanted. @param {Node} node @param {(node: Node) => any} isWanted */
export function some(node, isWanted) {
  const stack = [node]
  while (stack.length) {
    const next = takeLast(stack)
    if (isWanted(next)) return true
    const fields = fieldsOf(next)
    for (let k = 0; k < fields.length; k++) {
      const part = next[fields[k].key]
      if (isArray(part)) for (let i = 0; i < part.length; i++) part[i] && push(stack, part[i])
      else if (part?.type) push(stack, part)
    }
  }
  return false
}

// Optimisations

/**
 * Optimisations of the text of twins, which tests can switch off: the results of the program stay the same.
 * With chunks a sieve is 1.6 times slower than the original, and 2.2 times without; a matrix product 2 and
 * 3.7 times. With frames fib(25) is 2 times slower than the original, and 12 times without; a queue of tasks
 * 6 and 10 to 13 times. With lifted closures the Lisp program is 5.2 times slower than the original, and 11
 * times without, because shorter texts leave room for frames.
 */
export const optimisations = { chunk: true, frame: true, inlineCache: true, handed: true, lift: true }
