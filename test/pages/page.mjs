// Loads a bundled app, plainly or adopted, and measures the page through native functions. The query: `app`
// is the name of the bundle, `way` is plain or adopted, `work` is the time per key in ms.
import { work } from './work.mjs'

const query = new URLSearchParams(location.search)
const nextFrame = requestAnimationFrame.bind(window)
const bundle = new URL(`built/${query.get('app')}.mjs`, location.href).href

/** The measurements that the driver reads. `interactions`: the duration of each interaction, ms. */
const measured = window.measured = { state: 'loading', answers: 0, errors: [], frameGap: 0, interactions: {} }
addEventListener('error', ({ message }) => { measured.errors.push(message) })
addEventListener('unhandledrejection', ({ reason }) => { measured.errors.push(String(reason)) })
if (PerformanceObserver.supportedEntryTypes.includes('event')) {
  new PerformanceObserver(list => {
    for (const { interactionId: id, duration } of list.getEntries()) {
      if (id) measured.interactions[id] = Math.max(measured.interactions[id] ?? 0, duration)
    }
  }).observe({ type: 'event', durationThreshold: 16 })
}
let last = performance.now()
nextFrame(function watch() {
  const now = performance.now()
  measured.frameGap = Math.max(measured.frameGap, now - last)
  last = now
  nextFrame(watch)
})

/** The rounds of `work` in 1 ms: the best of several measurements, because other processes delay some. */
window.roundsPerMs = () => {
  let best = 0
  for (let attempt = 0; attempt < 6; attempt++) {
    const start = performance.now()
    work(2e6)
    best = Math.max(best, 2e6 / (performance.now() - start))
  }
  return best
}

/** Forgets the measurements of the load. */
window.begin = () => Object.assign(measured, { frameGap: 0, interactions: {} })

try {
  const rounds = Number(query.get('rounds')) || Math.round(Number(query.get('work')) * window.roundsPerMs())
  const options = { rounds, onAnswer() { measured.answers++ } }
  let app
  if (query.get('way') === 'adopted') {
    const { adopt } = await import('/addons/adopt.mjs')
    const { preemptify } = await import('/addons/preemptify.mjs')
    window.adoption = adopt(globalThis, { warn: false })
    app = await preemptify.import(bundle)
  } else {
    app = await import(bundle)
  }
  app.mount(document.getElementById('root'), options)
  /** Replaces the app by another export of its bundle, with another time per key. */
  window.mount = (name, work) => {
    const root = Object.assign(document.createElement('div'), { id: 'root' })
    document.getElementById('root').replaceWith(root)
    measured.answers = 0
    app[name](root, { ...options, rounds: Math.round(work * window.roundsPerMs()) })
  }
  measured.state = 'ready'
} catch (error) {
  measured.state = String(error?.stack ?? error)
}
