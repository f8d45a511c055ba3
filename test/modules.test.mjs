// Tests of the import rules, the import side effects and the exports of all modules.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { read } from '../addons/preemptify/read.mjs'

const root = new URL('..', import.meta.url)
const path = name => fileURLToPath(new URL(name, root))
const CORE = ['rt.mjs', 'alarms.mjs', 'sync.mjs']
const addons = readdirSync(path('addons'), { recursive: true })
  .map(name => `addons/${name.replaceAll('\\', '/')}`).filter(name => name.endsWith('.mjs')).sort()
const modules = [...CORE, ...addons]

/** Runs the text of a module in a child process and returns the JSON that it prints. */
const ask = (text, ...flags) => JSON.parse(execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', text], {
  cwd: path('.'), encoding: 'utf8'
}))

/**
 * The static imports of each module, as paths from the root, listed by the engine.
 * @type {Record<string, string[]>}
 */
const imports = ask(`
  import { SourceTextModule } from 'node:vm'
  import { readFileSync } from 'node:fs'
  import { posix } from 'node:path'
  const found = ${JSON.stringify(modules)}.map(name => {
    const { dependencySpecifiers } = new SourceTextModule(readFileSync(name, 'utf8'))
    return [name, dependencySpecifiers.map(to => to.startsWith('.') ? posix.join(posix.dirname(name), to) : to)]
  })
  console.log(JSON.stringify(Object.fromEntries(found)))`, '--experimental-vm-modules', '--no-warnings')

const rules = suite('import rules')

rules('rt.mjs imports nothing; alarms.mjs and sync.mjs import rt.mjs only', () => {
  assert.equal(imports['rt.mjs'], [])
  assert.equal(imports['alarms.mjs'], ['rt.mjs'])
  assert.equal(imports['sync.mjs'], ['rt.mjs'])
})

rules('an addon imports the three modules and files of addons only', () => {
  for (const name of addons) {
    for (const to of imports[name]) assert.ok(modules.includes(to), `${name} imports ${to}`)
  }
})

rules('files in the folder of an addon are only imported by that addon and its folder', () => {
  for (const name of modules) {
    for (const to of imports[name]) {
      const [, owner] = /^addons\/(\w+)\//.exec(to) ?? []
      if (!owner || owner === 'internal') continue
      assert.ok(name === `addons/${owner}.mjs` || name.startsWith(`addons/${owner}/`), `${name} imports ${to}`)
    }
  }
})

rules('modules import each other without cycles', () => {
  const done = new Set()
  /** @param {string} name @param {string[]} path */
  const visit = (name, path) => {
    assert.not(path.includes(name), `${[...path, name].join(' -> ')}`)
    if (done.has(name)) return
    for (const to of imports[name]) visit(to, [...path, name])
    done.add(name)
  }
  for (const name of modules) visit(name, [])
})

