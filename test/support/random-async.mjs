/**
 * Random asynchronous programs, as texts: async functions, callbacks of promises, microtasks, shared state.
 */

const FUNCTIONS = 4

/**
 * A module whose async `main` logs its effects by `log`.
 *
 * @param {ReturnType<typeof import('./seeded.mjs').seeded>} random
 */
export function randomAsyncProgram(random) {
  let number = 0
  const choose = (...texts) => texts[random.integer(0, texts.length - 1)]
  const call = depth => `f${random.integer(0, FUNCTIONS - 1)}(d - 1, ${depth})`

  /** An expression whose value is mostly a promise. */
  function expression(depth) {
    const k = ++number
    if (depth <= 0) return choose('null', `Promise.resolve(${k})`, `work(${k})`)
    return choose(
      () => call(k),
      () => `(async () => { ${statements(depth - 1, true)} return ${k} })()`,
      () => `Promise.resolve(${k}).then(v => { log('then', v); ${statements(depth - 1, false)} return v })`,
      () => `Promise.resolve(${k}).then(v => log('short', v))`,
      () => `${call(k)}.then(v => log('after', v))`,
      () => `Promise.all([${expression(depth - 1)}, ${expression(depth - 1)}])`,
      () => `Promise.race([${expression(depth - 1)}, ${expression(depth - 1)}])`,
      () => `Promise.reject(${k}).catch(e => { log('catch', e); work(${k}); return e })`,
      () => `Promise.resolve(${k}).finally(() => { log('finally ${k}'); work(${k}) })`,
      () => `new Promise(resolve => { log('executor ${k}'); work(${k}); resolve(${k}) })`,
      () => `new Promise(resolve => queueMicrotask(() => { log('microtask ${k}'); work(${k}); resolve() }))`,
      () => `[1, 2].map(async x => { log('each ${k}', x); await ${expression(depth - 1)}; work(${k}); log('end ${k}', x) })[1]`
    )()
  }

  function statements(depth, isAsync) {
    let text = ''
    for (let i = random.integer(1, 3); i > 0; i--) {
      const k = ++number
      text += choose(
        () => `log('at ${k}'); `,
        () => `work(${k}); log('worked ${k}', shared); `,
        () => `{ const before = shared; work(2); shared = before + 1; log('shared', shared) } `,
        () => isAsync ? `log('result ${k}', String(await ${expression(depth)})); ` : `keep(${expression(depth)}); `,
        () => `{ const p = ${expression(depth)}; log('called ${k}'); ${isAsync ? 'await p; ' : ''} } `,
        () => isAsync ? `try { await Promise.reject(${k}) } catch (e) { log('caught', e) } ` : '',
        () => isAsync ? `for (const x of [1, 2]) { await ${expression(depth)}; log('loop ${k}', x) } ` : '',
        () => `keep(${expression(depth)}); `
      )()
    }
    return text
  }

  let text = `let shared = 0
const kept = []
function keep(promise) { kept.push(promise); for (let i = 0; i < 2; i++); }
`
  for (let i = 0; i < FUNCTIONS; i++) {
    text += `async function f${i}(d, n) { if (d < 0) return n; ${statements(2, true)} ${choose('return n', 'return work(n)', 'await null; return n')} }\n`
  }
  return `${text}export async function main() { const d = 1; shared = kept.length = 0; ${statements(3, true)} await Promise.allSettled(kept); return shared }`
}
