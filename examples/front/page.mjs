// The search field of the front page. Keys are measured from the press to the frame that paints the character.
// A worker draws the figures, because this thread draws nothing while the plain search runs.
import { budget, rt } from '../../rt.mjs'
import { highlight } from '../site/highlight.mjs'
import { isLike, lineOf } from './lines.mjs'
import { search as plain } from './search-plain.mjs'
import { search as ours } from './search-rt.mjs'

const element = id => document.getElementById(id)
const field = /** @type {HTMLInputElement} */ (element('field'))
const ways = { plain, ours }
const titles = { plain: 'Plain JavaScript', ours: 'rt.mjs' }

/** Duration of one plain search, ms. A pause of this length is easy to see. */
const SEARCH = 400
/** How long frames are measured after the last key or result, ms. */
const REST = 1500

// --------------------------------------------------------------------------------------- the searched lines

/** Returns the number of lines that a plain search reads in `SEARCH` ms. */
function countLines() {
  const sample = Array.from({ length: 1000 }, (_, n) => lineOf(n))
  // The fastest round counts, because other programs can interrupt the others.
  let fastest = Infinity
  for (let round = 0; round < 15; round++) {
    const start = performance.now()
    for (const line of sample) isLike(line, 'script')
    fastest = Math.min(fastest, performance.now() - start)
  }
  const count = SEARCH / fastest * sample.length
  return Math.min(400_000, Math.max(50_000, Math.round(count / 10_000) * 10_000))
}

/** @type {string[]} */
const lines = []
const isReady = rt.spawn(function* () {
  for (let n = 0, count = countLines(); n < count; n++) {
    lines.push(lineOf(n))
    if (--budget.left <= 0) yield
  }
  element('count').textContent = lines.length.toLocaleString('en')
})

// ------------------------------------------------------------------------------------------------ figures

const canvas = /** @type {HTMLCanvasElement} */ (element('strip'))
const worker = new Worker(new URL('worker.mjs', import.meta.url), { type: 'module' })
const style = getComputedStyle(document.documentElement)
const colors = () => Object.fromEntries(['surface', 'background', 'text', 'muted', 'line', 'plain', 'ours']
  .map(name => [name, style.getPropertyValue(`--${name}`)]))
/** Time in ms since the epoch, which both threads know. */
const now = () => performance.timeOrigin + performance.now()
const resolution = () => ({ width: canvas.clientWidth, height: canvas.clientHeight, ratio: devicePixelRatio })

const off = canvas.transferControlToOffscreen()
worker.postMessage({ canvas: off, titles, colors: colors(), resolution: resolution() }, [off])
new ResizeObserver(() => worker.postMessage({ resolution: resolution() })).observe(canvas)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => worker.postMessage({ colors: colors() }))

let measuresUntil = 0
/** Reports each frame of this thread to the worker until some time after the last key or result. */
function measure() {
  const isMeasuring = performance.now() < measuresUntil
  measuresUntil = performance.now() + REST
  if (isMeasuring) return
  const measured = way
  worker.postMessage({ start: measured })
  requestAnimationFrame(function frame() {
    if (measured !== way) return
    worker.postMessage({ frame: now(), way })
    if (performance.now() < measuresUntil) return requestAnimationFrame(frame)
    measuresUntil = 0
    worker.postMessage({ stop: way })
  })
}

/** The longest time from a key to its frame, ms. @type {Record<string, number>} */
const longest = { plain: 0, ours: 0 }
/** Time of the last key press that has changed nothing yet. @type {number | undefined} */
let pressed

/** Announces a key to the worker, and measures the time to the frame that paints it. */
function key(way, time, isKnown) {
  measure()
  if (!isKnown) worker.postMessage({ key: time, way })
  requestAnimationFrame(() => {
    const delay = now() - time
    longest[way] = Math.max(longest[way], delay)
    worker.postMessage({ painted: time, delay, way })
    summarize()
  })
}

function summarize() {
  const seen = Object.keys(ways).filter(way => longest[way] > 0)
  element('summary').textContent = seen.map(way => `${titles[way]}: a key took up to ${Math.round(longest[way])} ms to appear.`).join(' ')
}

// ------------------------------------------------------------------------------------------------- searches

/** @type {keyof typeof ways} */
let way = 'plain'
let left = new AbortController()

/** @param {string[]} found */
function show(found) {
  element('total').textContent = `${found.length.toLocaleString('en')} of ${lines.length.toLocaleString('en')} lines`
  element('list').textContent = found.slice(0, 4).join('\n')
  measure()
  worker.postMessage({ result: true })
}

/** @param {keyof typeof ways} next */
function choose(next) {
  left.abort()
  left = new AbortController()
  const radio = /** @type {HTMLInputElement} */ (document.querySelector(`[name=way][value=${next}]`))
  radio.checked = true
  way = next
  measuresUntil = 0
  ways[way](field, lines, show, { signal: left.signal })
}

field.addEventListener('keydown', ({ timeStamp }) => { pressed = performance.timeOrigin + timeStamp })
// This listener comes before the searches, so the worker knows of the key before a plain search blocks the page.
field.addEventListener('input', event => {
  const isTyped = event instanceof CustomEvent
  const time = isTyped ? event.detail : pressed ?? performance.timeOrigin + event.timeStamp
  pressed = undefined
  key(way, time, isTyped)
})
for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('[name=way]'))) {
  radio.addEventListener('change', () => {
    choose(/** @type {any} */ (radio.value))
    field.focus()
  })
}
choose('plain')

// --------------------------------------------------------------------------------------- typing for visitors

// The worker types, because its clock runs while this thread is blocked.
worker.addEventListener('message', ({ data: { typed, choose: next } }) => {
  if (next !== undefined) {
    field.value = ''
    choose(next)
  } else {
    field.value += typed.char
    field.dispatchEvent(new CustomEvent('input', { detail: typed.time }))
  }
})
let isTyping = false
async function type() {
  clearTimeout(typing)
  isTyping = true
  await isReady
  if (!isTyping) return
  longest.plain = longest.ours = 0
  worker.postMessage({ type: 'script' })
}
element('type').onclick = type
const typing = matchMedia('(prefers-reduced-motion: reduce)').matches ? undefined : setTimeout(type, 700)
function cancel() {
  clearTimeout(typing)
  isTyping = false
  worker.postMessage({ type: '' })
}
for (const name of ['keydown', 'pointerdown', 'wheel', 'touchstart']) addEventListener(name, cancel, { passive: true })

// ----------------------------------------------------------------------------------------------------- code

for (const code of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('code[data-file]'))) {
  const file = code.dataset.file ?? ''
  fetch(new URL(file, import.meta.url)).then(response => response.text()).then(text => {
    const shown = text.replace('../../rt.mjs', 'rt.mjs').replace('../../alarms.mjs', 'rt.mjs/alarms').replace('export ', '')
    code.innerHTML = highlight(shown.trim(), file)
  })
}
for (const code of document.querySelectorAll('code[data-language]')) {
  code.innerHTML = highlight(code.textContent ?? '', /** @type {HTMLElement} */ (code).dataset.language)
}
