/**
 * Programs that Scala.js and ClojureScript have compiled, natively and rewritten:
 *
 *   bash bench/languages/build.sh && node bench/languages/run.mjs
 *
 * Each row is the best of seven runs in processor time.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { preemptify } from '../../addons/preemptify.mjs'
import { Scheduler } from '../../rt.mjs'
import { cpuTime, table } from '../support.mjs'

/** The sizes of the inputs, by program. */
const languages = {
  scala: { nbody: 100_000, queens: 9, words: 200_000, tree: 20_000, longs: 2_000_000, streams: 600 },
  clojure: { nbody: 1000, queens: 8, words: 50_000, primes: 2000 }
}
const RUNS = 7

const rows = []
for (const [language, sizes] of Object.entries(languages)) {
  const url = new URL(`build/${language}.mjs`, import.meta.url)
  const rewritten = new URL(`build/${language}.rewritten.mjs`, import.meta.url)
  const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
  writeFileSync(rewritten, preemptify.source(readFileSync(url, 'utf8'), { runtime }))
  const [{ programs: native }, { programs: twins }] = await Promise.all([import(url.href), import(rewritten.href)])
  const scheduler = new Scheduler()
  for (const [name, size] of Object.entries(sizes)) {
    const best = { native: Infinity, plain: Infinity, job: Infinity }
    const results = {}
    const ways = {
      native: () => native[name](size),
      plain: () => twins[name](size),
      job: () => scheduler.spawn([twins, name], {}, size)
    }
    for (let run = 0; run < RUNS; run++) {
      for (const [way, call] of Object.entries(ways)) {
        const start = cpuTime()
        results[way] = await call()
        best[way] = Math.min(best[way], cpuTime() - start)
      }
    }
    const isEqual = Object.values(results).every(result => isDeepStrictEqual(result, results.native))
    rows.push([`${language} ${name}`, best.native, best.job / best.native, best.plain / best.native, isEqual ? 'yes' : 'NO'])
  }
}
table(['program', 'native, ms', 'job, x', 'called plainly, x', 'equal'], rows)
