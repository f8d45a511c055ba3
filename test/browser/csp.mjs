// Reports the abilities of a page and its worker under a Content-Security-Policy. The page posts the results
// to the server, because some drivers would need eval to read them. The worker runs the same module under the
// same policy.
import { rt } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'

const inWorker = typeof document === 'undefined'
const { searchParams } = new URL(location.href)

const found = await findings()
if (inWorker) {
  postMessage(found)
} else {
  const body = JSON.stringify({ window: found, worker: await inItsWorker() })
  // The browser may leave the page before the response arrives.
  fetch(searchParams.get('report'), { method: 'POST', body }).catch(() => {})
}

async function findings() {
  let sum = 0
  function count(n) {
    for (let i = 1; i <= n; i++) sum += i
    return sum
  }
  function* countByHand(n) {
    for (let i = 1; i <= n; i++) {
      sum += i
      yield
    }
    return sum
  }
  const attempts = {
    byHand: () => rt.spawn(countByHand, undefined, 100),
    preemptified: () => rt.spawn(preemptify(function count(n) {
      let sum = 0
      for (let i = 1; i <= n; i++) sum += i
      return sum
    }), undefined, 100),
    closure: () => rt.spawn(preemptify(count, { evaluate: source => eval(source) }), undefined, 100)
  }
  if (searchParams.has('trusted') && globalThis.trustedTypes) {
    const policy = trustedTypes.createPolicy('preemptify', { createScript: source => source })
    attempts.trusted = () => {
      sum = 0
      const work = preemptify(count, { evaluate: source => eval(policy.createScript(source)) })
      return rt.spawn(work, undefined, 100)
    }
  }
  const results = { trustedTypes: 'trustedTypes' in globalThis }
  for (const name in attempts) {
    try {
      results[name] = await attempts[name]()
    } catch (error) {
      results[name] = { name: error.name, message: error.message, cause: error.cause?.name }
    }
  }
  return results
}

function inItsWorker() {
  // If scripts must be trusted, addresses of workers must be trusted as well.
  const address = `csp.mjs${location.search}`
  const url = globalThis.trustedTypes
    ? trustedTypes.createPolicy('worker', { createScriptURL: text => text }).createScriptURL(address)
    : address
  return new Promise(resolve => {
    const worker = new Worker(url, { type: 'module' })
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = event => resolve({ error: event.message ?? 'the worker did not load' })
  })
}
