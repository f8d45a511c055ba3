import { preemptify } from '../../addons/preemptify.mjs'
import { rt } from '../../rt.mjs'
import { Frames, runPlain, runPreempted } from './experiment.mjs'
import { ready } from './functions.mjs'
import { marks } from './marks.mjs'
import { caller, moduleIn, readyModules, textOf } from './modules.mjs'
import { argumentsOf, explain, read, rewrite } from './pasted.mjs'
import { strip } from './strip.mjs'
import { same, show } from './values.mjs'

const element = id => document.getElementById(id)
const form = /** @type {HTMLFormElement} */ (element('controls'))
const { elements } = form
const draw = strip(element('strip'))
const frames = new Frames()

/** Maximum number of characters of a rewritten module that are shown. */
const mostShown = 50_000

/**
 * Maximum time without a frame that counts as a hiccup, ms. A longer freeze means code without preemption
 * points.
 */
const LONGEST_FREEZE = 250

/**
 * Intervals in which a way had the thread, sorted by time.
 *
 * @type {{ from: number, to: number, color: string }[]}
 */
const spans = []
/** The outcome of each way with the current text. @type {Record<string, any>} */
let outcomes = {}
/** @type {import('./pasted.mjs').Pasted | null} */
let pasted = null
/**
 * The module, if the text is a module or the address of one.
 *
 * @type {{ url?: string, text?: string } | null}
 */
let module = null
/** @type {import('./pasted.mjs').Rewritten | null} */
let rewritten = null
/** @type {{ name: string, signal: AbortSignal, abort(): void } | null} */
let running = null
/** Whether the text has changed since it was read. */
let isTyped = false
let typing

const ways = {
  plain: {
    title: 'Plain',
    label: 'Run plainly',
    button: element('run-plain'),
    color: '--plain',
    prepare: () => module && caller(module, elements.args.value, url => import(url)),
    run: (fn, args, signal) => runPlain(fn ?? pasted.fn, args, { signal })
  },
  preempted: {
    title: 'Preempted',
    label: 'Run preempted',
    button: element('run-preempted'),
    color: '--preempted',
    prepare: () => module && caller(module, elements.args.value, url => preemptify.import(url)),
    run(fn, args, signal) {
      return runPreempted(fn ?? rewritten.work, args, { deadline: Number(elements.deadline.value), signal })
    }
  }
}

const choices = [...ready, ...readyModules]
elements.ready.append(...choices.map(({ id, title }) => new Option(title, id)), new Option('Your own', 'own'))
applyAddress()
choose()
animate()
rt.observe(({ type, start, time }) => {
  if (type === 'round' && running) mark(start, time, ways.preempted.color)
})

elements.ready.addEventListener('change', choose)
elements.text.addEventListener('input', () => {
  elements.ready.value = 'own'
  isTyped = true
  clearTimeout(typing)
  typing = setTimeout(update, 400)
})
// Enter would press the first button and freeze the page. In the text area, running takes Ctrl or Cmd with
// Enter.
form.addEventListener('keydown', event => {
  const { key, target, ctrlKey, metaKey } = event
  if (key !== 'Enter' || !target.matches('input, textarea')) return
  if (target === elements.text && !ctrlKey && !metaKey) return
  event.preventDefault()
  if (!ways.preempted.button.disabled) form.requestSubmit(ways.preempted.button)
})
elements.args.addEventListener('input', forget)
for (const name of ['budgeted', 'strict']) elements[name].addEventListener('change', update)
form.addEventListener('submit', event => {
  event.preventDefault()
  if (running) return running.abort()
  if (isTyped) update()
  if (pasted || module) run(event.submitter?.value ?? 'preempted')
})
element('wrap').addEventListener('change', ({ target }) => {
  element('rewritten').classList.toggle('wrapped', target.checked)
})

// The address can name the function to start with: ?function=fib
function applyAddress() {
  const given = new URLSearchParams(location.search)
  if (choices.some(({ id }) => id === given.get('function'))) elements.ready.value = given.get('function')
}

function chosen() {
  return choices.find(({ id }) => id === elements.ready.value)
}

function choose() {
  const { text, args } = chosen() ?? { text: '', args: '' }
  elements.text.value = text
  elements.args.value = args
  update()
  if (text === '') elements.text.focus()
}

function update() {
  clearTimeout(typing)
  isTyped = false
  pasted = rewritten = null
  forget()
  const text = elements.text.value
  module = moduleIn(text)
  element('called').textContent = module ? 'Call' : 'Arguments'
  for (const name of ['budgeted', 'strict']) elements[name].closest('label').hidden = module !== null
  complain('')
  if (module) {
    showModule(module)
    return enable()
  }
  if (text.trim() !== '') {
    try {
      pasted = read(text, { strict: elements.strict.checked })
      rewritten = rewrite(pasted, { budgeted: elements.budgeted.checked })
    } catch (error) {
      pasted = null
      complain(explain(error))
    }
  }
  showRewritten()
  enable()
}

function complain(message) {
  element('problem').textContent = message
  element('problem').hidden = message === ''
}

