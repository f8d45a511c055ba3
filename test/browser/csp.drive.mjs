import { deepEqual, equal, match, ok } from 'node:assert/strict'

// Words in the messages that browsers write to their consoles when a policy blocks something.
const refusals = ['Content Security Policy', 'Content-Security-Policy', 'CSP', 'TrustedScript']

async function findings(browser, server, policy, more = {}) {
  const { report, results } = server.expect(60_000)
  results.catch(() => {})
  const parameters = new URLSearchParams({ policy, report, ...more })
  await browser.open(`${server.isolated}/test/browser/csp.html?${parameters}`)
  const { window, worker } = await results
  return [['in the window', window], ['in the worker', worker]]
}

/** Asserts that preemptify failed with an error that names the cause and the remedy. */
function refused({ name, message, cause }, where) {
  equal(name, 'EvalError', where)
  equal(cause, 'EvalError', where)
  match(message, /^preemptify\(count\): .*Content-Security-Policy/, where)
  match(message, /'unsafe-eval'/, where)
  match(message, /require-trusted-types-for/, where)
  match(message, /write (?:a|the) generator/, where)
}

export default {
  async "with 'unsafe-eval' in the policy preemptify works"({ browser, server }) {
    const places = await findings(browser, server, "script-src 'self' 'unsafe-eval'")
    for (const [where, { byHand, preemptified, closure }] of places) {
      deepEqual([byHand, preemptified, closure], [5050, 5050, 10100], where)
    }
  },

  async "with script-src 'self' preemptify explains its error, and generators work"({ browser, server }) {
    const places = await findings(browser, server, "script-src 'self'")
    for (const [where, { byHand, preemptified, closure }] of places) {
      equal(byHand, 5050, where)
      refused(preemptified, where)
      refused(closure, where)
    }
    return refusals
  },

  async "with script-src 'self' examples/preemptify explains the error"({ browser, server }) {
    const parameters = new URLSearchParams({ policy: "script-src 'self'" })
    await browser.open(`${server.isolated}/examples/preemptify/index.html?${parameters}`)
    // The driver of Firefox needs eval, so only Chromium reads the text. All browsers report other problems.
    if (browser.kind === 'chromium') {
      match(await browser.evaluate('document.getElementById("problem").innerText'), /'unsafe-eval'/)
    }
    return refusals
  },

  async 'with trusted types preemptify explains its error, and generators work'({ browser, server }) {
    const places = await findings(browser, server, "require-trusted-types-for 'script'")
    for (const [where, { trustedTypes, byHand, preemptified, closure }] of places) {
      ok(browser.kind !== 'chromium' || trustedTypes, where)
      equal(byHand, 5050, where)
      if (!trustedTypes) continue
      refused(preemptified, where)
      refused(closure, where)
    }
    return refusals
  },

  async 'with trusted types preemptify evaluates a text that evaluate has trusted'({ browser, server }) {
    const places = await findings(browser, server, "require-trusted-types-for 'script'", { trusted: '' })
    for (const [where, { trustedTypes, trusted }] of places) {
      if (trustedTypes) equal(trusted, 5050, where)
    }
    return refusals
  }
}
