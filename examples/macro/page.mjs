import { defaultHost } from '../../rt.mjs'
import { run, runSteps, stepsOf, subtests } from './experiment.mjs'
import { graphs } from './graphs.mjs'
import { loadTaskSet, loadWords } from './loads.mjs'
import { cellsOf, figure, figureOf, grouped, percent } from './report.mjs'
import { frameRates, spread } from './statistics.mjs'
import { watchTimings } from './timings.mjs'
import { plain, ways } from './ways.mjs'

const element = id => document.getElementById(id)
const controls = /** @type {HTMLFormElement} */ (element('controls'))
const automatic = /** @type {HTMLFormElement} */ (element('subtests'))
const stage = element('stage')
const box = element('box')
const field = /** @type {HTMLInputElement} */ (element('field'))
const host = defaultHost()
const draw = graphs(element('rates'), element('latencies'))
const loadNames = ['typing', 'aes', 'tasks', 'endless']

/** The points of the graphs, each with the color of the way at that time. */
const frames = []
const inputs = []
let color = '--muted'
/** Time of the last switch of the way. Figures cover only one way. */
let since = 0
let range = 0

/** @type {import('./experiment.mjs').World} */
const world = {
  host,
  post: ordinaryPost(),
  field,
  page: document,
  move: time => { box.style.transform = `translateX(${range * (0.5 - 0.5 * Math.cos(time / 600))}px)` },
  echo(text, ms) {
    element('echo').textContent = text
    keep(inputs, { time: host.now(), ms, color })
  },
  show: bytes => { element('cipher').textContent = hex(bytes) },
  taskSet: await loadTaskSet(),
  words: await loadWords(),
  timings: watchTimings()
}

/** The run that the user controls. @type {ReturnType<typeof run> | null} */
let running = null
/**
 * Settles after the last switch. Switches run one after another; each waits for the end of the previous run.
 */
let switched = Promise.resolve()
/** @type {AbortController | null} */
let inTurn = null
/** The watch of the automatic run. @type {import('./experiment.mjs').Watch | null} */
let inTurnWatch = null
/** @type {any} results of the last automatic run */
let results = null
/** Progress at the last update of the figures, and the run to which it belongs. */
let sample = { time: host.now(), blocks: 0, worked: 0, progress: /** @type {any} */ (null) }

applyAddress()
new ResizeObserver(([{ contentRect }]) => { range = contentRect.width - box.clientWidth - 8 })
  .observe(element('track'))
new ResizeObserver(showFigure).observe(element('figure'))
requestAnimationFrame(watchFrames)
setInterval(showLive, 500)

controls.addEventListener('submit', event => event.preventDefault())
controls.addEventListener('change', ({ target }) => { if (target !== field) restart() })
element('pause').addEventListener('click', () => {
  if (running) stop()
  else restart()
})
field.addEventListener('keydown', event => {
  // A user who types wants to see the typed text, so simulated typing stops.
  if (!event.isTrusted || inTurn || !controls.elements.typing.checked || event.key.length > 1) return
  controls.elements.typing.checked = false
  field.value = ''
  restart()
})
automatic.addEventListener('submit', event => {
  event.preventDefault()
  if (inTurn) inTurn.abort(new DOMException('Stopped', 'AbortError'))
  else runAutomatically().catch(error => { if (error.name !== 'AbortError') throw error })
})
element('download').addEventListener('click', download)
document.addEventListener('visibilitychange', () => {
  // A hidden page draws no frames; the gap must not count as a freeze.
  if (!document.hidden) frames.length = 0
})
element('run').disabled = false

if (new URLSearchParams(location.search).has('run')) automatic.requestSubmit()
else restart()

// The address can contain settings: ?way=plain&tasks=0 or ?seconds=5&against=fp&run
function applyAddress() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    const control = controls.elements[name] ?? automatic.elements[name]
    if (control?.type === 'checkbox') control.checked = value !== '0'
    else if (control) control.value = value
  }
}

/** Returns a function that posts ordinary tasks. The scheduler's own host would wait for frames. */
function ordinaryPost() {
  const { port1, port2 } = new MessageChannel()
  const posted = []
  port1.onmessage = () => posted.shift()()
  return fn => {
    posted.push(fn)
    port2.postMessage(null)
  }
}

function hex(bytes) {
  let text = ''
  for (const byte of bytes.subarray(0, 24)) text += byte.toString(16).padStart(2, '0')
  return text
}

/** @template T @param {T[]} list @param {T} item */
function keep(list, item) {
  list.push(item)
  // Remove many at once: each shift() would move all other items.
  if (list.length >= 6000) list.splice(0, 3000)
}

function watchFrames() {
  keep(frames, { time: host.now(), color })
  requestAnimationFrame(watchFrames)
}

/** @param {string} id the id of a way, or '' */
function paint(id) {
  stage.className = id
  since = host.now()
  color = id === '' ? '--muted' : `--${id}`
}

function restart() {
  const id = controls.elements.way.value
  const loads = Object.fromEntries(loadNames.map(name => [name, controls.elements[name].checked]))
  switched = switched.then(async () => {
    await running?.end()
    running = null
    if (inTurn) return
    paint(id)
    running = run(world, ways.find(way => way.id === id), loads)
    element('pause').textContent = 'Stop'
  })
  return switched
}