function enable() {
  const isEndless = chosen()?.isEndless === true
  for (const [name, { button }] of Object.entries(ways)) {
    button.textContent = running?.name === name ? 'Stop' : ways[name].label
    button.disabled = running ? running.name !== name : !(pasted || module) || (name === 'plain' && isEndless)
  }
  for (const name of ['ready', 'budgeted', 'strict']) elements[name].disabled = running !== null
  // Inputs become read-only instead of disabled, so that they keep the focus.
  for (const name of ['text', 'args']) elements[name].readOnly = running !== null
  element('caution').hidden = !isEndless
}

function forget() {
  outcomes = {}
  showOutcomes()
  say('Run it both ways, and watch the box.')
}

async function run(name) {
  const way = ways[name]
  let args = []
  let fn
  try {
    if (module) say('Loading the module')
    fn = await way.prepare()
    if (!module) args = argumentsOf(pasted, elements.args.value)
  } catch (error) {
    if (module) say('It was not run.')
    return complain(`${module ? 'The module or the call' : 'The arguments'}: ${explain(error)}`)
  }
  complain('')
  const controller = new AbortController()
  const { signal } = controller
  running = { name, signal, abort: () => controller.abort() }
  delete outcomes[name]
  showOutcomes()
  enable()
  say(`${way.title}: running`)
  element('track').className = name
  element('stage').scrollIntoView({ block: 'nearest', behavior: 'instant' })
  // Show the status before the function freezes the page.
  await nextFrame()
  await nextFrame()

  const began = performance.now()
  frames.watch(began)
  const outcome = await way.run(fn, args, signal)
  // The execution times of an async function are unknown, so only a synchronous run is drawn.
  if (name === 'plain' && outcome.cost !== undefined) mark(began, performance.now(), way.color)
  await nextFrame()
  await nextFrame()
  outcomes[name] = { ...outcome, ...frames.unwatch() }
  running = null
  element('track').className = ''
  enable()
  showOutcomes()
  say(summary())
}

function mark(from, to, color) {
  const last = spans[spans.length - 1]
  // Adjacent rounds are drawn as one.
  if (last?.color === color && from - last.to < 0.5) last.to = to
  else spans.push({ from, to, color })
  if (spans.length > 2000) spans.splice(0, 1000)
}

// Resolves after at most 100 ms, because a hidden page gets no frames and the run must continue.
function nextFrame() {
  return new Promise(resolve => {
    requestAnimationFrame(resolve)
    setTimeout(resolve, 100)
  })
}

function say(text) {
  element('now').textContent = text
}

/** Whether both ways had the same outcome; undefined until both have finished. */
function isSame() {
  const { plain, preempted } = outcomes
  if (!plain || !preempted || plain.state === 'cancelled' || preempted.state === 'cancelled') return undefined
  return same([plain.state, plain.result, plain.error], [preempted.state, preempted.result, preempted.error])
}

function summary() {
  const { plain, preempted } = outcomes
  const equal = isSame()
  if (equal !== undefined) {
    const what = `${equal ? 'The same' : 'Another'} ${preempted.state === 'done' ? 'result' : 'error'}`
    const cost = ratio() && `, ${ratio()} the computing`
    return stood(preempted) ? `${what}${cost}${stood(preempted)}.`
      : `${what}${cost}, and ${ms(preempted.longest)} without a frame instead of ${ms(plain.longest)}.`
  }
  if (preempted?.state === 'cancelled') return `Stopped${stood(preempted) || ', and the page was there all the time'}.`
  if (plain?.state === 'cancelled') return 'No longer waiting for its promise; it cannot be stopped.'
  if (preempted && stood(preempted)) return `Preempted${stood(preempted)}. Now run it plainly.`
  if (preempted) return `Preempted: at most ${ms(preempted.longest)} without a frame. Now run it plainly.`
  return `Plain: the page stood still for ${ms(plain.longest)}. Now run it preempted.`
}

/** Returns the explanation of a run that froze the page, or ''. */
function stood({ longest }) {
  return longest <= LONGEST_FREEZE ? ''
    : `, but the page stood still for ${ms(longest)}: something in it runs that long without a point, such as a sort ` +
      'with a comparator, a callback or a regular expression'
}

const ms = time => `${time < 9.95 ? time.toFixed(1) : Math.round(time)}\u00a0ms`

