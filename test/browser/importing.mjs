// Reports the imports of a page. The page posts the results to the server, because some drivers would need
// eval to read them. Import maps must precede every module.
import { Scheduler } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { controlled } from '../../examples/service-worker/register.mjs'

const { searchParams } = new URL(location.href)
const base = new URL('../fixtures/import/', import.meta.url).href

const said = async promise => {
  try {
    return await promise
  } catch (error) {
    return { name: error.name, message: error.message, cause: error.cause?.name }
  }
}

/** Runs `fn` as a job. Returns its result and the number of its preemption points. */
async function asJob(fn, ...args) {
  const scheduler = new Scheduler({ budget: 1 })
  return { result: await scheduler.spawn(fn, undefined, ...args), points: scheduler.stats().yields }
}

function script(properties) {
  return new Promise(resolve => {
    const element = Object.assign(document.createElement('script'), properties)
    element.onload = () => resolve('loaded')
    element.onerror = () => resolve('failed')
    document.head.append(element)
  })
}

const cases = {
  /** Imports through blobs, if the policy of the page allows them. */
  async blobs() {
    const { name, message, cause, ...rest } = await said(preemptify.import('./square.mjs', { base }))
    return rest.square ? { value: rest.square(2) } : { name, message, cause }
  },

  /** Imports a module of another origin. */
  async elsewhere() {
    return said(preemptify.import(searchParams.get('other')))
  },

  /** Imports through the service worker, which controls the page from its second load on. */
  async worker() {
    const options = { scope: '/' }
    await controlled(`/examples/service-worker/sw.mjs?match=/fixtures/import/`, options)
    const { sum, square, meta } = await import(`${base}sums.mjs`)
    const plain = await import(`${base}square.mjs?plain`)
    const store = await caches.open('preemptified')
    const found = {
      isControlled: navigator.serviceWorker.controller !== null,
      sum: sum(10),
      job: await asJob(sum, 10),
      plain: (await asJob(plain.square, 10)).points,
      again: (await import(`${base}square.mjs`)).square === square,
      meta,
      kept: (await store.keys()).length > 0,
      broken: (await said(import(`${base}broken.mjs`))).name,
      missing: (await said(import(`${base}nothing.mjs`))).name,
      classic: [await script({ src: `${base}classic.js` }), globalThis.classic?.(3)],
      crossorigin: [await script({ src: `${base}classic.js?cors`, crossOrigin: 'anonymous' }), globalThis.classic?.(4)],
      classicJob: await asJob(globalThis.classic, 10),
      integrity: await script({ src: `${base}classic.js?intact`, integrity: searchParams.get('integrity') }),
      cycle: JSON.parse((await import(`${base}cycle/entry.mjs`)).observed()).order,
      data: await (await fetch(`${base}data.json`)).json()
    }
    const registration = await navigator.serviceWorker.getRegistration()
    await registration.unregister()
    return found
  }
}

const body = JSON.stringify(await said(cases[searchParams.get('case')]()))
// The browser may leave the page before the response arrives.
fetch(searchParams.get('report'), { method: 'POST', body }).catch(() => {})