function stop() {
  switched = switched.then(async () => {
    await running?.end()
    running = null
    paint('')
    element('pause').textContent = 'Start'
  })
  return switched
}

function showLive() {
  const now = host.now()
  if (document.hidden) return
  draw(now, frames, inputs)
  const watch = running?.watch ?? inTurnWatch
  const recent = frames.filter(({ time }) => time > Math.max(now - 5000, since)).map(({ time }) => time)
  const { minimum, interval } = frameRates(recent)
  say('rate', minimum === null ? '–' : String(minimum), minimum !== null && minimum < 57)
  say('freeze', interval === null ? '–' : `${Math.round(interval.longest)} ms`, interval?.longest > 100)
  const latency = spread(inputs.filter(({ time }) => time > Math.max(now - 15_000, since)).map(({ ms }) => ms))
  say('latency', latency === null ? '–' : `${figure(latency.p95)} ms`, latency?.p95 > 100)
  if (!watch) return
  const { jobs, progress } = watch
  say('late', jobs.ended > 0 ? percent(jobs.late / jobs.ended) : '–')
  if (sample.progress === progress) {
    const seconds = (now - sample.time) / 1000
    say('blocks', grouped((progress.blocks - sample.blocks) / seconds))
    say('worked', percent((progress.worked - sample.worked) / seconds / 1000))
  }
  sample = { time: now, blocks: progress.blocks, worked: progress.worked, progress }
}

function say(id, text, isBad = false) {
  element(id).textContent = text
  element(id).classList.toggle('bad', isBad)
}

async function runAutomatically() {
  const against = ways.find(({ id }) => id === automatic.elements.against.value)
  return benchmark({ steps: stepsOf([plain, against]), seconds: Number(automatic.elements.seconds.value) })
}

/**
 * Runs subtests one after another, shows the results, and dispatches them as a `benchmark` event on the
 * window.
 *
 * @param {object} options
 * @param {import('./experiment.mjs').Step[]} options.steps
 * @param {number} options.seconds duration of each subtest
 * @param {boolean} [options.typing] whether typing is simulated; default true
 * @returns {Promise<{ seconds: number, isolated: boolean, userAgent: string, date: string,
 *   outcomes: import('./experiment.mjs').Outcome[] }>}
 * @throws AbortError if the user stops the run
 */
export async function benchmark({ steps, seconds, typing = true }) {
  if (inTurn) throw new Error('it is running already')
  const controller = inTurn = new AbortController()
  const { signal } = controller
  element('run').textContent = 'Stop'
  element('download').disabled = true
  setDisabled(true)
  results = {
    seconds,
    isolated: crossOriginIsolated,
    userAgent: navigator.userAgent,
    date: new Date().toISOString(),
    outcomes: []
  }
  showResults()
  try {
    await stop()
    const onStart = ({ way, subtest }, index, watch) => {
      inTurnWatch = watch
      paint(way.id)
      element('progress').value = index / steps.length
    }
    announce(steps[0])
    for await (const outcome of runSteps(world, steps, { seconds, typing, signal, onStart })) {
      results.outcomes.push(outcome)
      showResults()
      announce(steps[results.outcomes.length])
    }
    element('now').textContent = 'Done.'
    element('progress').value = 1
  } catch (error) {
    element('now').textContent = signal.aborted ? 'Stopped.' : `Failed: ${error.message}`
    throw error
  } finally {
    inTurn = null
    inTurnWatch = null
    element('run').textContent = 'Run'
    element('download').disabled = results.outcomes.length === 0
    setDisabled(false)
    paint('')
    element('pause').textContent = 'Start'
  }
  dispatchEvent(new CustomEvent('benchmark', { detail: results }))
  return results
}

/** @param {import('./experiment.mjs').Step | undefined} step next step */
function announce(step) {
  if (step) element('now').textContent = `${step.way.title}: ${subtests[step.subtest].title}`
}

function setDisabled(disabled) {
  for (const control of controls.querySelectorAll('fieldset')) control.disabled = disabled
}

function showResults() {
  const body = element('outcomes')
  body.closest('.scroll').hidden = results.outcomes.length === 0
  body.replaceChildren(...results.outcomes.map((outcome, index) => {
    const row = document.createElement('tr')
    const head = Object.assign(document.createElement('th'), { scope: 'row' })
    const key = Object.assign(document.createElement('span'), { className: 'key', title: outcome.title })
    row.className = outcome.way
    if (outcome.way !== results.outcomes[index - 1]?.way) row.classList.add('first')
    head.append(key, `${subtests[outcome.subtest].title}`)
    row.append(head, ...cellsOf(outcome).map(({ text, isGood }) => {
      const cell = document.createElement('td')
      cell.textContent = text
      if (isGood !== undefined) cell.className = isGood ? 'good' : 'bad'
      return cell
    }))
    return row
  }))
  showFigure()
}

function showFigure() {
  const place = element('figure')
  const outcomes = results?.outcomes ?? []
  place.innerHTML = outcomes.length > 0 ? figureOf(outcomes, place.clientWidth) : ''
}

function download() {
  const blob = new Blob([JSON.stringify(results, null, 2)], { type: 'application/json' })
  const link = Object.assign(document.createElement('a'), {
    href: URL.createObjectURL(blob), download: `macro-${results.date.slice(0, 19).replaceAll(':', '')}.json`
  })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}