function showOutcomes() {
  const { plain, preempted } = outcomes
  const equal = isSame()
  const result = outcome => outcome.state === 'done' ? show(outcome.result, 80)
    : outcome.state === 'cancelled' ? 'stopped' : explain(outcome.error)
  const late = ({ state, lateness }) => lateness === undefined || state === 'cancelled' ? '–'
    : lateness > 0 ? `${ms(lateness)} late` : `${ms(-lateness)} early`
  const rows = [
    ['Computing', ({ cost }) => cost === undefined ? '–' : ms(cost)],
    ['Start to end', ({ elapsed }) => ms(elapsed)],
    ['Longest freeze', ({ longest }) => ms(longest)],
    ['Frames/s', ({ rate }) => Number.isFinite(rate) ? String(Math.round(rate)) : '–'],
    ['Deadline', late],
    ['Result', result]
  ]
  element('outcomes').replaceChildren(...rows.map(([title, text]) => {
    const row = document.createElement('tr')
    const head = Object.assign(document.createElement('th'), { scope: 'row', textContent: title })
    const cells = [plain, preempted].map(outcome => {
      const cell = document.createElement('td')
      cell.textContent = outcome ? text(outcome) : '–'
      if (title.startsWith('Longest')) cell.classList.toggle('bad', outcome?.longest > 100)
      return cell
    })
    if (title === 'Computing' && equal !== undefined) cells[1].append(' ', small(ratio()))
    if (title === 'Result') {
      row.className = 'result'
      if (equal) cells[1].textContent = '✓ the same'
      cells[1].classList.toggle('bad', equal === false)
    }
    row.append(head, ...cells)
    return row
  }))
}

/**
 * Returns the cost of preemptibility as a ratio, or '' for a short call, whose time is not meaningful.
 * No-break spaces keep a number and its unit together.
 */
function ratio() {
  const { plain, preempted } = outcomes
  return plain.cost >= 5 ? `${(preempted.cost / plain.cost).toFixed(1)}\u00a0×` : ''
}

const small = text => Object.assign(document.createElement('small'), { textContent: text })

function showRewritten() {
  const count = { point: 0, call: 0 }
  const parts = (rewritten?.texts ?? []).map(({ name, before, after }) => {
    const pre = document.createElement('pre')
    pre.tabIndex = 0
    pre.setAttribute('aria-label', `${name || 'the function'}, rewritten`)
    pre.append(...marks(before, after).map(({ text, kind }) => {
      if (kind === '') return text
      if (/\byield\b/.test(text)) count[kind]++
      return Object.assign(document.createElement('ins'), { className: kind, textContent: text })
    }))
    if (rewritten.texts.length === 1) return pre
    const section = document.createElement('div')
    section.append(Object.assign(document.createElement('h3'), { textContent: name }), pre)
    return section
  })
  const left = (rewritten?.left ?? []).map(({ name, reason }) => {
    return paragraph(`${name} stays unchanged. ${reason}`)
  })
  element('rewritten').replaceChildren(...parts, ...left)
  element('points').textContent = String(count.point)
  element('calls').textContent = String(count.call)
  element('legend').hidden = !rewritten
}

/**
 * Shows the rewritten text of a module, and its non-preemptible parts.
 *
 * @param {{ url?: string, text?: string }} shown
 */
async function showModule(shown) {
  element('legend').hidden = true
  element('rewritten').replaceChildren(paragraph('Reading the module.'))
  try {
    const text = await textOf(shown)
    if (module !== shown) return
    const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
    const began = performance.now()
    const after = preemptify.source(text, { runtime })
    const elapsed = performance.now() - began
    const size = `${(text.length / 1000).toFixed(1)}\u00a0kB in ${ms(elapsed)}, ${(after.length / text.length).toFixed(1)} times as long.`
    const pre = document.createElement('pre')
    pre.tabIndex = 0
    pre.setAttribute('aria-label', 'the module, rewritten')
    pre.textContent = after.length > mostShown ? `${after.slice(0, mostShown)}\n…` : after
    element('rewritten').replaceChildren(paragraph(`Rewritten: ${size}`), ...reported(text), pre)
  } catch (error) {
    if (module !== shown) return
    element('rewritten').replaceChildren()
    complain(explain(error))
  }
}

/** @param {string} text the text of a module */
function reported(text) {
  const all = preemptify.report(text).filter(({ claims }) => claims === undefined)
  if (all.length === 0) return [paragraph('All of it can be preempted.')]
  const list = document.createElement('ul')
  list.className = 'note'
  list.append(...all.slice(0, 12).map(({ name, line, column, reason }) => Object.assign(document.createElement('li'), {
    textContent: `${name ? `${name}, line` : 'Line'} ${line}:${column}: ${reason}`
  })))
  const more = all.length > 12 ? [paragraph(`And ${all.length - 12} more.`)] : []
  return [paragraph('In one piece, as a job too:'), list, ...more]
}

function paragraph(textContent) {
  return Object.assign(document.createElement('p'), { className: 'note', textContent })
}

/** Animates the box and the meters by script, so that they stop whenever the thread is blocked. */
function animate() {
  const box = element('box')
  let second = 0
  /** Time at which drawing stops. Drawing continues briefly after a run, to show its end. */
  let until = 0
  requestAnimationFrame(function frame() {
    // Use the current time: the timestamp of a late frame is the time at which it was due.
    const time = performance.now()
    frames.add(time)
    const range = box.parentElement.clientWidth - box.clientWidth - 8
    box.style.transform = `translateX(${range * (0.5 - 0.5 * Math.cos(time / 600))}px) rotate(${time / 8}deg)`
    if (running || until === 0) until = time + 150
    if (time < until) draw(time, frames.times, spans)
    if (time - second >= 500) {
      element('rate').textContent = String(frames.rate(time))
      second = time
    }
    requestAnimationFrame(frame)
  })
}
