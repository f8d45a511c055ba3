// Files that declare variables with the names of built-in objects.
import { createContext, runInContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { bundled } from '../../support/bundle.mjs'
import { assertSame } from '../../support/modes.mjs'

const globals = suite('names of built-in objects')

const LOOP = 'for (let i = 0; i < 3; i++) Math.sqrt(i);'
const NAMES = ['Symbol', 'Reflect', 'Object', 'Function', 'globalThis', 'Array', 'TypeError']
const forms = {
  var: name => `var ${name} = root.${name};`,
  const: name => `const ${name} = root.${name};`,
  let: name => `let ${name} = 'a word';`,
  function: name => `function ${name}() {}`,
  class: name => `class ${name} {}`,
  'a pattern': name => `const { ${name} } = root;`
}
for (const [form, declare] of Object.entries(forms)) {
  for (const isStrict of [false, true]) {
    globals(`a ${isStrict ? 'strict' : 'sloppy'} CommonJS file may declare built-in objects by ${form}`, async () => {
      const directive = isStrict ? "'use strict'; " : ''
      for (const names of [...NAMES.map(name => [name]), NAMES]) {
        await assertSame(`${directive}var root = (0, eval)('this'); ${names.map(declare).join(' ')}
          function main() { ${LOOP} return [...[typeof ${names[0]}]].map(x => { ${LOOP} return x }) }
          module.exports = { main }`, 'commonjs')
      }
    })
  }
}

/** Another realm, in which the modules have been evaluated. */
function realm() {
  const context = createContext({ performance, setTimeout, clearTimeout, setImmediate, MessageChannel, AbortController, console })
  const modules = runInContext(bundled(['addons/preemptify.mjs', 'rt.mjs'], ['Scheduler', 'preemptify']), context)
  return { ...modules, run: text => runInContext(text, context) }
}

for (const form of ['let', 'function', 'class']) {
  for (const directive of ['', "'use strict'; "]) {
    globals(`a ${directive ? 'strict' : 'sloppy'} script may declare built-in objects by ${form}`, async () => {
      const { Scheduler, preemptify, run } = realm()
      const names = form === 'let' ? ['Symbol', 'Reflect', 'Function', 'globalThis'] : ['Symbol', 'Reflect', 'Function']
      const text = `${directive}${names.map(forms[form]).join(' ')}
        function step(x) { ${LOOP} return x } function main() { const list = [typeof Symbol, ...[1, 2]].map(step); return list.join() }`
      run(preemptify.source(text, { type: 'script' }))
      run(preemptify.source(`function later() { ${LOOP} return main() }`, { type: 'script' }))
      const expected = `${form === 'let' ? 'string' : 'function'},1,2`
      assert.is(run('later()'), expected)
      assert.is(await new Scheduler({ budget: 1 }).spawn(run('later')), expected)
    })
  }
}

globals('a script may declare built-in objects before rt.mjs is loaded', () => {
  const context = createContext({})
  runInContext('const Symbol = 1, Reflect = 2; let Function', context)
  runInContext(preemptify.source(`function main() { ${LOOP} return Symbol + Reflect }`, { type: 'script' }), context)
  assert.is(runInContext('main()', context), 3)
})

globals.run()
