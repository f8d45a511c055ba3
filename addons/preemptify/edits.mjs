/**
 * addons/preemptify/edits.mjs: edits of the source text, and the printer that applies them.
 *
 * The compiler prints no text from the tree. It collects edits, sorts them, and copies the ranges of the
 * source between them.
 */

import {
  append, codeAt, cut, digitsOf, emptySet, exec, find, flat, isArray, matches, sign, sort, split,
  startsWith, stringify, takeLast
} from './primordials.mjs'
import { pastSpace, withoutEscapes } from './read.mjs'
import { fieldsOf } from './scopes.mjs'
/** @import { Draft } from './calls.mjs' */
/** @import { Facts, Node } from './scopes.mjs' */

/** The text between two places, edited. @typedef {{ edits: Edit[], from: number, to: number }} Range */
/** Texts, ranges, names of positions (`mark` of Plan), and lists of such. @typedef {any} Pieces */
/** @typedef {string | Pieces[]} Text */
/**
 * A change of the source. It replaces the text from `at` to `to` by `text`. If it opens or closes a range,
 * `other` is the opposite end of the range. Edits at the same place are ordered by `rank`. Closing edits have
 * negative ranks and come before opening edits. If two pairs enclose the same text, the outer pair has the
 * rank nearer to 0.
 *
 * @typedef {{ at: number, rank: number, other: number, text: Text, to: number }} Edit
 */

export const NAME_PART = /[^\s!-#%-/:-@[\]^`{-~]/

export const BODY_EDGE = 1
export const STATEMENT_EDGE = 2
export const EXPRESSION_EDGE = 3
export const REPLACES = 4

/** Sorts edits, as `print` needs them. @param {Edit[]} edits */
export const inOrder = edits => edits.length < 2 ? edits : sort(edits, byPlace)

/** @param {Edit} a @param {Edit} b */
const byPlace = (a, b) =>
  a.at - b.at || sign(a.rank) - sign(b.rank) || b.other - a.other || a.rank - b.rank

/**
 * Returns one text made of two.
 *
 * @param {Pieces} first @param {Pieces} second @returns {Pieces}
 */
export const concat = (first, second) =>
  typeof first === 'string' && typeof second === 'string' ? first + second
    : first === '' ? second : second === '' ? first : [first, second]

/** Length up to which texts are concatenated before they are copied into one. */
const CHUNK = 10_000

/**
 * Prints a text, however deep ranges are nested in edits.
 *
 * @param {string} source @param {Pieces[]} pieces
 * @param {number[] | null} [kept] receives the unchanged ranges of the source, for `mapOf`
 * @param {(number | string)[]} [named] receives the names of positions in the text, for `mapOf`
 * @returns {string}
 */
export function print(source, pieces, kept = null, named = []) {
  let result = ''
  let last = ''
  /** The lists of pieces and the ranges that are being printed, the innermost last. @type {any[]} */
  const stack = [pieces]
  /** The next piece or edit of each of them; and the place in the source that a range has reached. */
  const nexts = [0]
  const places = [0]
  for (let depth = 0; depth >= 0;) {
    const around = stack[depth]
    const next = nexts[depth]++
    /** @type {any} */
    let piece
    if (isArray(around)) {
      piece = around[next]
    } else {
      const { edits, from, to } = around
      const place = places[depth]
      /** @type {Edit | undefined} */
      const edit = edits[next]
      const isLast = edit === undefined || edit.at > to || (edit.at === to && edit.rank > 0)
      // The edit is not in the range, or is inside of a part that has been moved.
      if (!isLast && (edit.at < place || (edit.at === from && edit.rank < 0))) continue
      const end = isLast ? to : edit.at
      if (end > place) {
        if (kept) append(kept, result.length + last.length, place, end - place)
        last += cut(source, place, end)
        if (last.length >= CHUNK) {
          result += flat(last)
          last = ''
        }
      }
      if (!isLast) {
        if (end > place && edit.rank > 0 && isGlued(source, end, edit.text)) last += ' '
        places[depth] = edit.to
        piece = edit.text
      }
    }
    if (piece === undefined) {
      depth--
    } else if (typeof piece === 'string') {
      last += piece
    } else if (isArray(piece)) {
      stack[++depth] = piece
      nexts[depth] = 0
    } else if (piece.name === undefined) {
      stack[++depth] = piece
      places[depth] = piece.from
      nexts[depth] = firstFrom(piece.edits, piece.from)
    } else if (kept) {
      append(named, kept.length, piece.name)
      append(kept, result.length + last.length, piece.at, 0)
    }
  }
  return result + last
}

/** Returns the index of the first edit at or after a place. @param {Edit[]} edits @param {number} from */
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
 * Whether a text would be one word with what is before it: minified code has no space before a parenthesis,
 * as `return(a)=>b`.
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

/** Returns the first text or range that is not empty. @param {Pieces} text @returns {string | Range} */
function firstText(text) {
  if (!isArray(text)) return text.name === undefined ? text : ''
  let first = /** @type {string | Range} */ ('')
  for (let i = 0; i < text.length && first === ''; i++) first = firstText(text[i])
  return first
}

/** Without spaces, but between words. @param {string} text */
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

/** What an edit is added to: a draft, or a list of them. @typedef {{ edits: Edit[] }} Draftlike */
/**
 * @param {Draftlike} draft @param {number} at @param {number} rank @param {number} other @param {Text} text
 */
export const insert = ({ edits }, at, rank, other, text, to = at) => append(edits, { at, rank, other, text, to })
/**
 * @param {Draftlike} draft @param {number} from @param {number} to @param {number} rank @param {Text} before
 * @param {string} after
 */
export const enclose = (draft, from, to, rank, before, after) => {
  insert(draft, from, rank, to, before)
  insert(draft, to, -rank, from, after)
}
/** @param {Draftlike} draft @param {number} from @param {number} to @param {Text} text */
export const replace = (draft, from, to, text) => insert(draft, from, REPLACES, to, text, to)
/** @param {Draftlike} draft @param {number} from @param {number} to @returns {Range} */
export const range = ({ edits }, from, to) => ({ edits, from, to })

/** Names a variable. @param {Draft} draft @param {string} key */
export function variable({ our, variables }, key) {
  variables.add(our + key)
  return our + key
}

/** Tells one text from others. @param {string} text @returns {string} */
export function hashOf(text) {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + codeAt(text, i)) | 0
  return digitsOf(hash >>> 0, 36)
}

