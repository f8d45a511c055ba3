// Compares random rewritten modules with their originals.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect, isDeepStrictEqual } from 'node:util'
import { suite } from 'uvu'
import { preemptify } from '../../../addons/preemptify.mjs'
import { randomModules } from '../../fixtures/preemptify/random-modules.mjs'
import { drive } from '../../support/drive.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href
const folder = mkdtempSync(join(tmpdir(), 'modules-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const most = 20_000
let effects = []
globalThis.log = (value, ...others) => {
  if (effects.length > most) throw new Error('it goes on for too long')
  effects.push(typeof value === 'function' ? 'a function' : value, ...others)
  return value
}

/** Returns the log of the evaluation, the exports, and the results and logs of the functions, called in each way. */
async function observed(name, texts, ways) {
  effects = []
  const place = join(folder, name)
  mkdirSync(place)
  texts.forEach((text, i) => writeFileSync(join(place, `${i}.mjs`), text))
  const seen = []
  let space
  try {
    space = await import(pathToFileURL(join(place, '0.mjs')).href)
  } catch (error) {
    return [String(error).replaceAll(name, ''), effects]
  }
  seen.push(effects)
  for (const key of Object.keys(space)) {
    const { [key]: value } = space
    if (typeof value !== 'function') {
      seen.push([key, typeof value === 'object' ? Object.keys(value) : value])
      continue
    }
    seen.push([key, value.name, value.length])
    for (const way of ways) {
      effects = []
      let result
      try {
        result = way(value)
      } catch (error) {
        result = String(error)
      }
      seen.push([key, result, effects])
    }
  }
  return seen
}

const plainly = fn => fn(3, 0)
const ways = [plainly, ...[1, 7, 300].map(limit => fn => drive(preemptify(fn)(3, 0), { limit })), plainly]

const modules = suite('random modules')

modules('rewritten modules have the exports and effects of their originals', () => forSeeds(100, async random => {
  const texts = randomModules(random)
  const rewritten = texts.map(text => preemptify.source(text, { runtime }))
  const expected = await observed(`original-${random.seed}`, texts, ways.map(() => plainly))
  const actual = await observed(`rewritten-${random.seed}`, rewritten, ways)
  const at = expected.findIndex((step, i) => !isDeepStrictEqual(step, actual[i]))
  if (at < 0) return
  throw new Error(`step ${at}\nrewritten ${inspect(actual[at])}\noriginal ${inspect(expected[at])}\n${texts.join('\n//--\n')}`)
}))

modules.run()
