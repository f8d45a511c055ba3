/** Which functions are short, so that they need no twin. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { planModule } from '../../../addons/preemptify/plan.mjs'
import { read } from '../../../addons/preemptify/read.mjs'
import { analyseScopes } from '../../../addons/preemptify/scopes.mjs'

const plans = suite('plans')

const PROBLEM = `
  function explain(list) { let text = ''; for (const item of list) text += item; return text }
  class Problem extends Error {
    constructor(message, cause) { super(message); for (const key in cause) this[key] = cause[key] }
  }
`

/** Whether the function `check` of a module gets a twin. */
function hasTwin(text) {
  const tree = read(PROBLEM + text, 'module')
  analyseScopes(tree)
  return planModule(tree).find(({ node }) => node.id?.name === 'check').isLong
}

const programs = {
  'that constructs the exception of a throw statement is short': [
    false, 'if (n < 0) throw new Problem("negative")'
  ],
  'that constructs an argument of an exception is short': [
    false, 'if (n < 0) throw new Problem("negative", new Problem(n))'
  ],
  'that constructs an exception before the throw statement gets a twin': [
    true, 'const problem = new Problem("negative"); if (n < 0) throw problem'
  ],
  'that calls a long function for the message gets a twin': [true, 'if (n < 0) throw new Problem(explain(n))'],
  'that throws the result of a call gets a twin': [true, 'if (n < 0) throw explain(n)'],
  'that constructs the class of its exception gets a twin': [
    true, 'if (n < 0) throw new (new Problem(n)).Other(n)'
  ]
}

for (const [title, [expected, statements]] of Object.entries(programs)) {
  plans(`a function ${title}`, () => assert.is(hasTwin(`function check(n) { ${statements}; return n }`), expected))
}

plans.run()