/** What no name of a text begins with, if a letter or a digit follows. @param {string} text */
export function prefixFor(text) {
  const names = /\$(_*)[^\W_]/g
  const taken = emptySet()
  if (matches(/\\u(?:0024|\{0*24\})/, text)) text = withoutEscapes(text)
  for (let match; (match = exec(names, text));) taken.add(`$${match[1]}`)
  let our = '$'
  while (taken.has(our)) our += '_'
  return our
}

/** A name as the key of an object literal. @param {string} name */
export const asKey = name =>
  matches(/^[a-z_$][\w$]*$/i, name) && name !== '__proto__' ? name : `[${stringify(name)}]`

/**
 * A function expression whose name is no variable in it. V8 shows an anonymous function under the names
 * before it in its statement, but not across a call.
 *
 * @param {string} key the name as the key of an object literal, or an empty string @param {Pieces} fn
 * @param {boolean} [isMethod] whether `fn` begins with the key
 * @returns {Pieces}
 */
export const withTitle = (key, fn, isMethod = false) =>
  key ? [isMethod ? '{' : `{${key}:`, fn, key[0] === '[' ? `}${key}` : `}.${key}`] : ['(()=>', fn, ')()']

/**
 * Whether the text of a twin can be a method of an object literal, which is shorter than a function.
 *
 * @param {{ node: Node, facts: Facts, title: string, isHoisted: boolean, frame: Pieces | null }} plan
 */
export const isConcise = ({ node: { params }, facts, title, isHoisted, frame }) => title !== '' &&
  !isHoisted && !(frame && facts.isArrow && facts.usesThis) &&
  !find(params, ({ variable }) => variable?.declarations.length > 1)

// Places

/**
 * The next place of a token that is not in a comment.
 *
 * @param {string} source @param {string} token @param {number} at
 */
export function seek(source, token, at) {
  while (!startsWith(source, token, at = pastSpace(source, at))) at++
  return at
}

/** After the parentheses that close at a place. @param {string} source @param {number} at */
export function pastParentheses(source, at) {
  for (let next; source[next = pastSpace(source, at)] === ')';) at = next + 1
  return at
}

/**
 * Where the arguments of a callee begin, or the member of an object.
 *
 * @param {string} source @param {number} at
 */
export const pastOperand = (source, at) => pastSpace(source, pastParentheses(source, at))

/** After the directives of a list of statements. @param {Node[]} body @param {number} at */
export function pastDirectives(body, at) {
  for (let i = 0; i < body.length && body[i].directive !== undefined; i++) at = body[i].end
  return at
}

/**
 * What holds a parameter of a twin that leaves frames.
 *
 * @param {Draft} draft @param {Node} param @returns {string}
 */
export const parameterOf = ({ our, source }, { type, argument, start, end }) =>
  type === 'Identifier' ? cut(source, start, end) : argument ? cut(source, argument.start, argument.end) : `${our}a${start}`

/**
 * @param {Node} node @param {(node: Node) => any} isWanted
 * @returns {boolean} whether it, or one of those it is made of, is wanted
 */
export function some(node, isWanted) {
  const stack = [node]
  while (stack.length) {
    const next = takeLast(stack)
    if (isWanted(next)) return true
    const fields = fieldsOf(next)
    for (let k = 0; k < fields.length; k++) {
      const part = next[fields[k].key]
      if (isArray(part)) for (let i = 0; i < part.length; i++) part[i] && append(stack, part[i])
      else if (part?.type) append(stack, part)
    }
  }
  return false
}

// Points

/**
 * Parts of the text that make it quicker, and not different: without any of them it is right. Without chunks
 * a sieve takes 2.2 times as long as the original instead of 1.6, a matrix product 3.7 instead of 2; without
 * frames fib(25) 12 instead of 2, a queue of tasks 10 to 13 instead of 6.
 */
export const optimisations = { chunk: true, frame: true, keeper: true, handed: true }