rules('import() loads works of workers, rewritten modules and nothing else', () => {
  const found = modules.filter(name => {
    const code = readFileSync(path(name), 'utf8').replace(/\/\*[^]*?\*\//g, '').split('\n')
      .filter(line => !/^\s*\/\//.test(line)).map(line => line.replace(/(['"`]).*?\1/g, '').replace(/\/\/.*/, ''))
    return code.some(line => /\b(?:import|require)\s*\(/.test(line))
  })
  assert.equal(found, ['addons/preemptify/blobs.mjs', 'addons/workers.mjs'])
})

rules('rewritten text imports no file of the compiler', () => {
  const reached = new Set()
  const visit = name => {
    if (reached.has(name)) return
    reached.add(name)
    imports[name].forEach(visit)
  }
  visit('addons/preemptify/runtime.mjs')
  assert.equal([...reached].sort(), ['advice', 'async-generators', 'asynchronous', 'builtins', 'claims', 'construct', 'events', 'family', 'finish', 'made',
    'primordials', 'reactions', 'run', 'runtime', 'sorts', 'steps'].map(name => `addons/preemptify/${name}.mjs`).concat('rt.mjs'))
})

rules.run()

const iteration = suite('iterators of built-in objects')

/** The files that iterate over iterables of their callers, and the number of those places. */
const ITERATES = {
  'addons/reservations.mjs': 1,
  'addons/preemptify/async-generators.mjs': 1,
  'addons/preemptify/builtins.mjs': 2
}

/** Functions and classes that take an iterable. An array-like object without an iterator suits Array.from. */
const TAKES_ITERABLE = /^(?:Map|Set|WeakMap|WeakSet|Object[.]fromEntries|Promise[.](?:all|allSettled|any|race)|Uint8Array[.]from)$/

/** Whether a node takes the iterator of a value. @param {any} node @param {any} parent @param {string} text */
function iterates(node, parent, text) {
  const { type, callee, arguments: args } = node
  if (type === 'ForOfStatement' || type === 'ArrayPattern') return true
  if (type === 'SpreadElement') return parent.type !== 'ObjectExpression'
  if (type !== 'NewExpression' && type !== 'CallExpression' || !args?.length) return false
  const name = text.slice(callee.start, callee.end)
  return TAKES_ITERABLE.test(name) || name === 'Array.from' && args[0].type !== 'ObjectExpression'
}

/** Lists the lines of a module that take an iterator. @param {string} text @returns {number[]} */
function linesThatIterate(text) {
  /** @type {number[]} */
  const lines = []
  const visit = (node, parent) => {
    if (typeof node !== 'object' || node === null) return
    const isNode = typeof node.type === 'string'
    if (isNode && iterates(node, parent, text)) lines.push(text.slice(0, node.start).split('\n').length)
    for (const [key, part] of Object.entries(node)) if (key !== 'parent') visit(part, isNode ? node : parent)
  }
  visit(read(text, 'module').body, null)
  return lines
}

iteration('the check finds every syntax that takes an iterator, and no other', () => {
  const taking = [
    'for (const a of b) c()', 'const [a] = b', 'f(...a)', 'a = [...b]', 'new Map(a)', 'new Set([1])', '[a] = b',
    'const f = ([a]) => a', 'Promise.all(a)', 'Object.fromEntries(a)', 'Array.from(a)', 'new C(...a)'
  ]
  for (const text of taking) assert.equal(linesThatIterate(`\n${text}`), [2], text)
  const others = [
    'const { 0: a } = b', 'function f(...a) {}', 'a = { ...b }', 'new Map()', 'Array.from({ length: 3 })',
    'for (const a in b) c()', 'const { a, ...b } = c'
  ]
  for (const text of others) assert.equal(linesThatIterate(text), [], text)
})

for (const name of modules) {
  iteration(`${name} takes no iterator that a page can delete`, () => {
    const lines = linesThatIterate(readFileSync(path(name), 'utf8'))
    assert.is(lines.length, ITERATES[name] ?? 0, `lines ${lines.join(', ')}`)
  })
}

iteration.run()

const exported = suite('exports')

/** The exports that the contract names. */
const EXPORTS = {
  'rt.mjs': ['DeadlineError', 'DeadlockError', 'Job', 'Scheduler', 'Task', 'budget', 'defaultHost', 'edf',
    'fp', 'rm', 'rt'],
  'alarms.mjs': ['Alarm', 'AsyncEvent', 'TimeoutError', 'after', 'at', 'events', 'every', 'frames', 'nextPeriod', 'on',
    'periodic', 'sleep', 'sporadic', 'timeout', 'until'],
  'sync.mjs': ['Barrier', 'Channel', 'ChannelError', 'DeadlockError', 'Mutex', 'OwnershipError', 'Resource', 'Semaphore',
    'choice', 'nonPreemptive', 'par', 'race'],
  'addons/adopt.mjs': ['adopt'],
  'addons/connect.mjs': ['accept', 'connect'],
  'addons/deadlock.mjs': ['reportDeadlocks'],
  'addons/preemptify.mjs': ['budget', 'isModule', 'isOwnModule', 'preemptify', 'support'],
  'addons/reservations.mjs': ['AdmissionError', 'IoReservation', 'Reservation', 'admit', 'interrupt', 'loop', 'worstCaseDelay'],
  'addons/schedulable.mjs': ['AdmissionError', 'schedulable'],
  'addons/scheduler.mjs': ['TaskController', 'scheduler', 'schedulerOf'],
  'addons/shared.mjs': ['Latest', 'Ring', 'SharedMutex', 'SharedSemaphore'],
  'addons/workers.mjs': ['AdmissionError', 'Workers']
}
/** Exports for other modules of the project, marked `@internal`. */
const INTERNAL = {
  'rt.mjs': ['extend'],
  'alarms.mjs': ['Cycle', 'EventHandler', 'Fifo', 'HANDLING', 'Handle', 'InterruptMask', 'JobSource', 'apply', 'checkTarget',
    'parametersOf', 'releaseOf', 'scriptAddress', 'startsJob'],
  'sync.mjs': ['End', 'NOTHING', 'Supply', 'Turn', 'withSignal'],
  'addons/preemptify.mjs': ['exclusiveRule', 'forgetAhead', 'version'],
  'addons/schedulable.mjs': ['demandOf', 'percent']
}

exported('every module and addon has a list of exports', () => {
  assert.equal(Object.keys(EXPORTS).sort(), [...CORE, ...addons.filter(name => /^addons\/\w+\.mjs$/.test(name))].sort())
})

for (const [name, names] of Object.entries(EXPORTS)) {
  exported(`${name} has exactly the exports of the contract`, async () => {
    const found = Object.keys(await import(new URL(name, root))).sort()
    assert.equal(found, [...names, ...INTERNAL[name] ?? []].sort())
  })
}

exported('rt.mjs exports one default scheduler and one default host per thread', async () => {
  const { Scheduler, defaultHost, rt } = await import(new URL('rt.mjs', root))
  assert.instance(rt, Scheduler)
  assert.is(defaultHost(), defaultHost())
})

exported('the package exports each module and each addon by its name', () => {
  const { exports } = JSON.parse(readFileSync(path('package.json'), 'utf8'))
  for (const name of addons.filter(name => /^addons\/\w+\.mjs$/.test(name))) {
    const short = `./${name.slice('addons/'.length, -'.mjs'.length)}`
    assert.is(exports[short], `./${name}`)
  }
  for (const file of Object.values(exports)) if (file && !file.includes('*')) assert.ok(existsSync(path(file)), file)
})

exported.run()

const effects = suite('an import')

const ACTS = [
  'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'queueMicrotask', 'requestAnimationFrame',
  'requestIdleCallback', 'postMessage', 'addEventListener', 'fetch', 'structuredClone', 'reportError', 'eval',
  'MessageChannel', 'BroadcastChannel', 'Worker', 'SharedArrayBuffer', 'WebSocket', 'Function',
  'AbortController', 'EventTarget', 'Event', 'PerformanceObserver', 'FinalizationRegistry', 'TextEncoder', 'TextDecoder'
]

/** Runs in a process that loads only the module. */
async function importWatched(path, acts) {
  const used = []
  for (const act of acts) globalThis[act] // Node creates some globals at the first access
  const watch = (owner, key, label) => {
    const target = owner[key] ?? (() => {})
    const value = new Proxy(target, {
      apply: (fn, self, args) => (used.push(label), Reflect.apply(fn, self, args)),
      construct: (fn, args) => (used.push(`new ${label}`), Reflect.construct(fn, args))
    })
    Object.defineProperty(owner, key, { value, writable: true, configurable: true })
  }
  for (const act of acts) watch(globalThis, act, act)
  watch(EventTarget.prototype, 'addEventListener', 'EventTarget.addEventListener')
  watch(process, 'on', 'process.on')
  const owners = [globalThis, Symbol, ...[Promise, Array, Object, Function].map(({ prototype }) => prototype)]
  const shape = () => owners
    .map(object => Reflect.ownKeys(object).map(String).sort().join())
  const before = shape()
  await import(path)
  const after = shape()
  console.log(JSON.stringify({ used, changed: after.filter((names, index) => names !== before[index]) }))
}

for (const name of [...CORE, ...addons.filter(name => /^addons\/\w+\.mjs$/.test(name))]) {
  effects(`an import of ${name} reads the clock and has no other effect`, () => {
    const found = ask(`${importWatched}\nawait importWatched(${JSON.stringify(new URL(name, root))}, ${JSON.stringify(ACTS)})`)
    assert.equal(found, { used: [], changed: [] })
  })
}

effects.run()
