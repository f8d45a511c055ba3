/**
 * Finds the insertions in a text. Tokens of both texts are kept: as many as possible, in as few pieces as
 * possible.
 *
 * @typedef {{ text: string, kind: '' | 'point' | 'call' }} Piece `kind`: '' for unchanged text, 'point' for a
 *   preemption point, 'call' for code that starts, resumes or awaits a preemptible call
 *
 * @param {string} before
 * @param {string} after
 * @returns {Piece[]} the pieces of `after` in order
 */
export function marks(before, after) {
  const lines = before.split('\n')
  const others = after.split('\n')
  // The rewriter usually keeps lines. If the number of lines differs, the texts are compared as a whole.
  const pieces = lines.length === others.length
    ? lines.flatMap((line, i) => [...compared(line, others[i]), kept('\n')]).slice(0, -1)
    : compared(before, after)
  return joined(closed(joined(pieces)))
}

const kept = text => ({ text, kind: '' })
const tokensOf = text => text.match(/\s+|[\p{L}\p{N}_$]+|./gsu) ?? []

/** Maximum number of cells of the comparison table. A larger table would take too long. */
const mostPlaces = 4e6

/** @param {string} before @param {string} after @returns {Piece[]} */
function compared(before, after) {
  if (before === after) return [kept(after)]
  const a = tokensOf(before)
  const b = tokensOf(after)
  if (a.length * b.length > mostPlaces) return [kept(after)]
  const stays = common(a, b)
  const pieces = []
  for (let j = 0; j < b.length;) {
    let end = j
    while (end < b.length && stays[end] === stays[j]) end++
    const text = b.slice(j, end).join('')
    pieces.push(stays[j] ? kept(text) : { text, kind: kindOf(text) })
    j = end
  }
  return pieces
}

/**
 * Returns the kind of an inserted text. A bare yield is a point; a yield with a value is a call.
 *
 * @param {string} text
 */
function kindOf(text) {
  if (/\byield\s*;|\.left\b/.test(text)) return 'point'
  return /\byield\b|\$\w*(?:call|await|wait|enter|iterator)/.test(text) ? 'call' : 'point'
}

const closers = { ')': '(', ']': '[', '}': '{' }

/**
 * Gives a piece that only closes brackets the kind of the matching opening piece.
 *
 * @param {Piece[]} pieces @returns {Piece[]}
 */
function closed(pieces) {
  /** @type {{ opener: string, kind: Piece['kind'] }[]} */
  const open = []
  return pieces.map(({ text, kind }) => {
    if (kind === '') return { text, kind }
    let closes
    for (const character of text) {
      if ('([{'.includes(character)) open.push({ opener: character, kind })
      const last = open[open.length - 1]
      if (last && last.opener === closers[character]) closes = open.pop().kind
    }
    return { text, kind: closes !== undefined && /^[\s)\]}]*$/.test(text) ? closes : kind }
  })
}

/**
 * Marks the tokens of b that belong to a longest common subsequence with a. Each piece of it costs half a
 * token.
 *
 * @param {string[]} a @param {string[]} b
 * @returns {boolean[]}
 */
function common(a, b) {
  const width = b.length + 1
  // Best values of the remaining tokens: in general, and if the current token continues a piece.
  const free = new Float32Array((a.length + 1) * width)
  const going = new Float32Array((a.length + 1) * width)
  const piece = 0.5
  const take = (i, j) => i < a.length && j < b.length && a[i] === b[j]
    ? weight(a[i]) + going[(i + 1) * width + j + 1]
    : -Infinity
  for (let i = a.length; i >= 0; i--) {
    for (let j = b.length; j >= 0; j--) {
      const at = i * width + j
      const skipped = Math.max(i < a.length ? free[at + width] : 0, j < b.length ? free[at + 1] : 0)
      going[at] = Math.max(skipped, take(i, j))
      free[at] = Math.max(skipped, take(i, j) - piece)
    }
  }
  const stays = new Array(b.length).fill(false)
  let isGoing = true // a piece at the start of the text costs nothing
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const at = i * width + j
    const best = isGoing ? going[at] : free[at]
    if (take(i, j) - (isGoing ? 0 : piece) === best) {
      stays[j] = true
      isGoing = true
      i++
      j++
    } else {
      isGoing = false
      if (free[at + 1] === best) j++
      else i++
    }
  }
  return stays
}

/**
 * Returns the weight of a token. White space weighs little, because equal spaces are often a coincidence.
 *
 * @param {string} token
 */
const weight = token => /^\s/.test(token) ? 0.25 : 1

/** Joins adjacent pieces of the same kind. @param {Piece[]} pieces */
function joined(pieces) {
  const result = []
  for (const piece of pieces) {
    const last = result[result.length - 1]
    if (last?.kind === piece.kind) last.text += piece.text
    else result.push({ ...piece })
  }
  return result
}
