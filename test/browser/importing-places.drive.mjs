import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { bundled } from '../support/bundle.mjs'

const classic = readFileSync(new URL('../fixtures/import/classic.js', import.meta.url))
const refusals = ['Content Security Policy', 'Content-Security-Policy', 'CSP']

async function found(browser, server, which, more = {}, origin = server.isolated) {
  const { report, results } = server.expect(60_000)
  results.catch(() => {})
  const parameters = new URLSearchParams({ case: which, report, ...more })
  await browser.open(`${origin}/test/browser/importing.html?${parameters}`)
  return results
}

export default {
  'preemptify.import works if the policy allows blobs'({ browser, server }) {
    return found(browser, server, 'blobs', { policy: "script-src 'self' blob:" })
      .then(outcome => deepEqual(outcome, { value: 4 }))
  },

  async 'preemptify.import works if the policy forbids workers'({ browser, server }) {
    deepEqual(await found(browser, server, 'blobs', { policy: "script-src 'self' blob:; worker-src 'none'" }), { value: 4 })
    return refusals
  },

  async "preemptify.import with script-src 'self' throws and names the service worker"({ browser, server }) {
    const { name, message, cause } = await found(browser, server, 'blobs', { policy: "script-src 'self'" })
    equal(name, 'EvalError')
    equal(cause, 'TypeError')
    match(message, /^preemptify\.import: .*Content-Security-Policy.*blob:.*service worker/)
    return refusals
  },

  async 'preemptify.import of another origin throws without CORS'({ browser, server }) {
    const other = `${server.plain}/test/fixtures/import/square.mjs`
    const { name, message } = await found(browser, server, 'elsewhere', { other })
    equal(name, 'TypeError')
    ok(message.includes(other) && message.includes('CORS'), message)
    return ['CORS', 'Cross-Origin', other, ...refusals] // Chromium can report the refusal late
  },

  async 'preemptify.import works in a bundle without exports of the run-time support'({ browser, server }) {
    await browser.open(`${server.isolated}/test/browser/driver.html`)
    const text = bundled(['addons/preemptify.mjs', 'rt.mjs'], ['preemptify', 'rt']).replace(/\(\{ url: '[^']*' \}\)/g, 'import.meta')
    const points = await browser.evaluate(async text => {
      const bundle = new Blob([`export const { preemptify, rt } = ${text}`], { type: 'text/javascript' })
      const { preemptify, rt } = await import(URL.createObjectURL(bundle))
      const { sum } = await preemptify.import('/test/fixtures/import/sums.mjs')
      const before = rt.stats().yields
      await rt.spawn(sum, { budget: 1 }, 10)
      return rt.stats().yields - before
    }, text)
    ok(points > 20, `${points}`)
  },

  async "the service worker works with script-src 'self'"({ browser, server }) {
    const integrity = `sha256-${createHash('sha256').update(classic).digest('base64')}`
    const outcome = await found(browser, server, 'worker', { policy: "script-src 'self'", integrity })
    const { job, classicJob, ...rest } = outcome
    const base = `${server.isolated}/test/fixtures/import/`
    deepEqual(rest, {
      isControlled: true,
      sum: 285,
      plain: rest.plain,
      again: true,
      meta: { url: `${base}sums.mjs`, square: `${base}square.mjs` },
      kept: true,
      broken: 'SyntaxError',
      missing: 'TypeError',
      classic: ['loaded', 5],
      crossorigin: ['loaded', 14],
      integrity: 'loaded',
      cycle: ['third', 'second', 'first', 'after'],
      data: { start: 0 }
    })
    equal(job.result, 285)
    ok(job.points > 20, `points of the callees are among them: ${job.points}`)
    ok(rest.plain < 3, `as it is it has none: ${rest.plain}`)
    equal(classicJob.result, 285)
    ok(classicJob.points > 20, `${classicJob.points}`)
    return ['nothing.mjs', 'broken.mjs', '404']
  }
}
