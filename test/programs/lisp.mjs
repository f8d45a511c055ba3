// An interpreter that compiles expressions to closures. Every call is a call of a function value.

function read(text) {
  const words = text.replace(/[()']/g, word => ` ${word} `).trim().split(/\s+/)
  let at = 0
  const expression = () => {
    const word = words[at++]
    if (word === undefined) throw new SyntaxError('unexpected end')
    if (word === "'") return ['quote', expression()]
    if (word === '(') {
      const list = []
      while (words[at] !== ')') list.push(expression())
      at++
      return list
    }
    if (word === ')') throw new SyntaxError('unexpected )')
    return Number.isNaN(Number(word)) ? word : Number(word)
  }
  const program = []
  while (at < words.length) program.push(expression())
  return program
}

class Environment {
  constructor(parent, names = [], values = []) {
    this.parent = parent
    this.values = new Map(names.map((name, i) => [name, values[i]]))
  }

  find(name) {
    for (let scope = this; scope; scope = scope.parent) if (scope.values.has(name)) return scope
    throw new ReferenceError(`unbound: ${name}`)
  }
}

const forms = {
  quote: ([value]) => () => value,
  if: parts => {
    const [test, then, otherwise] = parts.map(compile)
    return scope => test(scope) !== false ? then(scope) : otherwise(scope)
  },
  define: ([name, value]) => {
    const compiled = compile(value)
    return scope => void scope.values.set(name, compiled(scope))
  },
  'set!': ([name, value]) => {
    const compiled = compile(value)
    return scope => void scope.find(name).values.set(name, compiled(scope))
  },
  lambda: ([names, ...body]) => {
    const compiled = forms.begin(body)
    return scope => (...values) => compiled(new Environment(scope, names, values))
  },
  begin: parts => {
    const compiled = parts.map(compile)
    return scope => compiled.reduce((_, part) => part(scope), undefined)
  },
  let: ([pairs, ...body]) => compile([['lambda', pairs.map(([name]) => name), ...body], ...pairs.map(([, value]) => value)])
}

function compile(expression) {
  if (typeof expression === 'number') return () => expression
  if (typeof expression === 'string') return scope => scope.find(expression).values.get(expression)
  const [head, ...rest] = expression
  if (typeof head === 'string' && Object.hasOwn(forms, head)) return forms[head](rest)
  const callee = compile(head)
  const values = rest.map(compile)
  return scope => {
    const fn = callee(scope)
    if (typeof fn !== 'function') throw new TypeError(`not a function: ${JSON.stringify(head)}`)
    return fn(...values.map(value => value(scope)))
  }
}

const library = () => new Environment(null, [], [])

function evaluate(text) {
  const globals = library()
  const primitives = {
    '+': (...list) => list.reduce((a, b) => a + b, 0),
    '-': (a, b) => a - b,
    '*': (...list) => list.reduce((a, b) => a * b, 1),
    '<': (a, b) => a < b,
    '=': (a, b) => a === b,
    cons: (a, b) => [a, b],
    car: ([a]) => a,
    cdr: ([, b]) => b,
    'null?': list => Array.isArray(list) && list.length === 0,
    apply: (fn, list) => {
      const values = []
      for (let rest = list; rest.length > 0; rest = rest[1]) values.push(rest[0])
      return fn.apply(null, values)
    }
  }
  for (const [name, fn] of Object.entries(primitives)) globals.values.set(name, fn)
  return read(text).map(expression => compile(expression)(globals)).at(-1)
}

const program = n => `
  (define map (lambda (f list) (if (null? list) '() (cons (f (car list)) (map f (cdr list))))))
  (define iota (lambda (from to) (if (< from to) (cons from (iota (+ from 1) to)) '())))
  (define fold (lambda (f initial list) (if (null? list) initial (fold f (f initial (car list)) (cdr list)))))
  (define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))
  (define counter (let ((n 0)) (lambda () (begin (set! n (+ n 1)) n))))
  (define tak (lambda (x y z) (if (< y x) (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y)) z)))
  (map counter (map (lambda (x) (fib x)) (iota 0 ${n})))
  (cons (apply + (map (lambda (x) (* x x)) (iota 0 ${n}))) (cons (fib ${n}) (cons (counter) (cons (tak ${n} ${n >> 1} 2)
    (fold + 0 (iota 0 ${n * 10}))))))
`

export function main(n) {
  const outcomes = [evaluate(program(n))]
  for (const wrong of ['(', '(f 1)', '(1 2)', '(car 5)', ')']) {
    try {
      outcomes.push(evaluate(wrong))
    } catch (error) {
      outcomes.push(`${error.name}: ${error.message}`)
    }
  }
  return outcomes
}

export const sizes = { small: 4, full: 18 }
