import { equal, modules, test } from './page.mjs'

// Functions through which a module could affect its page, above all timers and listeners.
const functions = [
  'setTimeout', 'setInterval', 'queueMicrotask', 'requestAnimationFrame', 'requestIdleCallback',
  'postMessage', 'addEventListener', 'fetch', 'structuredClone', 'reportError', 'eval'
]
const constructors = [
  'MessageChannel', 'BroadcastChannel', 'Worker', 'SharedArrayBuffer', 'WebSocket', 'Function',
  'AbortController', 'MutationObserver', 'PerformanceObserver', 'EventTarget'
]
const methods = {
  EventTarget: ['addEventListener'], Scheduler: ['postTask', 'yield'], Document: ['createElement']
}

test('an import reads the clock and has no other effect', async () => {
  const used = []
  const undo = []
  const watch = (owner, name, label) => {
    const original = Object.getOwnPropertyDescriptor(owner, name)
    if (!original?.value) return
    const value = new Proxy(original.value, {
      apply: (target, self, args) => (used.push(label), Reflect.apply(target, self, args)),
      construct: (target, args) => (used.push(`new ${label}`), Reflect.construct(target, args))
    })
    Object.defineProperty(owner, name, { ...original, value })
    undo.push(() => Object.defineProperty(owner, name, original))
  }
  for (const name of [...functions, ...constructors]) watch(globalThis, name, name)
  for (const name in methods) {
    for (const method of methods[name]) {
      if (globalThis[name]) watch(globalThis[name].prototype, method, `${name}.${method}`)
    }
  }
  const before = globals()
  try {
    for (const module of modules) await import(module)
    equal(used, [])
    equal(globals(), before)
  } finally {
    for (const restore of undo) restore()
  }
})

function globals() {
  return [globalThis, Promise.prototype, Array.prototype, Object.prototype, Function.prototype]
    .map(object => Reflect.ownKeys(object).map(String).sort())
}
