/**
 * Random programs as CommonJS files: the same modules, with exports and imports in the forms of CommonJS.
 */
/** @import { Random } from './seeded.mjs' */
/** @import { Program } from './random-claims.mjs' */

/** A declaration that is exported. */
const EXPORT = /^export (const|let|class|(?:async )?function\*?) (\w+)/gm

/** Forms of the exports of a file, which stand at its end. @type {Record<string, (names: string[]) => string>} */
const EXPORTS = {
  assigned: names => names.map(name => `exports.${name} = ${name}`).join('\n'),
  ofModule: names => names.map(name => `module.exports.${name} = ${name}`).join('\n'),
  object: names => `module.exports = { ${names.join(', ')} }`,
  chained: names => `exports = module.exports = { ${names.join(', ')} }`,
  named: names => `const api = { ${names.join(', ')} }\nmodule.exports = api`,
  copied: names => `Object.assign(exports, { ${names.join(', ')} })`,
  computed: names => `const api = { ${names.join(', ')} }\nfor (const key of Object.keys(api)) exports[key] = api[key]`,
  getters: names => names.map(name =>
    `Object.defineProperty(exports, '${name}', { enumerable: true, get: function () { return ${name} } })`).join('\n'),
  computedGetters: names => `const api = { ${names.join(', ')} }
for (const key of Object.keys(api)) Object.defineProperty(exports, key, { enumerable: true, get: () => api[key] })`
}

/**
 * Replaces the uses of names by members of an object.
 *
 * @param {string} text @param {string[]} names @param {string} object
 */
const qualified = (text, names, object) => names.reduce((result, name) =>
  result.replace(new RegExp(`(?<![\\w$.'"])${name}(?![\\w$])(?!\\s*:)`, 'g'), `${object}.${name}`), text)

/**
 * Converts both modules of a program to CommonJS files. The second file requires the specifier `a`.
 *
 * @param {Program} program @param {Random} random @returns {Program}
 */
export function asCommonJS(program, random) {
  const mode = random.chance(0.7) ? "'use strict'\n" : ''
  const [, imported, b] = /^import \{ (.*) \} from 'a'\n([^]*)$/.exec(program.b) ?? []
  const names = imported.split(', ')
  const required = random.pick([
    () => `const { ${imported} } = require('a')\n${b}`,
    () => `const all = require('a')\n${qualified(b, names, 'all')}`,
    () => `require('a')\n${qualified(b, names, "require('a')")}`
  ])()
  return { ...program, isCommonJS: true, a: mode + exported(program.a, random), b: mode + exported(required, random) }
}

/** @param {string} text @param {Random} random @returns {string} */
function exported(text, random) {
  const found = [...text.matchAll(EXPORT)].map(([, kind, name]) => ({ kind, name }))
  const constants = found.filter(({ kind }) => kind === 'const').map(({ name }) => name)
  if (constants.length && random.chance(0.3)) {
    // The constants are properties of the exports object only.
    const others = found.map(({ name }) => name).filter(name => !constants.includes(name))
    const plain = text.replace(EXPORT, (_, kind, name) => kind === 'const' ? name : `${kind} ${name}`)
    return `${qualified(plain, constants, 'exports')}\n${EXPORTS[random.pick(['assigned', 'ofModule', 'copied', 'getters'])](others)}`
  }
  const plain = text.replace(EXPORT, '$1 $2')
  return `${plain}\n${EXPORTS[random.pick(Object.keys(EXPORTS))](found.map(({ name }) => name))}`
}
