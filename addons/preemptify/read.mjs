/**
 * addons/preemptify/read.mjs: source text -> syntax tree (ESTree).
 *
 * The parser uses its own stacks instead of recursion, so memory limits the depth of nesting, not the call
 * stack.
 */

import {
  List, checkPatterns, codeAt, emptyMap, exec, firstOf, forEach, fromCodePoint, holds, matches, push, resume,
  slice, split, startsWith, takeLast
} from './primordials.mjs'

/** An operator or any other character. `?.` before a digit is not an operator: `a?.5:b` is a conditional. */
const SIGN = /\?\.(?!\d)|=>|\+\+|--|\.{3}|[=!]==?|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^<>])=?|[^]?/
/** @param {RegExp[]} patterns */
const anyOf = (...patterns) => new RegExp(patterns.map(({ source }) => source).join('|'), 'y')
export const IDENTIFIER = /^(?!\d)[^\s!-#%-/:-@[\]^`{-~]+$/
const REGULAR_EXPRESSION = /\/(?:\[(?:\\?.)*?\]|\\?.)*?\/\w*/y
const TEMPLATE = /(?:\\?[^])*?(?:`|\$\{)/y // the text of a template up to its next hole, or to its end
// White space and comments. Scripts also have HTML-like comments (ECMA-262, Annex B.1.1).
const SPACE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/|<!--.*)*/y
const LINE_END = /\r\n?|[\n\u2028\u2029]/

// The source is assumed to be valid. The grammar then decides whether a slash divides, whether a brace opens
// a block, and whether a line break ends a statement, so the reader never guesses.
//
// One generator reads each part of the grammar, and yields the generators of inner parts. Unfinished
// expressions are on another stack. A generator starts at the first token of its part, and ends at the first
// token after the part. A node literal has its properties in the order of the source, because evaluating a
// property reads the tokens of that property.
//
// The tree is an ESTree, with these differences. It has no `raw`, `regex` and `prefix`, no texts of
// templates, no flag for bodies that are expressions, and values only for strings. A pattern with a default
// keeps the `operator` of an assignment. Import attributes are the properties of an object. `using of = a` is
// not read as a declaration.

const NUMERAL = /0(?:[xXoObB]\w+|[0-7]+(?!\d))|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?[\d_]+|n)?/
const NAME_OR_KEY = /#?(?:\\u\{\w+\}|[^\s!-#%-/:-@[\]^`{-~])+/
const STRING = /"(?:\\?[^])*?"|'(?:\\?[^])*?'/
const ATOM = /* @__PURE__ */ anyOf(NUMERAL, NAME_OR_KEY, STRING, SIGN)
const SPACE_OF_MODULE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/)*/y
const ESCAPES = /\\(?:u\{0*([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|([0-3]?[0-7]{1,2})|(\r\n|[^]))/g
/** @type {any} */
const CONTROLS = { __proto__: null, b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
/** A modifier of a member, with the next character. In other places the same word is the member's name. */
const MODIFIED = /^(?:\*|(?:static|async) [^(,}=:;]|[gs]et [^(,}=:;*])/

// Levels of precedence. An operator completes the entries on top of the stack that have at least its level. A
// closing bracket completes all entries above its opening bracket.
const WHOLE = -1 // on the stack only: a complete expression, with the statement that ends with it
const BRACKET = 0
const ASSIGNMENT = 2 // on the stack only; an assignment token has level 3, so it associates to the right
const CONDITIONAL = 4
const CONJUNCTION = 6
const POWER = 15 // on the stack only; the token `**` has level 16, so it associates to the right
const UNARY = 17
const NEW = 18
const SUFFIX = 19
const TAG = 20

/**
 * @typedef {object} Token
 * @property {string} text
 * @property {number} [level] the precedence of an operator; 0 if the token cannot continue an expression;
 *   undefined for operands
 * @property {boolean} isName whether the token can be the name of a variable
 * @property {string} name the text of a name without escapes
 */

/**
 * All tokens except literals and names. The empty text is the end of the source.
 *
 * @type {Map<string, Token>}
 */
const SIGNS = /* @__PURE__ */ tokensOf([
  ' ) ] } ; : => { ! ~ ... break case catch class const continue debugger default delete do else enum ' +
    'export extends false finally for function if import new null return super switch this throw true try ' +
    'typeof var void while with', '',
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

/**
 * Single-character tokens that do not start a longer token, by character code.
 *
 * @type {(Token | undefined)[]}
 */
const SINGLES = /* @__PURE__ */ singlesOf('()[]{},;:~`')

/** @param {string} characters */
function singlesOf(characters) {
  /** @type {(Token | undefined)[]} */
  const singles = []
  for (let code = 0; code < 127; code++) push(singles, undefined)
  for (let i = 0; i < characters.length; i++) singles[codeAt(characters, i)] = SIGNS.get(characters[i])
  return singles
}

/** @param {string[]} rows the texts of the tokens of each level, separated by spaces */
function tokensOf(rows) {
  const tokens = emptyMap()
  for (let level = rows.length; level--;) {
    forEach(split(rows[level], ' '), (/** @type {string} */ text) => {
      tokens.set(text, { text, level, isName: false, name: text })
    })
  }
  return tokens
}

// Flags: where an expression ends before a token that could continue the expression.
const COMMA = 1
const IN = 2
const OPERAND = 4 // after the first operand

// Flags: whether `await` and `yield` are operators.
const AWAITS = 1
const YIELDS = 2

/** Replaces the escape sequences of a string or a name. @param {string} text @returns {string} */
export function withoutEscapes(text) {
  if (!holds(text, '\\')) return text
  let result = ''
  let from = 0
  ESCAPES.lastIndex = 0
  for (let match; (match = exec(ESCAPES, text)); from = ESCAPES.lastIndex) {
    const { 1: point, 2: unit, 3: byte, 4: octal, 5: other } = match
    const hex = point ?? unit ?? byte
    result += slice(text, from, match.index) + (hex ? fromCodePoint(+`0x${hex}`)
      : octal ? fromCodePoint(+`0o${octal}`)
        : matches(LINE_END, other) ? '' : CONTROLS[other] ?? other)
  }
  return result + slice(text, from)
}

/**
 * Matches a sticky pattern at an offset.
 *
 * @param {RegExp} pattern @param {string} source @param {number} at
 * @returns {number} the end of the match, or 0 if nothing matches
 */
function past(pattern, source, at) {
  pattern.lastIndex = at
  matches(pattern, source)
  return pattern.lastIndex
}

/**
 * Whether a character is certainly the first character of a token, not white space or the start of a comment.
 *
 * @param {number} code
 */
const isSign = code => code > 32 && code < 127 && code !== 47/*/*/ && code !== 60/*<*/ && code !== 45/*-*/

/**
 * Returns the offset of the next token: skips white space and comments.
 *
 * @param {string} source @param {number} from
 * @param {string} [type] the kind of source; a module has no HTML-like comments
 */
export function pastSpace(source, from, type) {
  if (isSign(codeAt(source, from))) return from
  const space = type === 'module' ? SPACE_OF_MODULE : SPACE
  let at = past(space, source, from)
  while (space === SPACE && startsWith(source, '-->', at) &&
    (from === 0 || matches(LINE_END, slice(source, from, at)))) {
    at = past(SPACE, source, past(/.*/y, source, at))
  }
  return at
}

/** Returns the line and the column of an offset, counted from 1. @param {string} source @param {number} at */
export function placeOf(source, at) {
  const starts = linesOf(source)
  const line = lineAt(starts, at)
  return `line ${line + 1}, column ${at - starts[line] + 1}`
}

/** The pattern that each type of expression becomes as the target of an assignment. @type {any} */
const PATTERNS = {
  __proto__: null,
  ArrayExpression: 'ArrayPattern',
  ObjectExpression: 'ObjectPattern',
  AssignmentExpression: 'AssignmentPattern', // the target is already a pattern
  SpreadElement: 'RestElement'
}

/** Turns a node that was read as an expression into a pattern. @param {any} target */
function patternOf(target) {
  const left = [target]
  while (left.length) {
    const node = takeLast(left)
    if (!node || node.type === 'Identifier') continue
    node.type = PATTERNS[node.type] ?? node.type
    const inner = node.elements ?? node.properties ?? [node.value ?? node.argument]
    for (let i = 0; i < inner.length; i++) push(left, inner[i])
  }
  return target
}

/** Makes the reader. Its closures exist once, so that engines compile the code that calls them only once. */
function reader() {
  // Later phases set these properties and a few others. Nodes have them from the start, because V8 gives an
  // object with a new property another hidden class and more memory: the compiler is 1.05 times slower then.
  const parent = null
  const isHeld = false
  const scope = undefined
  const facts = undefined
  const plan = undefined
  let source = ''
  let type = ''
  /**
   * Tokens by text. The map also keeps names, so that equal names share one string.
   *
   * @type {Map<string, Token>}
   */
  let tokens

  // The current token.
  let value = /** @type {any} */ ('')
  let start = 0
  let end = 0
  /** @type {number | undefined} */
  let level = 0
  let isName = false
  let name = ''
  /** The end of the previous token. */
  let before = 0

  /** AWAITS and YIELDS of the current function. */
  let mode = 0

  /** The stack of unfinished parts of expressions, as a linked list from the innermost part. @type {any} */
  let top = null
  /** COMMA, IN and OPERAND of the current expression. */
  let extent = 0
  /** The operand that was read last. @type {any} */
  let operand
  /** The start of the operand, including its parentheses. */
  let from = 0
  let isChain = false // whether the operand has `?.`
  let isClosed = false // whether no operator can follow the operand

  /** The parts of unfinished lists, the innermost list last. @type {any[]} */
  let parts = []
  let size = 0

  /**
   * Reads the next token. The function is long on purpose, because engines do not inline long functions. When
   * `next` was inlined into all callers, its compilation took as long as all other work.
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
      value = slice(source, start, end)
      token = tokens.get(value)
    }
    if (token !== undefined) {
      ;({ text: value, level, isName, name } = token)
      return
    }
    // The token is a literal or a new name. The map keeps the name.
    isName = code > 64/*@*/ || code === 36/*$*/
    const isLiteral = value.length > 1 || (code > 47 && code < 58)
    level = isName || isLiteral ? undefined : 0
    name = isName ? withoutEscapes(value) : ''
    if (isName) tokens.set(value, { text: value, level, isName, name })
  }

  const isOnNewLine = () => matches(LINE_END, slice(source, before, start))

  /** Calls `look` with the next token as the current one. @template T @param {() => T} look @returns {T} */
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

  /** Skips the current token if it is `token`. @param {string} token @returns {boolean} `true` if it was */
  function skips(token) {
    if (value !== token) return false
    next()
    return true
  }

  /**
   * Makes an identifier, with the properties that scopes.mjs sets.
   *
   * @param {number} first
   * @param {string} name
   */
  const identifier = (first, name) => ({
    type: 'Identifier', start: first, end: before, parent, name, scope: undefined, variable: undefined,
    isWritten: undefined, isDynamic: false
  })

  /** Reads a name, a literal, or a key. */
  function leaf() {
    const first = start
    const text = value
    const key = name
    const code = codeAt(text, 0)
    if (text === '') throw unexpected()
    next()
    if (key !== '') return identifier(first, key)
    if (code === 35/*#*/) {
      return {
        type: 'PrivateIdentifier', start: first, end: before, parent, name: withoutEscapes(slice(text, 1))
      }
    }
    const isString = code === 34/*"*/ || code === 39/*'*/
    return {
      type: 'Literal', start: first, end: before, parent,
      value: isString ? withoutEscapes(slice(text, 1, -1)) : undefined
    }
  }

  // -------------------------------------------------------------------------------------------- expressions

  /** @param {any} part the next part of the innermost list */
  function put(part) {
    parts[size++] = part
  }

  /**
   * Ends the innermost list.
   *
   * @param {number} first the index of its first part in `parts`
   * @returns {any[]} an array without spare capacity
   */
  function listFrom(first) {
    const list = new List(size - first)
    for (let i = first; i < size; i++) list[i - first] = parts[i]
    size = first
    return list
  }

  /**
   * Pushes an unfinished node onto the stack.
   *
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

  /** Pops the top of the stack. */
  function close() {
    ;({ mode, extent, isChain, outer: top } = top)
  }

  /** Completes the top of the stack: the operand is the last part of its node. */
  function complete() {
    const { node, field } = top
    close()
    node[field] = operand
    node.end = before
    operand = node
    from = node.start
  }

  /** Returns the parts of a bracket, which commas separate. @returns {any[]} */
  function items() {
    if (operand) put(operand)
    return listFrom(top.first)
  }

  /** Returns the expression in a bracket. */
  function whole() {
    return size === top.first ? operand
      : { type: 'SequenceExpression', start: top.from, end: before, parent, isHeld, expressions: items() }
  }

  /**
   * Reads the text of a template to its end, or to its next hole, and opens the hole.
   *
   * @param {any} node @returns {boolean} `true` at the end of the template
   */
  function quasi(node) {
    end = past(TEMPLATE, source, end)
    if (end === 0) throw unexpected()
    const tail = source[end - 1] === '`'
    next()
    node.end = before
    if (!tail) open(BRACKET, node, '}')
    return tail
  }

  /** Returns parameters as patterns. @param {any} list the expression that was read in their place */
  function parametersOf(list) {
    const params = !list ? [] : list.expressions ?? list.arguments ?? [list]
    for (let i = 0; i < params.length; i++) patternOf(params[i])
    return params
  }

  /**
   * Reads an operand, a prefix operator, or an opening bracket.
   *
   * @returns {Generator<any, any, any> | null | undefined | void} a generator that reads the operand; null if
   *   the operand was read; undefined if the operand follows a prefix or a bracket
   */
  function begin() {
    from = start
    isClosed = false
    const word = value
    if (level === undefined) {
      if (word === 'await' && mode & AWAITS) {
        open(UNARY, { type: 'AwaitExpression', start, end, parent, isHeld, argument: null }, 'argument')
        return next()
      }
      if (word === 'yield' && mode & YIELDS) {
        operand = { type: 'YieldExpression', start, end, parent, isHeld, delegate: false, argument: null }
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
      if (isName && startsWith(source, '=>', pastSpace(source, end, type))) {
        operand = { type: 'CallExpression', arguments: [leaf()] }
      }
      return null
    }
    switch (word) {
      case '(':
        open(BRACKET, { type: '', start }, ')')
        return next()
      case '[':
        open(BRACKET, { type: 'ArrayExpression', start, end, parent, isHeld, elements: null }, ']')
        return next()
      case '...':
        open(ASSIGNMENT, { type: 'SpreadElement', start, end, parent, isHeld, argument: null }, 'argument')
        return next()
      case '+': case '-': case '!': case '~': case '++': case '--':
      case 'typeof': case 'void': case 'delete': {
        const type = level === SUFFIX ? 'UpdateExpression' : 'UnaryExpression'
        open(UNARY, { type, start, end, parent, isHeld, operator: word, argument: null }, 'argument')
        return next()
      }
      case 'new': case 'import': {
        const meta = leaf()
        if (skips('.')) {
          operand = { type: 'MetaProperty', start: from, meta, property: leaf(), end: before, parent }
          return null
        }
        if (word === 'new') {
          return open(NEW, {
            type: 'NewExpression', start: from, end, parent, isHeld, callee: null, arguments: [],
            call: undefined, hasCall: false
          }, 'callee')
        }
        open(BRACKET, {
          type: 'ImportExpression', start: from, end, parent, isHeld, source: null, options: null
        }, ')')
        return expect('(')
      }
      case '`':
        operand = { type: 'TemplateLiteral', start, end, parent, isHeld, expressions: [] }
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
   * Reads a suffix of the operand: a member, the bracket of a call, a template, `++` or `--`.
   *
   * @returns {boolean} `true` if another operand must follow, for example in the bracket
   */
  function suffix() {
    const optional = value === '?.'
    if (optional) {
      isChain = true
      next()
    }
    switch (value) {
      case '(':
        if (top.level === NEW) {
          complete()
        } else {
          operand = {
            type: 'CallExpression', start: from, end, parent, isHeld, callee: operand,
            arguments: null, optional, call: undefined, hasCall: false
          }
        }
        open(BRACKET, operand, ')')
        next()
        return true
      case '[':
        open(BRACKET, {
          type: 'MemberExpression', start: from, end, parent, isHeld, object: operand, property: null,
          computed: true, optional
        }, ']')
        next()
        return true
      case '`':
        open(TAG, {
          type: 'TaggedTemplateExpression', start: from, end, parent, isHeld, tag: operand, quasi: null,
          call: undefined, hasCall: false
        }, 'quasi')
        return true
      case '++': case '--':
        operand = {
          type: 'UpdateExpression', start: from, end, parent, isHeld, operator: value, argument: operand
        }
        next()
        return false
    }
    if (!optional) next()
    operand = {
      type: 'MemberExpression', start: from, object: operand, property: leaf(), end: before, parent, isHeld,
      computed: false, optional
    }
    return false
  }

  /**
   * Completes the entries of the stack that bind at least as tightly as the current token. If the token is a
   * binary operator, an assignment or a `?`, pushes its node.
   *
   * @returns {boolean} `true` if a node was pushed
   */
  function operate() {
    const operator = value
    const rank = isClosed || level === undefined || level === SUFFIX || (extent & IN && operator === 'in') ? 0
      : level
    while (top.level >= (rank || ASSIGNMENT)) complete()
    if (rank <= ASSIGNMENT) return false
    if (rank < CONDITIONAL) {
      const left = operator === '=' ? patternOf(operand) : operand
      open(ASSIGNMENT, {
        type: 'AssignmentExpression', start: from, end, parent, isHeld, operator, left, right: null
      }, 'right')
    } else if (rank === CONDITIONAL) {
      open(BRACKET, {
        type: 'ConditionalExpression', start: from, end, parent, isHeld, test: operand, consequent: null,
        alternate: null
      }, ':')
    } else {
      const type = rank > CONJUNCTION ? 'BinaryExpression' : 'LogicalExpression'
      open(rank > POWER ? POWER : rank, {
        type, start: from, end, parent, isHeld, left: operand, operator, right: null
      }, 'right')
    }
    next()
    return true
  }

  /** Closes a bracket. @returns {boolean} `true` if its node needs another operand */
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
        push(node.expressions, whole())
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

  /** Continues an expression after an operand. @returns {boolean} `true` if another operand must follow */
  function goesOn() {
    for (;;) {
      while (top.level === TAG) complete()
      if (top.level === WHOLE && extent === OPERAND) return false
      if (value === '=>') {
        const async = operand?.type === 'CallExpression'
        open(ASSIGNMENT, {
          type: 'ArrowFunctionExpression', start: from, end, parent, scope, facts, plan, id: null,
          generator: false, async, params: parametersOf(operand), body: null
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
        operand = { type: 'ChainExpression', start: from, end: before, parent, isHeld, expression: operand }
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
   * Reads an expression up to its end, or up to a part that needs a generator.
   *
   * @returns {Generator<any, any, any> | undefined} the generator of that part, or undefined at the end
   */
  function advance() {
    for (;;) {
      const part = begin()
      if (part) return part
      if (part === null && !goesOn()) return
    }
  }

  /**
   * Reads an expression. The result is `operand`: the expression, or the statement that ends with it.
   *
   * @param {number} [until] flags: where the expression ends
   * @param {any} [node] the statement that ends with the expression
   * @param {string} [field] the property of the statement for the expression
   * @returns {Generator<any, any, any> | undefined} a generator that reads the rest, or undefined if the
   *   expression was read
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

  // ----------------------------------------------------------------------------------- functions and classes

  /**
   * Reads a function from `function` on.
   *
   * @param {string} type
   * @param {number} first
   * @param {boolean} async
   */
  function routine(type, first, async) {
    next()
    const generator = skips('*')
    return method(type, first, isName ? leaf() : null, async, generator)
  }

  /**
   * Reads a function from its parameters on.
   *
   * @param {string} type @param {number} first the start of the function @param {any} id
   * @param {boolean} async @param {boolean} generator @returns {Generator<any, any, any>}
   */
  function* method(type, first, id, async, generator) {
    const outer = mode
    mode = (async ? AWAITS : 0) | (generator ? YIELDS : 0)
    const params = parametersOf(yield expression(OPERAND))
    const body = yield block(true)
    mode = outer
    return {
      type, start: first, end: before, parent, scope, facts, plan, id, generator, async, params, body
    }
  }

  /**
   * Reads a class from `class` on.
   *
   * @param {string} type @param {number} first @returns {Generator<any, any, any>}
   */
  function* classOf(type, first) {
    next()
    const id = isName ? leaf() : null
    const superClass = skips('extends') ? yield expression(COMMA) : null
    const body = yield members(true)
    return { type, start: first, end: before, parent, isHeld, id, superClass, body }
  }

  /**
   * Reads an object or the body of a class from its brace on.
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
      // V8 used to omit the name of a static method named `static`. The key then stays null.
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
        put({
          type: 'StaticBlock', start: first, body: (yield block(false)).body, end: before, parent, isHeld
        })
        continue
      }
      const isMethod = value === '('
      let part = isMethod ? yield method('FunctionExpression', start, null, async, generator)
        : skips(isInClass ? '=' : ':') ? yield expression(COMMA) : null
      const isConstructor = isMethod && isInClass && !isStatic && !computed &&
        key.type !== 'PrivateIdentifier' && (key.name ?? key.value) === 'constructor'
      if (isConstructor) kind = 'constructor'
      if (isInClass) {
        if (!isMethod) skips(';')
        put(isMethod ? {
          type: 'MethodDefinition', start: first, end: before, parent, isHeld, static: isStatic, computed,
          key, kind, value: part
        } : {
          type: 'PropertyDefinition', start: first, end: before, parent, isHeld, static: isStatic, computed,
          key, value: part
        })
        continue
      }
      const shorthand = part === null
      if (shorthand) {
        part = identifier(first, key.name)
        if (skips('=')) {
          part = {
            type: 'AssignmentPattern', start: first, left: part, right: yield expression(COMMA),
            end: before, parent, isHeld
          }
        }
      }
      put({
        type: 'Property', start: first, end: before, parent, isHeld, method: isMethod && kind === 'init',
        shorthand, computed, key, kind, value: part
      })
    }
    next()
    const list = listFrom(base)
    return isInClass ? { type: 'ClassBody', start: opening, body: list, end: before, parent, isHeld }
      : { type: 'ObjectExpression', start: opening, properties: list, end: before, parent, isHeld }
  }

  // --------------------------------------------------------------------------------------------- statements

  /** Skips a semicolon. @returns {number} the end of the statement */
  function endOf() {
    skips(';')
    return before
  }

  /** @param {boolean} isList whether the statement is in a list, where any declaration is allowed */
  const isDeclaring = isList => value === 'var' || value === 'const' || isUsing() ||
    (value === 'let' && peek(() => value === '[' || (isList && (isName || value === '{'))))

  /** @returns {boolean} */
  const isUsing = () => value === 'using' ? peek(() => isName && value !== 'of' && !isOnNewLine())
    : value === 'await' && (mode & AWAITS) > 0 && peek(() => value === 'using' && !isOnNewLine() && isUsing())

  /**
   * Reads statements in braces.
   *
   * @param {boolean} isBody whether the block is the body of a function, which can start with directives
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
    return { type: 'BlockStatement', start: first, end: before, parent, isHeld, scope, body }
  }

  /** @param {any[]} body */
  function markDirectives(body) {
    for (let i = 0; i < body.length && matches(/["']/, source[body[i].start]); i++) {
      const { expression } = body[i]
      if (expression.type !== 'Literal') return
      body[i].directive = slice(source, expression.start + 1, expression.end - 1)
    }
  }

  /**
   * Reads a declaration of variables.
   *
   * @param {number} first @param {number} [until] the flag IN in the head of a loop
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
      put({ type: 'VariableDeclarator', start: at, end: before, parent, isHeld, id, init })
    } while (value === ',')
    return {
      type: 'VariableDeclaration', start: first, end: until ? before : endOf(), parent, isHeld, kind,
      declarations: listFrom(base)
    }
  }

  /**
   * Readers of statements by first token.
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
        type: 'IfStatement', start: first, test: yield expression(OPERAND),
        consequent: yield statement(false),
        alternate: skips('else') ? yield statement(false) : null, end: before, parent, isHeld
      }
    },
    for: forStatement,
    while: first => headed('WhileStatement', first, 'test'),
    * do(first) {
      next()
      return {
        type: 'DoWhileStatement', start: first, body: yield statement(false),
        test: (expect('while'), yield expression(OPERAND)), end: endOf(), parent, isHeld
      }
    },
    switch: switchStatement,
    with: first => headed('WithStatement', first, 'object'),
    * try(first) {
      next()
      return {
        type: 'TryStatement', start: first, block: yield block(false),
        handler: value !== 'catch' ? null : {
          type: 'CatchClause', start,
          param: (next(), value === '(') ? patternOf(yield expression(OPERAND)) : null,
          body: yield block(false), end: before, parent, isHeld
        },
        finalizer: skips('finally') ? yield block(false) : null, end: before, parent, isHeld
      }
    },
    return(first) {
      next()
      const node = { type: 'ReturnStatement', start: first, end: 0, parent, isHeld, argument: null }
      if (!matches(/^[;}]?$/, value) && !isOnNewLine()) return expression(0, node, 'argument')
      node.end = endOf()
      operand = node
    },
    throw(first) {
      next()
      return expression(0, {
        type: 'ThrowStatement', start: first, end: 0, parent, isHeld, argument: null
      }, 'argument')
    },
    break: first => jump('BreakStatement', first),
    continue: first => jump('ContinueStatement', first),
    debugger: first => jump('DebuggerStatement', first),
    function: first => routine('FunctionDeclaration', first, false),
    class: first => classOf('ClassDeclaration', first),
    import: first => peek(() => value === '(' || value === '.')
      ? expressionStatement(first) : importDeclaration(first),
    export: exportDeclaration
  }

  /**
   * @param {string} type @param {number} first
   * @param {string} field the property for the expression in parentheses
   * @returns {Generator<any, any, any>}
   */
  function* headed(type, first, field) {
    next()
    return {
      type, start: first, [field]: yield expression(OPERAND), body: yield statement(false),
      end: before, parent, isHeld
    }
  }

  /** @param {string} type @param {number} first @returns {undefined} */
  function jump(type, first) {
    next()
    operand = { type, start: first, label: isName && !isOnNewLine() ? leaf() : null, end: endOf(), parent }
  }

  /** @param {number} first */
  const expressionStatement = first =>
    expression(0, {
      type: 'ExpressionStatement', start: first, end: 0, parent, isHeld, expression: null,
      directive: undefined, isUnit: false, separatedIn: undefined
    }, 'expression')

  /**
   * @param {boolean} isList whether the statement is in a list, where declarations are allowed
   * @returns {Generator<any, any, any> | undefined} see `expression`
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
    return isName && source[pastSpace(source, end, type)] === ':'
      ? labeled(first) : expressionStatement(first)
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* labeled(first) {
    const label = leaf()
    next()
    return {
      type: 'LabeledStatement', start: first, label, body: yield statement(false), end: before, parent, isHeld
    }
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
        body: (expect(')'), yield statement(false)), end: before, parent, isHeld
      }
    }
    next()
    const test = value === ';' ? null : yield expression()
    expect(';')
    const update = value === ')' ? null : yield expression()
    expect(')')
    return {
      type: 'ForStatement', start: first, init: left, test, update, body: yield statement(false),
      end: before, parent, isHeld
    }
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
      put({
        type: 'SwitchCase', start: at, end: before, parent, isHeld, test, consequent: listFrom(consequent)
      })
    }
    next()
    return {
      type: 'SwitchStatement', start: first, end: before, parent, isHeld, discriminant, cases: listFrom(base)
    }
  }

  // ------------------------------------------------------------------------------------------------ modules

  /**
   * Reads the names in the braces of an import or export.
   *
   * @param {(start: number, name: any, other: any) => any} node
   */
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
      return {
        type: 'ExportDefaultDeclaration', start: first, end: isDeclared ? before : endOf(), parent,
        declaration
      }
    }
    const base = size
    const isAll = skips('*')
    const isList = !isAll && value === '{'
    const exported = isAll && skips('as') ? leaf() : null
    const declaration = isAll || isList ? null : yield statement(true)
    if (isList) {
      specifiers((start, local, exported) => ({
        type: 'ExportSpecifier', start, end: before, parent, local, exported
      }))
    }
    const isFrom = isAll || (isList && value === 'from')
    if (isFrom) expect('from')
    return {
      type: isAll ? 'ExportAllDeclaration' : 'ExportNamedDeclaration', start: first, exported, declaration,
      specifiers: listFrom(base), source: isFrom ? leaf() : null,
      attributes: isFrom && skips('with') ? (yield members(false)).properties : [],
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
      if (value !== '') { // the text is a member; an expression that was read is only its name
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
   * Parses source text.
   *
   * @param {string} text
   * @param {'module' | 'script' | 'function'} kind `function` for a result of Function.prototype.toString
   * @returns {any} a Program node; for a function, its body is one function, class or Property
   * @throws {SyntaxError} if the text cannot be read; not every invalid text is detected
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
    // The active generators; each waits for the one after it.
    const stack = [program()]
    /** @type {any} */
    let result
    for (let depth = 0; depth >= 0;) {
      const step = resume(stack[depth], result) // a generator that starts ignores the result
      if (step.done) depth--
      else if (step.value) stack[++depth] = step.value
      result = step.done ? step.value : operand
    }
    // Release the text and the tree.
    tokens.clear()
    parts = []
    source = ''
    operand = null
    return result
  }

  return read
}

export const read = /* @__PURE__ */ reader()

/** Returns the offsets at which the lines of a text start. @param {string} text */
export function linesOf(text) {
  const starts = [0]
  const end = /\r\n?|[\n\u2028\u2029]/g
  while (matches(end, text)) push(starts, end.lastIndex)
  return starts
}

/**
 * Returns the index of the line of an offset.
 *
 * @param {number[]} starts the offsets of the lines
 * @param {number} position
 */
export const lineAt = (starts, position) => firstOf(starts, start => start > position) - 1
