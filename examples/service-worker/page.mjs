// Rewritten modules import the run-time support themselves. Rewritten classic scripts do not: they run plainly until the
// page has imported it.
import '../../addons/preemptify/runtime.mjs'
import { rt } from '../../rt.mjs'
import { Frames, runPlain, runPreempted } from '../preemptify/experiment.mjs'
import { quantile } from '../macro/statistics.mjs'
import { markdown } from './markdown.mjs'
import { controlled } from './register.mjs'

const element = id => document.getElementById(id)
const form = /** @type {HTMLFormElement} */ (element('controls'))
const buttons = [...form.querySelectorAll('button')]
const frames = new Frames()
const packages = {
  marked: '../packages/marked/lib/marked.esm.js',
  hljs: '../packages/@highlightjs/cdn-assets/es/highlight.min.js'
}

/** ms from each key to the next frame, of the present run. @type {number[]} */
let delays = []
/** @type {Record<string, any>} */
let outcomes = {}

const ways = {
  plain: { title: 'Plain', query: '?plain', run: (render, args) => runPlain(render, args) },
  preempted: { title: 'As a job', query: '', run: (render, args) => runPreempted(render, args, { deadline: 60_000 }) }
}

animate()
form.addEventListener('submit', event => {
  event.preventDefault()
  run(event.submitter.value)
})
form.elements.size.addEventListener('change', () => {
  outcomes = {}
  show()
})
form.elements.typed.addEventListener('input', ({ timeStamp }) => {
  requestAnimationFrame(() => delays.push(performance.now() - timeStamp))
})
show()
start()

async function start() {
  try {
    await controlled('sw.mjs?match=/packages/|/work[.]mjs')
    for (const button of buttons) button.disabled = false
    say('Run it both ways, and type.')
  } catch (error) {
    complain(error)
  }
}

/** The libraries: as they were published, or as the service worker rewrites them. @param {string} query */
async function load(query) {
  const paths = [packages.marked, packages.hljs, 'work.mjs']
  const [{ Marked }, { default: hljs }, { render }] =
    await Promise.all(paths.map(path => import(`./${path}${query}`))).catch(error => {
      const advice = 'In a clone, npm --prefix examples/packages install installs the libraries.'
      throw new Error(`${error.message}. ${advice}`, { cause: error })
    })
  return { libraries: { Marked, hljs }, render }
}

async function run(name) {
  const way = ways[name]
  for (const button of buttons) button.disabled = true
  element('problem').hidden = true
  say(`${way.title}: fetching the libraries`)
  try {
    const { libraries, render } = await load(way.query)
    const text = markdown(Number(form.elements.size.value) * 1e6)
    say(`${way.title}: running`)
    element('track').className = name
    delete outcomes[name]
    show()
    // The message must be visible before the page freezes.
    await nextFrame()
    await nextFrame()
    delays = []
    frames.watch(performance.now())
    const outcome = await way.run(render, [libraries, text])
    await nextFrame()
    await nextFrame()
    if (outcome.state !== 'done') throw outcome.error
    outcomes[name] = { ...outcome, ...frames.unwatch(), delay: quantile(delays.sort((a, b) => a - b), 0.95), keys: delays.length }
    preview(outcome.result)
    say(summary())
  } catch (error) {
    complain(error)
  }
  element('track').className = ''
  for (const button of buttons) button.disabled = false
  show()
}

function summary() {
  const { plain, preempted } = outcomes
  if (!plain) return `As a job: at most ${ms(preempted.longest)} without a frame. Now run it plainly.`
  if (!preempted) return `Plain: the page stood still for ${ms(plain.longest)}. Now run it as a job.`
  return `${plain.result === preempted.result ? 'The same' : 'Another'} HTML, and ${ms(preempted.longest)} without a frame ` +
    `instead of ${ms(plain.longest)}.`
}

const ms = time => `${time < 9.95 ? time.toFixed(1) : Math.round(time)}\u00a0ms`

function show() {
  const rows = [
    ['Computing', ({ cost }) => ms(cost)],
    ['Longest freeze', ({ longest }) => ms(longest)],
    ['Frames/s', ({ rate }) => Math.round(rate)],
    ['Key to frame, 95\u00a0%', ({ delay, keys }) => keys ? ms(delay) : '–'],
    ['HTML', ({ result }) => `${(result.length / 1e6).toFixed(2)}\u00a0MB`]
  ]
  element('outcomes').replaceChildren(...rows.map(([title, text]) => {
    const row = document.createElement('tr')
    const head = Object.assign(document.createElement('th'), { scope: 'row', textContent: title })
    const cells = ['plain', 'preempted'].map(name => {
      const cell = document.createElement('td')
      cell.textContent = outcomes[name] ? text(outcomes[name]) : '–'
      cell.classList.toggle('bad', title === 'Longest freeze' && outcomes[name]?.longest > 100)
      return cell
    })
    row.append(head, ...cells)
    return row
  }))
  const { plain, preempted } = outcomes
  if (plain && preempted) {
    element('outcomes').lastChild.lastChild.textContent = plain.result === preempted.result ? '✓ the same' : 'differs'
  }
}

/** The beginning, up to the end of a block. @param {string} html */
function preview(html) {
  element('preview').innerHTML = html.slice(0, html.indexOf('</pre>', 8000) + '</pre>'.length)
  element('result').hidden = false
}

function say(text) {
  element('now').textContent = text
}

function complain(error) {
  element('problem').textContent = `${error.name}: ${error.message}`
  element('problem').hidden = false
  say('It did not run.')
}

// A hidden page gets no frames; the run goes on.
function nextFrame() {
  return new Promise(resolve => {
    requestAnimationFrame(resolve)
    setTimeout(resolve, 100)
  })
}

/** Moved by script, so that it stands still whenever the thread is kept. */
function animate() {
  const box = element('box')
  requestAnimationFrame(function frame() {
    const time = performance.now()
    frames.add(time)
    const range = box.parentElement.clientWidth - box.clientWidth - 8
    box.style.transform = `translateX(${range * (0.5 - 0.5 * Math.cos(time / 600))}px) rotate(${time / 8}deg)`
    requestAnimationFrame(frame)
  })
}

// For scripts that run it from outside.
Object.assign(globalThis, { run, outcomes: () => outcomes, rt })
