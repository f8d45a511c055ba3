/**
 * addons/preemptify/read.mjs: source text -> syntax tree (ESTree).
 *
 * The parser uses its own stacks instead of recursion, so memory limits the depth of nesting, not the call
 * stack.
 */

import {
  List, append, checkPatterns, codeAt, cut, emptyMap, exec, firstOf, fromCodePoint, holds, matches, pick,
  resume, split, startsWith, takeLast
} from './primordials.mjs'

/** An operator, where `a?.5:b` is a conditional, or one of what else there is. */
const SIGN = /\?\.(?!\d)|=>|\+\+|--|\.{3}|[=!]==?|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^<>])=?|[^]?/
/** @param {RegExp[]} patterns */
const anyOf = (...patterns) => new RegExp(patterns.map(({ source }) => source).join('|'), 'y')
export const IDENTIFIER = /^(?!\d)[^\s!-#%-/:-@[\]^`{-~]+$/
const REGULAR_EXPRESSION = /\/(?:\[(?:\\?.)*?\]|\\?.)*?\/\w*/y
const TEMPLATE = /(?:\\?[^])*?(?:`|\$\{)/y // from a backtick or a hole to the next
const SPACE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/|<!--.*)*/y // HTML's comments, too, are those of a script (Annex B.1.1)
const LINE_END = /\r\n?|[\n\u2028\u2029]/

// The tree is ESTree's, of source that is valid: whether a slash divides, a brace opens a block, or a line
// ends a statement follows from where it stands, and nothing is guessed. The grammar is read by generators
// that yield those of its parts, and what an expression has begun and not ended stands on a stack, so that
// nesting is bounded by memory. Each begins at the first token of its part and ends at the first after it. A
// node is written in the order of the source: a field is read where it stands.
//
// What ESTree has and this tree has not: `raw`, `regex`, `prefix`, the text of templates, whether a body is
// an expression, and values other than those of strings. Patterns with defaults keep the operator of an
// assignment, import attributes are those of an object, and `using of = a` is no declaration.

const NUMERAL = /0(?:[xXoObB]\w+|[0-7]+(?!\d))|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?[\d_]+|n)?/
const NAME_OR_KEY = /#?(?:\\u\{\w+\}|[^\s!-#%-/:-@[\]^`{-~])+/
const STRING = /"(?:\\?[^])*?"|'(?:\\?[^])*?'/
const ATOM = /* @__PURE__ */ anyOf(NUMERAL, NAME_OR_KEY, STRING, SIGN)
const SPACE_OF_MODULE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/)*/y
const ESCAPES = /\\(?:u\{0*([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|([0-3]?[0-7]{1,2})|(\r\n|[^]))/g
/** @type {any} */
const CONTROLS = { __proto__: null, b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
/** What follows a modifier of a member; otherwise that is its name. */
const MODIFIED = /^(?:\*|(?:static|async) [^(,}=:;]|[gs]et [^(,}=:;*])/

// How tight an operator binds. It completes what is on the stack and binds as tight; a bracket completes all
// in it.
const WHOLE = -1 // the stack's: all of an expression, with the statement that it ends
const BRACKET = 0
const ASSIGNMENT = 2 // the stack's; commas and ends complete it, other assignments do not
const CONDITIONAL = 4
const CONJUNCTION = 6
const POWER = 15 // the stack's: it associates to the right, too
const UNARY = 17
const NEW = 18
const SUFFIX = 19
const TAG = 20

/**
 * @typedef {object} Token
 * @property {string} text
 * @property {number} [level] how tight it binds; 0 for what does not go on with an expression; none for
 *   operands
 * @property {boolean} isName whether it may be that of a variable
 * @property {string} name without escapes
 */

/** All tokens, the end among them, but literals and names. @type {Map<string, Token>} */
const SIGNS = /* @__PURE__ */ tokensOf([
  ' ) ] } ; : => { ! ~ ... break case catch class const continue debugger default delete do else enum export extends ' +
    'false finally for function if import new null return super switch this throw true try typeof var void while with', '',
  ',',
  '= += -= *= /= %= **= <<= >>= >>>= &= ^= |= &&= ||= ??=',
  '?', '?? ||', '&&', '|', '^', '&',
  '== != === !==',
  '< > <= >= in instanceof',
  '<< >> >>>',
  '+ -',
  '* / %', '', '**', '', '',
  '( [ ` . ?. ++ --'
])

/** Those that no other begins with, by their characters. @type {(Token | undefined)[]} */
const SINGLES = /* @__PURE__ */ singlesOf('()[]{},;:~`')

/** @param {string} characters */
function singlesOf(characters) {
  /** @type {(Token | undefined)[]} */
  const singles = []
  for (let code = 0; code < 127; code++) append(singles, undefined)
  for (let i = 0; i < characters.length; i++) singles[codeAt(characters, i)] = SIGNS.get(characters[i])
  return singles
}

/** @param {string[]} rows by level */
function tokensOf(rows) {
  const tokens = emptyMap()
  for (let level = rows.length; level--;) {
    pick(split(rows[level], ' '), (/** @type {string} */ text) => {
      tokens.set(text, { text, level, isName: false, name: text })
    })
  }
  return tokens
}

// What an expression ends at, besides what cannot go on with it.
const COMMA = 1
const IN = 2
const OPERAND = 4 // its first operand, without what follows

// What operators there are.
const AWAITS = 1
const YIELDS = 2

/** @param {string} text @returns {string} what it stands for, in a string or a name */
export function withoutEscapes(text) {
  if (!holds(text, '\\')) return text
  let result = ''
  let from = 0
  ESCAPES.lastIndex = 0
  for (let match; (match = exec(ESCAPES, text)); from = ESCAPES.lastIndex) {
    const { 1: point, 2: unit, 3: byte, 4: octal, 5: other } = match
    const hex = point ?? unit ?? byte
    result += cut(text, from, match.index) + (hex ? fromCodePoint(+`0x${hex}`) : octal ? fromCodePoint(+`0o${octal}`)
      : matches(LINE_END, other) ? '' : CONTROLS[other] ?? other)
  }
  return result + cut(text, from)
}

/** After what matches a sticky pattern. @param {RegExp} pattern @param {string} source @param {number} at */
function past(pattern, source, at) {
  pattern.lastIndex = at
  matches(pattern, source)
  return pattern.lastIndex
}

/**
 * Whether a character is certainly the first one of a token: neither white space nor the beginning of a
 * comment.
 *
 * @param {number} code
 */
const isSign = code => code > 32 && code < 127 && code !== 47/*/*/ && code !== 60/*<*/ && code !== 45/*-*/

/** After white space and comments. @param {string} source @param {number} from @param {string} [type] */
export function pastSpace(source, from, type) {
  if (isSign(codeAt(source, from))) return from
  const space = type === 'module' ? SPACE_OF_MODULE : SPACE
  let at = past(space, source, from)
  while (space === SPACE && startsWith(source, '-->', at) && (from === 0 || matches(LINE_END, cut(source, from, at)))) {
    at = past(SPACE, source, past(/.*/y, source, at))
  }
  return at
}

/** @param {string} source @param {number} at @returns {string} counted from 1, as editors do */
export function placeOf(source, at) {
  const starts = linesOf(source)
  const line = lineAt(starts, at)
  return `line ${line + 1}, column ${at - starts[line] + 1}`
}

/** What a target is called. @type {any} */
const PATTERNS = {
  __proto__: null,
  ArrayExpression: 'ArrayPattern',
  ObjectExpression: 'ObjectPattern',
  AssignmentExpression: 'AssignmentPattern', // what it assigns to is a pattern already
  SpreadElement: 'RestElement'
}

/** Makes a pattern of what has been read as an expression. @param {any} target */
function patternOf(target) {
  const left = [target]
  while (left.length) {
    const node = takeLast(left)
    if (!node || node.type === 'Identifier') continue
    node.type = PATTERNS[node.type] ?? node.type
    const inner = node.elements ?? node.properties ?? [node.value ?? node.argument]
    for (let i = 0; i < inner.length; i++) append(left, inner[i])
  }
  return target
}

/** A reader, whose functions are made once: engines compile what calls functions that stay the same once. */
function reader() {
  const parent = null // until names are resolved
  let source = ''
  let type = ''
  /** By their texts, so that those of names are the same strings. @type {Map<string, Token>} */
  let tokens

  // The token that the reading has come to.
  let value = /** @type {any} */ ('')
  let start = 0
  let end = 0
  /** @type {number | undefined} */
  let level = 0
  let isName = false
  let name = ''
  /** Where the token before it ended. */
  let before = 0

  /** Whether `await` and `yield` are operators. */
  let mode = 0

  /** What expressions have begun and not ended, the innermost on top. @type {any} */
  let top = null
  /** What ends an expression, besides what cannot go on with it. */
  let extent = 0
  /** The operand that the reading has come to. @type {any} */
  let operand
  /** Where it starts, with its parentheses. */
  let from = 0
  let isChain = false // has `?.`
  let isClosed = false // takes no operators

  /** Parts of lists that have begun and not ended, the innermost last. @type {any[]} */
  let parts = []
  let size = 0

  /**
   * In one piece: engines do not put what is as long as this into all that calls it, where to compile it took
   * as long as all else.
   */
  function next() {
    before = end
    start = codeAt(source, end) === 32 ? end + 1 : end
    let code = codeAt(source, start)
    if (!isSign(code)) {
      start = pastSpace(source, end, type)
      code = codeAt(source, start)
    }
    let token = code < 127 ? SINGLES[code] : undefined
    if (token !== undefined) {
      end = start + 1
    } else {
      end = past(ATOM, source, start)
      value = cut(source, start, end)
      token = tokens.get(value)
    }
    if (token !== undefined) {
      ;({ text: value, level, isName, name } = token)
      return
    }
    // A literal, or a name, which is kept for the next time.
    isName = code > 64/*@*/ || code === 36/*$*/
    const isLiteral = value.length > 1 || (code > 47 && code < 58)
    level = isName || isLiteral ? undefined : 0
    name = isName ? withoutEscapes(value) : ''
    if (isName) tokens.set(value, { text: value, level, isName, name })
  }

  const isOnNewLine = () => matches(LINE_END, cut(source, before, start))

  /** Looks at the token ahead. @template T @param {() => T} look @returns {T} */
  function peek(look) {
    const here = before
    next()
    const seen = look()
    end = here
    next()
    return seen
  }

  const unexpected = () => new SyntaxError(`unexpected ${value || 'end'} (${placeOf(source, start)})`)

  /** @param {string} token */
  function expect(token) {
    if (!skips(token)) throw unexpected()
  }

  /** @param {string} token @returns {boolean} whether it was there */
  function skips(token) {
    if (value !== token) return false
    next()
    return true
  }

  /** With what it will mean. @param {number} first @param {string} name */
  const identifier = (first, name) => ({
    type: 'Identifier', start: first, end: before, parent, name, scope: undefined, variable: undefined, isWritten: undefined, isDynamic: false
  })

  /** A name, a literal, or a key. */
  function leaf() {
    const first = start
    const text = value
    const key = name
    const code = codeAt(text, 0)
    if (text === '') throw unexpected()
    next()
    if (key !== '') return identifier(first, key)
    if (code === 35/*#*/) {
      return { type: 'PrivateIdentifier', start: first, end: before, parent, name: withoutEscapes(cut(text, 1)) }
    }
    const isString = code === 34/*"*/ || code === 39/*'*/
    return { type: 'Literal', start: first, end: before, parent, value: isString ? withoutEscapes(cut(text, 1, -1)) : undefined }
  }

  // -------------------------------------------------------------------------------------------- expressions

  /** @param {any} part of the innermost list */
  function put(part) {
    parts[size++] = part
  }

  /**
   * Ends the innermost list.
   *
   * @param {number} first where it begins @returns {any[]} exactly as long as it has to be
   */
  function listFrom(first) {
    const list = new List(size - first)
    for (let i = first; i < size; i++) list[i - first] = parts[i]
    size = first
    return list
  }

  /**
   * @param {number} level @param {any} node
   * @param {string} field the property for the last part of the node, or the closing bracket
   */
  function open(level, node, field) {
    top = { level, node, field, mode, extent, isChain, outer: top, first: size, from }
    if (level <= BRACKET) {
      extent = 0
      isChain = false
    }
  }

  /** Ends what is on top of the stack. */
  function close() {
    ;({ mode, extent, isChain, outer: top } = top)
  }

  /** The operand is the last part of what is on top of the stack. */
  function complete() {
    const { node, field } = top
    close()
    node[field] = operand
    node.end = before
    operand = node
    from = node.start
  }

  /** @returns {any[]} what commas part in a bracket */
  function items() {
    if (operand) put(operand)
    return listFrom(top.first)
  }

  /** What is in a bracket. */
  function whole() {
    return size === top.first ? operand
      : { type: 'SequenceExpression', start: top.from, end: before, parent, expressions: items() }
  }

  /** The text of a template up to its next hole, which is opened, or to its end. @param {any} node */
  function quasi(node) {
    end = past(TEMPLATE, source, end)
    if (end === 0) throw unexpected()
    const tail = source[end - 1] === '`'
    next()
    node.end = before
    if (!tail) open(BRACKET, node, '}')
    return tail
  }

  /** Parameters, read as an expression. @param {any} list */
  function parametersOf(list) {
    const params = !list ? [] : list.expressions ?? list.arguments ?? [list]
    for (let i = 0; i < params.length; i++) patternOf(params[i])
    return params
  }

  /**
   * Reads an operand, or the beginning of what an operand is to end: an operator before it, or a bracket.
   *
   * @returns {Generator<any, any, any> | null | undefined | void} what is to read the operand; null if it has
   *   been read; undefined if it is yet to come
   */
  function begin() {
    from = start
    isClosed = false
    const word = value
    if (level === undefined) {
      if (word === 'await' && mode & AWAITS) {
        open(UNARY, { type: 'AwaitExpression', start, end, parent, argument: null }, 'argument')
        return next()
      }
      if (word === 'yield' && mode & YIELDS) {
        operand = { type: 'YieldExpression', start, end, parent, delegate: false, argument: null }
        next()
        isClosed = isOnNewLine() || matches(/^(?:[)\]},;:]|in)?$/, value)
        if (isClosed) return null
        operand.delegate = skips('*')
        return open(ASSIGNMENT, operand, 'argument')
      }
      operand = leaf()
      if (word !== 'async' || isOnNewLine()) return null
      if (value === 'function') return routine('FunctionExpression', from, true)
      // `async x =>` is read as `async(x) =>`.
      if (isName && startsWith(source, '=>', pastSpace(source, end, type))) operand = { type: 'CallExpression', arguments: [leaf()] }
      return null
    }
    switch (word) {
      case '(':
        open(BRACKET, { type: '', start }, ')')
        return next()
      case '[':
        open(BRACKET, { type: 'ArrayExpression', start, end, parent, elements: null }, ']')
        return next()
      case '...':
        open(ASSIGNMENT, { type: 'SpreadElement', start, end, parent, argument: null }, 'argument')
        return next()
      case '+': case '-': case '!': case '~': case '++': case '--': case 'typeof': case 'void': case 'delete': {
        const type = level === SUFFIX ? 'UpdateExpression' : 'UnaryExpression'
        open(UNARY, { type, start, end, parent, operator: word, argument: null }, 'argument')
        return next()
      }
      case 'new': case 'import': {
        const meta = leaf()
        if (skips('.')) {
          operand = { type: 'MetaProperty', start: from, meta, property: leaf(), end: before, parent }
          return null
        }
        if (word === 'new') {
          return open(NEW, { type: 'NewExpression', start: from, end, parent, callee: null, arguments: [] }, 'callee')
        }
        open(BRACKET, { type: 'ImportExpression', start: from, end, parent, source: null, options: null }, ')')
        return expect('(')
      }
      case '`':
        operand = { type: 'TemplateLiteral', start, end, parent, expressions: [] }
        return quasi(operand) ? null : undefined
      case '{':
        return top.node?.type === 'ArrowFunctionExpression' ? block(true) : members(false)
      case 'function':
        return routine('FunctionExpression', start, false)
      case 'class':
        return classOf('ClassExpression', start)
      case '/': case '/=':
        end = past(REGULAR_EXPRESSION, source, start)
        if (end === 0) throw unexpected()
      // falls through
      case 'this': case 'super': case 'null': case 'true': case 'false': {
        const type = word === 'this' ? 'ThisExpression' : word === 'super' ? 'Super' : 'Literal'
        operand = { type, start, end, parent, value: undefined }
        next()
        return null
      }
    }
    if (!matches(/^[,)\]]$/, word) || top.level !== BRACKET) throw unexpected()
    operand = null
    return null
  }

  /**
   * Reads a member, a call or the like of the operand.
   *
   * @returns {boolean} whether an operand is to come in it
   */
  function suffix() {
    const optional = value === '?.'
    if (optional) {
      isChain = true
      next()
    }
    switch (value) {
      case '(':
        if (top.level === NEW) complete()
        else operand = { type: 'CallExpression', start: from, end, parent, callee: operand, arguments: null, optional }
        open(BRACKET, operand, ')')
        next()
        return true
      case '[':
        open(BRACKET, {
          type: 'MemberExpression', start: from, end, parent, object: operand, property: null, computed: true, optional
        }, ']')
        next()
        return true
      case '`':
        open(TAG, { type: 'TaggedTemplateExpression', start: from, end, parent, tag: operand, quasi: null }, 'quasi')
        return true
      case '++': case '--':
        operand = { type: 'UpdateExpression', start: from, end, parent, operator: value, argument: operand }
        next()
        return false
    }
    if (!optional) next()
    operand = {
      type: 'MemberExpression', start: from, object: operand, property: leaf(), end: before, parent, computed: false, optional
    }
    return false
  }

  /**
   * Completes what binds as tight as what comes, and begins that, if it is an operator.
   *
   * @returns {boolean} whether it is
   */
  function operate() {
    const operator = value
    const rank = isClosed || level === undefined || level === SUFFIX || (extent & IN && operator === 'in') ? 0 : level
    while (top.level >= (rank || ASSIGNMENT)) complete()
    if (rank <= ASSIGNMENT) return false
    if (rank < CONDITIONAL) {
      const left = operator === '=' ? patternOf(operand) : operand
      open(ASSIGNMENT, { type: 'AssignmentExpression', start: from, end, parent, operator, left, right: null }, 'right')
    } else if (rank === CONDITIONAL) {
      open(BRACKET, {
        type: 'ConditionalExpression', start: from, end, parent, test: operand, consequent: null, alternate: null
      }, ':')
    } else {
      const type = rank > CONJUNCTION ? 'BinaryExpression' : 'LogicalExpression'
      open(rank > POWER ? POWER : rank, { type, start: from, end, parent, left: operand, operator, right: null }, 'right')
    }
    next()
    return true
  }

  /** Closes a bracket. @returns {boolean} whether an operand is to come in what it was opened for */
  function closes() {
    const { node, field } = top
    if (value !== field) throw unexpected()
    switch (node.type) {
      case 'ArrayExpression':
        node.elements = items()
        break
      case 'ImportExpression':
        ;({ 0: node.source, 1: node.options = null } = items())
        break
      case 'MemberExpression':
        node.property = whole()
        break
      case 'TemplateLiteral':
        append(node.expressions, whole())
        break
      case 'ConditionalExpression':
        node.consequent = operand
        break
      case '':
        operand = whole()
        break
      default:
        node.arguments = items()
    }
    close()
    if (node.type !== '') operand = node
    from = node.start
    isClosed = false
    if (node.type === 'TemplateLiteral') return !quasi(node)
    next()
    node.end = before
    if (node.type !== 'ConditionalExpression') return false
    open(ASSIGNMENT, node, 'alternate')
    return true
  }

  /** Goes on after an operand. @returns {boolean} whether another is to come */
  function goesOn() {
    for (;;) {
      while (top.level === TAG) complete()
      if (top.level === WHOLE && extent === OPERAND) return false
      if (value === '=>') {
        const async = operand?.type === 'CallExpression'
        open(ASSIGNMENT, {
          type: 'ArrowFunctionExpression', start: from, end, parent, id: null, generator: false, async, params: parametersOf(operand), body: null
        }, 'body')
        mode = async ? AWAITS : 0
        next()
        return true
      }
      if (level === SUFFIX && !isClosed && !((value === '++' || value === '--') && isOnNewLine())) {
        if (suffix()) return true
        continue
      }
      if (isChain) {
        operand = { type: 'ChainExpression', start: from, end: before, parent, expression: operand }
        isChain = false
      }
      if (operate()) return true
      if (value === ',' && !(extent & COMMA)) {
        if (size === top.first) top.from = from
        put(operand)
        next()
        return true
      }
      if (top.level === WHOLE) return false
      if (closes()) return true
    }
  }

  /**
   * An expression, as far as it can be read at once.
   *
   * @returns {Generator<any, any, any> | undefined} what has to be read first, if it has not ended
   */
  function advance() {
    for (;;) {
      const part = begin()
      if (part) return part
      if (part === null && !goesOn()) return
    }
  }

  /**
   * @param {number} [until] what ends it @param {any} [node] a statement that it ends
   * @param {string} [field] what it is there
   * @returns {Generator<any, any, any> | undefined} what reads it; if it has been read, it is the operand, or
   *   the statement is
   */
  function expression(until = 0, node = null, field = '') {
    open(WHOLE, node, field)
    extent = until
    const part = advance()
    return part ? rest(part) : ended()
  }

  /** @returns {undefined} */
  function ended() {
    operand = whole()
    if (top.node === null) close()
    else {
      skips(';')
      complete()
    }
  }

  /** @param {any} part @returns {Generator<any, any, any>} */
  function* rest(part) {
    do {
      operand = yield part
      from = operand.start
      isClosed = operand.type === 'BlockStatement'
      if (isClosed) complete()
    } while (goesOn() && (part = advance()))
    ended()
    return operand
  }

  // ------------------------------------------------------------------------------------ functions and classes

  /** A function, from that word on. @param {string} type @param {number} first @param {boolean} async */
  function routine(type, first, async) {
    next()
    const generator = skips('*')
    return method(type, first, isName ? leaf() : null, async, generator)
  }

  /**
   * A function, from its parameters on.
   *
   * @param {string} type @param {number} first where it starts @param {any} id @param {boolean} async
   * @param {boolean} generator @returns {Generator<any, any, any>}
   */
  function* method(type, first, id, async, generator) {
    const outer = mode
    mode = (async ? AWAITS : 0) | (generator ? YIELDS : 0)
    const params = parametersOf(yield expression(OPERAND))
    const body = yield block(true)
    mode = outer
    return { type, start: first, end: before, parent, id, generator, async, params, body }
  }

  /**
   * A class, from that word on.
   *
   * @param {string} type @param {number} first @returns {Generator<any, any, any>}
   */
  function* classOf(type, first) {
    next()
    const id = isName ? leaf() : null
    const superClass = skips('extends') ? yield expression(COMMA) : null
    const body = yield members(true)
    return { type, start: first, end: before, parent, id, superClass, body }
  }

  /**
   * An object or the body of a class, from its brace on.
   *
   * @param {boolean} isInClass @returns {Generator<any, any, any>}
   */
  function* members(isInClass) {
    const opening = start
    const base = size
    next()
    while (value !== '}' && !(value === '' && type === 'function')) {
      if (skips(',') || skips(';')) continue
      const first = start
      let isStatic = false
      let async = false
      let generator = false
      let kind = isInClass ? 'method' : 'init'
      if (value === '...') {
        put(yield expression(COMMA))
        continue
      }
      // V8 left out the name of a static method that is called static.
      /** @type {any} */
      let key = null
      let computed = false
      while (value !== '(' && !(value === '{' && isStatic)) {
        const word = value
        computed = skips('[')
        key = computed ? yield expression(COMMA) : leaf()
        if (computed) expect(']')
        if (!matches(MODIFIED, `${word} ${value}`) || (word === 'async' && isOnNewLine())) break
        isStatic ||= word === 'static'
        async ||= word === 'async'
        generator ||= word === '*'
        if (word === 'get' || word === 'set') kind = word
      }
      if (value === '{') {
        put({ type: 'StaticBlock', start: first, body: (yield block(false)).body, end: before, parent })
        continue
      }
      const isMethod = value === '('
      let part = isMethod ? yield method('FunctionExpression', start, null, async, generator)
        : skips(isInClass ? '=' : ':') ? yield expression(COMMA) : null
      const isConstructor = isMethod && isInClass && !isStatic && !computed && key.type !== 'PrivateIdentifier' &&
        (key.name ?? key.value) === 'constructor'
      if (isConstructor) kind = 'constructor'
      if (isInClass) {
        if (!isMethod) skips(';')
        put(isMethod
          ? { type: 'MethodDefinition', start: first, end: before, parent, static: isStatic, computed, key, kind, value: part }
          : { type: 'PropertyDefinition', start: first, end: before, parent, static: isStatic, computed, key, value: part })
        continue
      }
      const shorthand = part === null
      if (shorthand) {
        part = identifier(first, key.name)
        if (skips('=')) {
          part = { type: 'AssignmentPattern', start: first, left: part, right: yield expression(COMMA), end: before, parent }
        }
      }
      put({
        type: 'Property', start: first, end: before, parent, method: isMethod && kind === 'init', shorthand, computed, key,
        kind, value: part
      })
    }
    next()
    const list = listFrom(base)
    return isInClass ? { type: 'ClassBody', start: opening, body: list, end: before, parent }
      : { type: 'ObjectExpression', start: opening, properties: list, end: before, parent }
  }

  // --------------------------------------------------------------------------------------------- statements

  /** @returns {number} where the statement ends */
  function endOf() {
    skips(';')
    return before
  }

  /** @param {boolean} isList whether any declaration may stand there */
  const isDeclaring = isList => value === 'var' || value === 'const' || isUsing() ||
    (value === 'let' && peek(() => value === '[' || (isList && (isName || value === '{'))))

  /** @returns {boolean} */
  const isUsing = () => value === 'using' ? peek(() => isName && value !== 'of' && !isOnNewLine())
    : value === 'await' && (mode & AWAITS) > 0 && peek(() => value === 'using' && !isOnNewLine() && isUsing())

  /**
   * Statements in braces, or all of them.
   *
   * @param {boolean} isBody whether they may begin with directives
   * @returns {Generator<any, any, any>}
   */
  function* block(isBody) {
    const first = start
    const base = size
    expect('{')
    while (value !== '}') {
      const part = statement(true)
      put(part ? yield part : operand)
    }
    next()
    const body = listFrom(base)
    if (isBody) markDirectives(body)
    return { type: 'BlockStatement', start: first, end: before, parent, body }
  }

  /** @param {any[]} body */
  function markDirectives(body) {
    for (let i = 0; i < body.length && matches(/["']/, source[body[i].start]); i++) {
      const { expression } = body[i]
      if (expression.type !== 'Literal') return
      body[i].directive = cut(source, expression.start + 1, expression.end - 1)
    }
  }

  /**
   * Variables.
   *
   * @param {number} first @param {number} [until] what ends it in the head of a loop
   * @returns {Generator<any, any, any>}
   */
  function* declaration(first, until = 0) {
    const kind = skips('await') ? 'await using' : value
    const base = size
    do {
      next()
      const at = start
      const id = isName ? leaf() : patternOf(yield expression(OPERAND))
      const isGiven = skips('=')
      const part = isGiven ? expression(COMMA | until) : null
      const init = part ? yield part : isGiven ? operand : null
      put({ type: 'VariableDeclarator', start: at, end: before, parent, id, init })
    } while (value === ',')
    return { type: 'VariableDeclaration', start: first, end: until ? before : endOf(), parent, kind, declarations: listFrom(base) }
  }

  /**
   * Statements by their first words, from there on.
   *
   * @type {Record<string, (first: number) => Generator<any, any, any> | undefined>}
   */
  const statements = {
    // @ts-ignore
    __proto__: null,
    '{': () => block(false),
    /** @returns {undefined} */
    ';'(first) {
      next()
      operand = { type: 'EmptyStatement', start: first, end: before, parent }
    },
    * if(first) {
      next()
      return {
        type: 'IfStatement', start: first, test: yield expression(OPERAND), consequent: yield statement(false),
        alternate: skips('else') ? yield statement(false) : null, end: before, parent
      }
    },
    for: forStatement,
    while: first => headed('WhileStatement', first, 'test'),
    * do(first) {
      next()
      return {
        type: 'DoWhileStatement', start: first, body: yield statement(false),
        test: (expect('while'), yield expression(OPERAND)), end: endOf(), parent
      }
    },
    switch: switchStatement,
    with: first => headed('WithStatement', first, 'object'),
    * try(first) {
      next()
      return {
        type: 'TryStatement', start: first, block: yield block(false),
        handler: value !== 'catch' ? null : {
          type: 'CatchClause', start, param: (next(), value === '(') ? patternOf(yield expression(OPERAND)) : null,
          body: yield block(false), end: before, parent
        },
        finalizer: skips('finally') ? yield block(false) : null, end: before, parent
      }
    },
    return(first) {
      next()
      const node = { type: 'ReturnStatement', start: first, end: 0, parent, argument: null }
      if (!matches(/^[;}]?$/, value) && !isOnNewLine()) return expression(0, node, 'argument')
      node.end = endOf()
      operand = node
    },
    throw(first) {
      next()
      return expression(0, { type: 'ThrowStatement', start: first, end: 0, parent, argument: null }, 'argument')
    },
    break: first => jump('BreakStatement', first),
    continue: first => jump('ContinueStatement', first),
    debugger: first => jump('DebuggerStatement', first),
    function: first => routine('FunctionDeclaration', first, false),
    class: first => classOf('ClassDeclaration', first),
    import: first => peek(() => value === '(' || value === '.') ? expressionStatement(first) : importDeclaration(first),
    export: exportDeclaration
  }

  /**
   * @param {string} type @param {number} first @param {string} field what is in its parentheses
   * @returns {Generator<any, any, any>}
   */
  function* headed(type, first, field) {
    next()
    return { type, start: first, [field]: yield expression(OPERAND), body: yield statement(false), end: before, parent }
  }

  /** @param {string} type @param {number} first @returns {undefined} */
  function jump(type, first) {
    next()
    operand = { type, start: first, label: isName && !isOnNewLine() ? leaf() : null, end: endOf(), parent }
  }

  /** @param {number} first */
  const expressionStatement = first =>
    expression(0, { type: 'ExpressionStatement', start: first, end: 0, parent, expression: null, directive: undefined }, 'expression')

  /**
   * @param {boolean} isList whether declarations may stand there
   * @returns {Generator<any, any, any> | undefined} as of expression
   */
  function statement(isList) {
    const first = start
    const begun = level === 0 && statements[value]
    if (begun) return begun(first)
    if (isDeclaring(isList)) return declaration(first)
    if (isAsyncFunction()) {
      next()
      return routine('FunctionDeclaration', first, true)
    }
    return isName && source[pastSpace(source, end, type)] === ':' ? labeled(first) : expressionStatement(first)
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* labeled(first) {
    const label = leaf()
    next()
    return { type: 'LabeledStatement', start: first, label, body: yield statement(false), end: before, parent }
  }

  const isAsyncFunction = () => value === 'async' && peek(() => value === 'function' && !isOnNewLine())

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* forStatement(first) {
    next()
    const isAwait = skips('await')
    expect('(')
    const left = value === ';' ? null : yield isDeclaring(true) ? declaration(start, IN) : expression(IN)
    if (value !== ';') {
      const type = value === 'of' ? 'ForOfStatement' : 'ForInStatement'
      next()
      return {
        type, start: first, await: isAwait, left: patternOf(left), right: yield expression(),
        body: (expect(')'), yield statement(false)), end: before, parent
      }
    }
    next()
    const test = value === ';' ? null : yield expression()
    expect(';')
    const update = value === ')' ? null : yield expression()
    expect(')')
    return { type: 'ForStatement', start: first, init: left, test, update, body: yield statement(false), end: before, parent }
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* switchStatement(first) {
    next()
    const discriminant = yield expression(OPERAND)
    const base = size
    expect('{')
    while (value !== '}') {
      const at = start
      const test = skips('default') ? null : (expect('case'), yield expression())
      const consequent = size
      expect(':')
      while (!matches(/^(?:case|default|\})$/, value)) put(yield statement(true))
      put({ type: 'SwitchCase', start: at, end: before, parent, test, consequent: listFrom(consequent) })
    }
    next()
    return { type: 'SwitchStatement', start: first, end: before, parent, discriminant, cases: listFrom(base) }
  }

  // ------------------------------------------------------------------------------------------------ modules

  /** What is in braces. @param {(start: number, name: any, other: any) => any} node */
  function specifiers(node) {
    expect('{')
    while (!skips('}')) {
      const first = start
      const name = leaf()
      put(node(first, name, skips('as') ? leaf() : name))
      skips(',')
    }
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* importDeclaration(first) {
    const base = size
    next()
    const isBare = matches(/^["']/, value)
    if (isName) {
      put({ type: 'ImportDefaultSpecifier', start, end, parent, local: leaf() })
      skips(',')
    }
    const at = start
    if (skips('*')) {
      expect('as')
      put({ type: 'ImportNamespaceSpecifier', start: at, local: leaf(), end: before, parent })
    } else if (value === '{') {
      specifiers((start, imported, local) =>
        ({ type: 'ImportSpecifier', start, end: before, parent, imported, local }))
    }
    if (!isBare) expect('from')
    return {
      type: 'ImportDeclaration', start: first, specifiers: listFrom(base), source: leaf(),
      attributes: skips('with') ? (yield members(false)).properties : [], end: endOf(), parent
    }
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* exportDeclaration(first) {
    next()
    if (skips('default')) {
      const isDeclared = value === 'function' || value === 'class' || isAsyncFunction()
      const declaration = yield isDeclared ? statement(true) : expression(COMMA)
      return { type: 'ExportDefaultDeclaration', start: first, end: isDeclared ? before : endOf(), parent, declaration }
    }
    const base = size
    const isAll = skips('*')
    const isList = !isAll && value === '{'
    const exported = isAll && skips('as') ? leaf() : null
    const declaration = isAll || isList ? null : yield statement(true)
    if (isList) {
      specifiers((start, local, exported) => ({ type: 'ExportSpecifier', start, end: before, parent, local, exported }))
    }
    const isFrom = isAll || (isList && value === 'from')
    if (isFrom) expect('from')
    return {
      type: isAll ? 'ExportAllDeclaration' : 'ExportNamedDeclaration', start: first, exported, declaration, specifiers: listFrom(base),
      source: isFrom ? leaf() : null, attributes: isFrom && skips('with') ? (yield members(false)).properties : [],
      end: declaration ? before : endOf(), parent
    }
  }

  /** @returns {Generator<any, any, any>} */
  function* program() {
    /** @type {any[]} */
    let body = []
    if (type === 'function') {
      const isExpression = matches(/^(?:function|\()$/, value) || peek(() => value === '=>') ||
        (value === 'class' && peek(() => value !== '(')) || (value === 'async' && peek(() => value !== '*'))
      if (isExpression) body = [yield expression(COMMA)]
      if (value !== '') { // it was the name of a method, or nothing
        end = 0
        body = (yield members(false)).properties
      }
      if (value !== '' || body.length !== 1) throw unexpected()
    } else {
      while (value !== '') put(yield statement(true))
      body = listFrom(0)
      markDirectives(body)
    }
    return { type: 'Program', start: 0, end: source.length, parent, body, sourceType: type }
  }

  /**
   * @param {string} text
   * @param {'module' | 'script' | 'function'} kind `function`: what Function.prototype.toString returns
   * @returns {any} a Program as of ESTree; that of a function has one part, a function, a class, or a
   *   Property
   * @throws {SyntaxError} at what cannot be read; but that source is valid is taken for granted
   */
  function read(text, kind) {
    checkPatterns()
    source = text
    type = kind
    tokens = emptyMap()
    SIGNS.forEach((/** @type {Token} */ token) => tokens.set(token.text, token))
    end = startsWith(source, '#!') ? past(/.*/y, source, 0) : 0
    mode = type === 'module' ? AWAITS : 0
    top = null
    extent = 0
    isChain = false
    size = 0
    next()
    // The generators on the way to where the reading stands.
    const stack = [program()]
    /** @type {any} */
    let result
    for (let depth = 0; depth >= 0;) {
      const step = resume(stack[depth], result) // one that begins takes no notice of the result
      if (step.done) depth--
      else if (step.value) stack[++depth] = step.value
      result = step.done ? step.value : operand
    }
    // Nothing of it is kept.
    tokens.clear()
    parts = []
    source = ''
    operand = null
    return result
  }

  return read
}

export const read = /* @__PURE__ */ reader()

/** Where lines begin. @param {string} text */
export function linesOf(text) {
  const starts = [0]
  const end = /\r\n?|[\n\u2028\u2029]/g
  while (matches(end, text)) append(starts, end.lastIndex)
  return starts
}

/** @param {number[]} starts of lines @param {number} place @returns {number} */
export const lineAt = (starts, place) => firstOf(starts, start => start > place) - 1
