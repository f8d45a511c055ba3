// A compiler from a small language to byte code, and a machine for the code: a switch in an endless loop.

const PUSH = 0, LOAD = 1, STORE = 2, ADD = 3, SUBTRACT = 4, MULTIPLY = 5, LESS = 6, JUMP = 7, JUMP_UNLESS = 8, CALL = 9,
  RETURN = 10, REMAINDER = 11, EQUAL = 12, HALT = 13

function* tokens(text) {
  const pattern = /\s*(?:(\d+)|([a-z]\w*)|(==|[-+*%<=(){},;]))/gy
  for (let match; pattern.lastIndex < text.length && (match = pattern.exec(text)) !== null;) {
    if (match[1] !== undefined) yield { type: 'number', value: Number(match[1]) }
    else if (match[2] !== undefined) yield { type: 'name', value: match[2] }
    else yield { type: match[3], value: match[3] }
  }
  yield { type: 'end', value: null }
}

class Compiler {
  code = []
  functions = new Map()
  #list
  #at = 0

  constructor(text) {
    this.#list = [...tokens(text)]
  }

  get #next() {
    return this.#list[this.#at]
  }

  #is(type, value) {
    return this.#next.type === type && (value === undefined || this.#next.value === value)
  }

  #take(type) {
    if (!this.#is(type)) throw new SyntaxError(`${type} expected, got ${this.#next.value}`)
    return this.#list[this.#at++].value
  }

  program() {
    const start = this.#emit(JUMP, 0)
    while (this.#is('name', 'fun')) this.#function()
    this.code[start] = this.code.length
    const names = new Map()
    while (!this.#is('end')) this.#statement(names)
    this.#emit(HALT, 0)
    return this
  }

  #emit(operation, operand) {
    this.code.push(operation, operand)
    return this.code.length - 1
  }

  #slot(names, name) {
    if (!names.has(name)) names.set(name, names.size)
    return names.get(name)
  }

  #function() {
    this.#take('name')
    const name = this.#take('name')
    const names = new Map()
    this.#take('(')
    while (!this.#is(')')) {
      this.#slot(names, this.#take('name'))
      if (this.#is(',')) this.#take(',')
    }
    this.#take(')')
    this.functions.set(name, { at: this.code.length, parameters: names.size })
    this.#block(names)
    this.#emit(PUSH, 0)
    this.#emit(RETURN, 0)
  }

  #block(names) {
    this.#take('{')
    while (!this.#is('}')) this.#statement(names)
    this.#take('}')
  }

  #statement(names) {
    const word = this.#take('name')
    if (word === 'while') {
      const start = this.code.length
      this.#expression(names)
      const exit = this.#emit(JUMP_UNLESS, 0)
      this.#block(names)
      this.#emit(JUMP, start)
      this.code[exit] = this.code.length
    } else if (word === 'if') {
      this.#expression(names)
      const exit = this.#emit(JUMP_UNLESS, 0)
      this.#block(names)
      this.code[exit] = this.code.length
    } else if (word === 'return') {
      this.#expression(names)
      this.#take(';')
      this.#emit(RETURN, 0)
    } else {
      this.#take('=')
      this.#expression(names)
      this.#take(';')
      this.#emit(STORE, this.#slot(names, word))
    }
  }

  #expression(names, level = 0) {
    const levels = [{ '<': LESS, '==': EQUAL }, { '+': ADD, '-': SUBTRACT }, { '*': MULTIPLY, '%': REMAINDER }]
    if (level === levels.length) return this.#atom(names)
    this.#expression(names, level + 1)
    for (let operation; (operation = levels[level][this.#next.type]) !== undefined;) {
      this.#at++
      this.#expression(names, level + 1)
      this.#emit(operation, 0)
    }
  }

  #atom(names) {
    if (this.#is('number')) return this.#emit(PUSH, this.#take('number'))
    if (this.#is('(')) {
      this.#at++
      this.#expression(names)
      return this.#take(')')
    }
    const name = this.#take('name')
    if (!this.#is('(')) return this.#emit(LOAD, this.#slot(names, name))
    this.#at++
    while (!this.#is(')')) {
      this.#expression(names)
      if (this.#is(',')) this.#at++
    }
    this.#at++
    const callee = this.functions.get(name)
    if (callee === undefined) throw new ReferenceError(`${name} is not defined`)
    return this.#emit(CALL, callee.at * 16 + callee.parameters)
  }
}

function run(code) {
  const stack = []
  const frames = []
  let variables = []
  let at = 0
  for (;;) {
    const operand = code[at + 1]
    switch (code[at]) {
      case PUSH: stack.push(operand); break
      case LOAD: stack.push(variables[operand]); break
      case STORE: variables[operand] = stack.pop(); break
      case ADD: { const b = stack.pop(); stack.push(stack.pop() + b); break }
      case SUBTRACT: { const b = stack.pop(); stack.push(stack.pop() - b); break }
      case MULTIPLY: { const b = stack.pop(); stack.push(stack.pop() * b | 0); break }
      case REMAINDER: { const b = stack.pop(); stack.push(stack.pop() % b); break }
      case LESS: { const b = stack.pop(); stack.push(stack.pop() < b ? 1 : 0); break }
      case EQUAL: { const b = stack.pop(); stack.push(stack.pop() === b ? 1 : 0); break }
      case JUMP: at = operand; continue
      case JUMP_UNLESS:
        if (stack.pop() === 0) {
          at = operand
          continue
        }
        break
      case CALL: {
        const parameters = operand % 16
        frames.push({ at: at + 2, variables })
        variables = stack.splice(stack.length - parameters, parameters)
        at = operand >> 4
        continue
      }
      case RETURN: {
        const frame = frames.pop()
        at = frame.at
        variables = frame.variables
        continue
      }
      case HALT: return variables
      default: throw new Error(`no operation ${code[at]} at ${at}`)
    }
    at += 2
  }
}

const source = limit => `
  fun fib(n) { if n < 2 { return n; } return fib(n - 1) + fib(n - 2); }
  fun gcd(a, b) { while 0 < b { t = a % b; a = b; b = t; } return a; }
  i = 0; sum = 0;
  while i < ${limit} { sum = sum + gcd(i * 7, i + 12); i = i + 1; }
  f = fib(${Math.min(20, 3 + limit % 100 / 2 | 0)});
  prime = 0; p = 2;
  while p < ${limit} {
    d = 2; yes = 1;
    while d * d < p + 1 { if p % d == 0 { yes = 0; } d = d + 1; }
    prime = prime + yes; p = p + 1;
  }
`

export function main(limit) {
  const errors = []
  for (const wrong of ['x = ;', 'x = f(1);', 'while 1 { x = 2; ']) {
    try {
      new Compiler(wrong).program()
    } catch (error) {
      errors.push(`${error.name}: ${error.message}`)
    }
  }
  return [run(new Compiler(source(limit)).program().code), errors]
}

export const sizes = { small: 20, full: 20000 }
