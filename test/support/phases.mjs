/** The phases of preemptify, which rt.mjs does not export. */
import { readFileSync } from 'node:fs'
import { runInThisContext } from 'node:vm'

const file = new URL('../../rt.mjs', import.meta.url)

/** @param {...string} names of what is declared in rt.mjs @returns {any} that, by name, of another instance of it */
export function internals(...names) {
  const text = readFileSync(file, 'utf8').replace(/^export (?:\{.*)?/gm, '').replaceAll('import.meta', `({ url: '${file.href}' })`)
  return runInThisContext(`(() => { ${text}\nreturn { ${names.join(', ')} } })()`, { filename: file.href })
}
