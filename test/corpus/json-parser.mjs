import { seeded } from '../support/seeded.mjs'

function fail({ text, at }, expected) {
  throw new SyntaxError(`expected ${expected} at ${at}, got ${text.charAt(at) || 'the end'}`)
}

function skipSpace(state) {
  const { text } = state
  for (;;) {
    switch (text[state.at]) {
      case ' ': case '\n': case '\r': case '\t':
        state.at++
        continue
    }
    return
  }
}

function parseString(state) {
  const escapes = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', '/': '/' }
  const { text } = state
  let result = ''
  if (text[state.at] !== '"') fail(state, 'a string')
  state.at++
  for (;;) {
    const c = text[state.at]
    if (c === undefined || c < ' ') fail(state, 'the end of the string')
    state.at++
    if (c === '"') return result
    if (c !== '\\') result += c
    else {
      const escape = text[state.at++]
      if (escape === 'u') {
        const digits = text.slice(state.at, state.at += 4)
        if (!/^[\da-f]{4}$/i.test(digits)) fail(state, 'four hexadecimal digits')
        result += String.fromCharCode(parseInt(digits, 16))
      } else if (escapes[escape] === undefined) fail(state, 'an escape')
      else result += escapes[escape]
    }
  }
}

function parseNumber(state) {
  const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y
  number.lastIndex = state.at
  const match = number.exec(state.text) || fail(state, 'a value')
  state.at = number.lastIndex
  return +match[0]
}

function parseArray(state) {
  const array = []
  state.at++
  skipSpace(state)
  if (state.text[state.at] === ']') return state.at++, array
  do {
    array.push(parseValue(state))
    skipSpace(state)
  } while (state.text[state.at] === ',' && ++state.at)
  if (state.text[state.at++] !== ']') fail(state, '] or ,')
  return array
}

function parseObject(state) {
  const object = {}
  for (state.at++, skipSpace(state); state.text[state.at] !== '}';) {
    const key = (skipSpace(state), parseString(state))
    skipSpace(state)
    if (state.text[state.at] !== ':') fail(state, ':')
    state.at++
    const value = parseValue(state)
    if (key === '__proto__') Object.defineProperty(object, key,
      { value, configurable: true, enumerable: true, writable: true })
    else object[key] = value
    skipSpace(state)
    if (state.text[state.at] === ',') {
      state.at++
      skipSpace(state)
      if (state.text[state.at] === '}') fail(state, 'a string')
    } else if (state.text[state.at] !== '}') fail(state, '} or ,')
  }
  state.at++
  return object
}

function parseValue(state) {
  skipSpace(state)
  switch (state.text[state.at]) {
    case '{': return parseObject(state)
    case '[': return parseArray(state)
    case '"': return parseString(state)
    default:
      for (const [word, value] of [['true', true], ['false', false], ['null', null]]) {
        if (!state.text.startsWith(word, state.at)) continue
        state.at += word.length
        return value
      }
      return parseNumber(state)
  }
}

// RFC 8259
function parseJson(text) {
  const state = { text, at: 0 }
  const value = parseValue(state)
  skipSpace(state)
  return state.at < text.length ? fail(state, 'the end') : value
}

/** A JSON value with about `size` leaves. */
function anyValue(random, size) {
  if (size <= 1) {
    const number = random.real(-1e6, 1e6)
    return random.pick([null, true, false, 0, -1, number, 1e-7, 'text', '"quotes"\n\\ and ü', [], {}])
  }
  const parts = Math.min(size, random.integer(2, 8))
  const children = Array.from({ length: parts }, () => anyValue(random, Math.floor(size / parts)))
  return random.chance(0.5) ? children : Object.fromEntries(children.map((child, i) => [`key ${i}`, child]))
}

export default {
  name: 'JSON parser',
  kind: 'mixed',
  fn: parseJson,
  calls: { fail, skipSpace, parseString, parseNumber, parseArray, parseObject, parseValue },
  inputs: size => [JSON.stringify(anyValue(seeded(7), size), null, size % 2)],
  sizes: [1, 5, 50, 101],
  benchSize: 10_000
}
