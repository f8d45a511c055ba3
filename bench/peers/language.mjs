// node --experimental-vm-modules bench/peers/language.mjs [parser-tests | files] [part of a path]...
//
// parser-tests: runs the programs of the package test262-parser-tests, which a parser must accept. Each
// program runs in its own realm, original and rewritten. Both must compile, end in the same way, and leave
// the same globals.
//
// files: rewrites every script and module below bench/peers/node_modules. If the original compiles, the
// result must compile, too.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'
import { preemptify } from '../../addons/preemptify.mjs'
import * as runtime from '../../addons/preemptify/runtime.mjs'

const root = fileURLToPath(new URL('node_modules/', import.meta.url))
const [what = 'parser-tests', ...patterns] = process.argv.slice(2)
const matches = path => patterns.length === 0 || patterns.some(pattern => path.includes(pattern))
const count = { passed: 0, failed: 0, invalid: 0 }

function fail(path, text) {
  count.failed++
  console.log(`FAIL ${path}: ${text}`)
}

await { 'parser-tests': parserTests, files }[what]()
console.log(`\n${count.passed} passed, ${count.failed} failed, ${count.invalid} are refused by this engine as they are`)
process.exitCode = count.failed > 0 ? 1 : 0

async function parserTests() {
  for (const folder of ['pass', 'pass-explicit']) {
    for (const file of readdirSync(`${root}test262-parser-tests/${folder}`)) {
      const path = `${folder}/${file}`
      if (!matches(path)) continue
      const type = file.endsWith('.module.js') ? 'module' : 'script'
      const text = readFileSync(`${root}test262-parser-tests/${path}`, 'utf8')
      const expected = await ending(text, type)
      if (expected.startsWith('SyntaxError')) {
        count.invalid++
        continue
      }
      try {
        const result = preemptify.source(text, { type, runtime: 'runtime' })
        for (const present of [true, false]) {
          if (type === 'module' && !present) continue
          const actual = await ending(result, type, present)
          if (actual !== expected)
            throw new Error(
              `${actual}, expected ${expected}, ${present ? 'with' : 'without'} rt.mjs\n${text.slice(0, 300)}\n=>\n${result.slice(0, 1500)}`
            )
        }
        count.passed++
      } catch (error) {
        fail(path, error.message ?? error)
      }
    }
  }
}

/** Runs a program in its own realm. Returns its outcome and the globals that it leaves. */
async function ending(text, type, present = true) {
  const context = vm.createContext({ console: undefined })
  if (present) context[Symbol.for('rt.mjs')] = runtime.support
  const timeout = 500
  try {
    let value
    if (type === 'script') value = new vm.Script(text).runInContext(context, { timeout })
    else {
      const module = new vm.SourceTextModule(text, { context })
      await module.link(specifier => {
        if (specifier !== 'runtime') throw new Error('no such module')
        const names = Object.keys(runtime)
        return new vm.SyntheticModule(
          names,
          function () {
            for (const name of names) this.setExport(name, runtime[name])
          },
          { context }
        )
      })
      await module.evaluate({ timeout })
      value = Object.getOwnPropertyNames(module.namespace)
        .map(name => `${name} ${typeof module.namespace[name]}`)
        .join()
    }
    // Exclude the globals that rewriting adds. Scripts share their top level, so these names have a prefix.
    const globals = Object.getOwnPropertyNames(context)
      .filter(name => !name.startsWith('$rt_'))
      .map(name => `${name} ${describe(context[name])}`)
      .sort()
    return `ends with ${describe(value)}, globals ${globals.join(', ')}`
  } catch (error) {
    return `${error?.name ?? typeof error}: ${error?.message ?? String(error)}`
  }
}

function describe(value) {
  if (typeof value === 'function')
    return `function ${value.name} ${value.length} ${Reflect.ownKeys(value).map(String).join(' ')} ${Object.prototype.toString.call(value)}`
  if (typeof value === 'object' && value !== null)
    return Object.prototype.toString.call(value) + Reflect.ownKeys(value).map(String).join(' ')
  return String(value)
}

async function files() {
  let read = 0
  let written = 0
  let time = 0
  const worst = []
  for (const path of readdirSync(root, { recursive: true })) {
    if (!/\.[cm]?js$/.test(path) || !matches(path) || path.includes('test262')) continue
    let text
    try {
      text = readFileSync(root + path, 'utf8').replace(/^#!.*/, '')
    } catch {
      continue
    }
    const isCommon = !compiles(text, 'module')
    const type = isCommon ? 'script' : 'module'
    if (isCommon) text = `(function (exports, require, module, __filename, __dirname) {${text}\n})`
    if (!compiles(text, type)) {
      count.invalid++
      continue
    }
    try {
      const started = performance.now()
      const result = preemptify.source(text, { type, runtime: 'runtime' })
      const took = performance.now() - started
      time += took
      read += text.length
      written += result.length
      worst.push({ path, growth: result.length / text.length, length: text.length, speed: text.length / took / 1000 })
      compile(result, type)
      count.passed++
    } catch (error) {
      fail(path, String(error.stack).split('\n').slice(0, 6).join('\n'))
    }
  }
  const large = worst.filter(({ length }) => length > 3000)
  const show = ({ path, growth, length, speed }) =>
    console.log(`${path}: ${length} characters, grown ${growth.toFixed(2)} x, ${speed.toFixed(1)} MB/s`)
  console.log(
    `\nread ${(read / 1e6).toFixed(1)} MB at ${(read / time / 1000).toFixed(2)} MB/s, grown ${(written / read).toFixed(2)} x; grown most:`
  )
  large
    .sort((a, b) => b.growth - a.growth)
    .slice(0, 5)
    .forEach(show)
  console.log('slowest of more than 100 kB:')
  large
    .filter(({ length }) => length > 1e5)
    .sort((a, b) => a.speed - b.speed)
    .slice(0, 5)
    .forEach(show)
}

function compile(text, type) {
  if (type === 'script') new vm.Script(text)
  else new vm.SourceTextModule(text)
}

function compiles(text, type) {
  try {
    compile(text, type)
    return true
  } catch {
    return false
  }
}
