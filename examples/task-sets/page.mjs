import { Gantt } from '../gantt.mjs'
import { runSets } from './experiment.mjs'
import { percent, policyNames, summarize } from './report.mjs'
import { panelsOf } from './schedule.mjs'
import { binLabel, loadTaskSets, policies, spread } from './task-sets.mjs'

const element = id => document.getElementById(id)
const form = /** @type {HTMLFormElement} */ (element('controls'))
const runButton = element('run')
const gantt = new Gantt(element('gantt'), {
  rowHeight: 14,
  describe: text => { if (text) element('readout').textContent = text }
})
const animation = animate()

const all = await loadTaskSets()
/** @type {import('./experiment.mjs').Result[]} */
let results = []
/** @type {AbortController | null} */
let running = null
/** The task set whose schedule is shown. @type {import('./task-sets.mjs').TaskSet | undefined} */
let drawn

form.addEventListener('input', update)
form.addEventListener('submit', event => {
  event.preventDefault()
  if (running) running.abort()
  else run()
})
element('logarithmic').addEventListener('change', drawResults)
element('chosen').addEventListener('change', drawSchedule)
for (const button of document.querySelectorAll('[data-view]')) {
  button.addEventListener('click', () => gantt.move(button.dataset.view))
}
new ResizeObserver(drawResults).observe(element('bars'))
applyAddress()
update()
if (new URLSearchParams(location.search).has('run')) form.requestSubmit()

// The address can contain settings: ?sets=5&seconds=2&policy=fcfs&policy=edf&run
function applyAddress() {
  const given = new URLSearchParams(location.search)
  for (const [name, value] of given) {
    const control = form.elements[name]
    if (control instanceof HTMLInputElement) control.value = value
  }
  if (!given.has('policy')) return
  for (const box of form.elements.policy) box.checked = given.getAll('policy').includes(box.value)
}

function settings() {
  const values = new FormData(form)
  const number = name => Number(values.get(name))
  return {
    policies: policies.filter(policy => values.getAll('policy').includes(policy)),
    sets: spread(all, number('sets'), { to: number('utilization') }).reverse(),
    seconds: number('seconds'),
    slice: number('slice'),
    round: number('round'),
    budget: values.get('budget') ? number('budget') : 'auto'
  }
}

function update() {
  const { policies, sets, seconds } = settings()
  form.elements.shown.value = Number(form.elements.utilization.value).toFixed(1)
  element('estimate').textContent = policies.length
    ? `takes about ${Math.ceil(sets.length * policies.length * (seconds + 0.1))} s`
    : 'choose at least one'
  if (!running) runButton.disabled = !policies.length
}

async function run() {
  const { sets, ...options } = settings()
  running = new AbortController()
  runButton.textContent = 'Stop'
  results = []
  drawResults()
  fillChosen()
  animation.restart()
  // Scroll to the ball, because a small screen may not show it.
  element('stage').scrollIntoView({ block: 'nearest', behavior: 'smooth' })
  const { signal } = running
  try {
    for await (const result of runSets(sets, { ...options, watch: Infinity, signal, before: announce })) {
      results.push(result)
      drawResults()
      fillChosen()
    }
    announceEnd(signal.aborted)
  } catch (error) {
    element('now').textContent = `Failed: ${error.message}`
    throw error
  } finally {
    running = null
    runButton.textContent = 'Run'
    animation.color('')
    update()
  }
}

async function announce(set, policy, done, total) {
  const about = `utilization ${set.utilization.toFixed(2)}`
  element('now').textContent = `${capital(policyNames[policy])}, ${about}`
  element('count').textContent = `task set ${set.id}, run ${done + 1} of ${total}`
  element('progress').value = done / total
  animation.color(policy)
  // Show the announcement before plain JavaScript freezes the page.
  await nextFrame()
  await nextFrame()
}

function announceEnd(aborted) {
  element('now').textContent = aborted ? 'Stopped' : 'Done'
  element('count').textContent = `${results.length} runs`
  if (!aborted) element('progress').value = 1
}

// Resolves after at most 100 ms, because a hidden page gets no frames and the run must continue.
function nextFrame() {
  return new Promise(resolve => {
    requestAnimationFrame(resolve)
    setTimeout(resolve, 100)
  })
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1)
}

function fillChosen() {
  const chosen = element('chosen')
  const before = chosen.value
  const sets = [...new Set(results.map(({ set }) => set))]
  chosen.replaceChildren(...sets.map(set =>
    new Option(`set ${set.id}, utilization ${set.utilization.toFixed(2)}`, String(set.id))))
  chosen.disabled = !sets.length
  if (sets.some(({ id }) => String(id) === before)) chosen.value = before
  drawSchedule()
}

function drawSchedule() {
  const shown = results.filter(({ set }) => String(set.id) === element('chosen').value)
  const isOther = shown[0]?.set !== drawn
  drawn = shown[0]?.set
  const span = Math.min(400, gantt.canvas.clientWidth * 0.55)
  gantt.show(panelsOf(shown), isOther ? { from: 0, span } : undefined)
}

function drawResults() {
  const rows = results.length ? summarize(results) : []
  drawBars(rows.filter(({ bin }) => bin !== null))
  fillFigures(rows)
}

/** Draws a bar per bin and policy, with a mark at the miss ratio of the ideal schedule. */
function drawBars(rows) {
  const svg = element('bars')
  const { width, height } = svg.getBoundingClientRect()
  const logarithmic = element('logarithmic').checked
  const left = 44
  const top = 10
  const bottom = height - 34
  // A logarithmic axis has no 0, so all ratios up to 0.01 % lie on its base line.
  const share = ratio => logarithmic ? Math.max(0, (Math.log10(ratio || 1e-4) + 4) / 4) : ratio
  const y = ratio => bottom - share(ratio) * (bottom - top)
  const marks = logarithmic ? [1e-4, 1e-3, 1e-2, 1e-1, 1] : [0, 0.25, 0.5, 0.75, 1]
  const bins = rows.some(({ bin }) => bin === 10) ? 11 : 10
  const binWidth = (width - left - 4) / bins
  const shown = policies.filter(policy => rows.some(({ figures }) => figures[policy]))
  const barWidth = Math.min(22, binWidth * 0.8 / (shown.length || 1))
  const parts = marks.flatMap(mark => [
    shape('line', { x1: left, x2: width, y1: y(mark), y2: y(mark), stroke: 'var(--line)' }),
    label(`${+(mark * 100).toFixed(2)} %`, left - 6, y(mark) + 4, 'end')
  ])
  for (let bin = 0; bin < bins; bin++) {
    const text = binWidth > 52 ? binLabel(bin) : bin === 10 ? '>1' : (bin / 10).toFixed(1).slice(1)
    parts.push(label(text, left + (bin + 0.5) * binWidth, bottom + 15, 'middle'))
  }
  parts.push(label('utilization', left + bins * binWidth / 2, height - 4, 'middle'))
  for (const { bin, figures } of rows) {
    shown.forEach((policy, i) => {
      if (!figures[policy]) return
      const x = left + (bin + 0.5) * binWidth + (i - shown.length / 2) * barWidth
      parts.push(...drawBar(figures[policy], policy, { x, y, bottom, width: barWidth }))
    })
  }
  svg.replaceChildren(...parts)
}

function drawBar({ missRatio, ideal }, policy, { x, y, bottom, width }) {
  const fill = `var(--${policy})`
  const height = Math.max(bottom - y(missRatio), missRatio > 0 ? 1.5 : 0)
  const bar = shape('rect', { x: x + 1, y: bottom - height, width: width - 2, height, fill, rx: 1.5 })
  const title = shape('title', {})
  title.textContent = `${policyNames[policy]}: ${percent(missRatio)} %, ideal ${percent(ideal)} %`
  bar.append(title)
  const zero = label('0', x + width / 2, bottom - 4, 'middle')
  zero.style.fill = fill
  zero.style.fontWeight = '600'
  const mark = shape('rect', { x, y: y(ideal) - 1, width, height: 2, fill: 'var(--text)' })
  return [missRatio > 0 ? bar : zero, ...ideal > 0 ? [mark] : []]
}

function shape(name, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, String(value))
  return node
}

function label(text, x, y, anchor) {
  const node = shape('text', { x, y, 'text-anchor': anchor })
  node.textContent = text
  return node
}

function fillFigures(rows) {
  const shown = policies.filter(policy => rows.some(({ figures }) => figures[policy]))
  const scheduled = shown.filter(policy => policy !== 'fcfs')
  const misses = figures => figures ? `${percent(figures.missRatio)} (${percent(figures.ideal)})` : ''
  const overhead = figures => figures ? percent(figures.overhead.median) : ''
  const head = [
    'utilization', 'sets', 'jobs',
    ...shown.map(policy => `${policyNames[policy]}, % late (ideal)`),
    ...scheduled.map(policy => `${policyNames[policy]}, % overhead`)
  ]
  const cells = rows.map(({ label, sets, jobs, figures }) => [
    label, sets, jobs,
    ...shown.map(policy => misses(figures[policy])),
    ...scheduled.map(policy => overhead(figures[policy]))
  ])
  element('figures').replaceChildren(tableRow('th', head), ...cells.map(row => tableRow('td', row)))
}

function tableRow(kind, cells) {
  const row = document.createElement('tr')
  row.append(...cells.map(text => Object.assign(document.createElement(kind), { textContent: text })))
  return row
}

/** Animates the ball and the frame rate by script, so that they stop whenever the thread is blocked. */
function animate() {
  const strip = element('strip')
  const context = strip.getContext('2d')
  const ball = element('ball')
  const shown = 20_000
  let color = ''
  let last = performance.now()
  let longest = 0
  let second = last
  let frames = 0

  requestAnimationFrame(function frame() {
    // Use the current time: the timestamp of a late frame is the time at which it was due.
    const time = performance.now()
    const gap = time - last
    const range = ball.parentElement.clientWidth - ball.clientWidth - 8
    ball.style.transform = `translateX(${range * (0.5 - 0.5 * Math.cos(time / 600))}px)`
    drawGap(last, time)
    if (gap > longest && color) {
      longest = gap
      element('freeze').textContent = `${Math.round(longest)} ms`
    }
    frames++
    if (time - second >= 500) {
      element('rate').textContent = String(Math.round(frames * 1000 / (time - second)))
      second = time
      frames = 0
    }
    last = time
    requestAnimationFrame(frame)
  })

  // Draws a sweep: full height means 60 frames per second, a gap means a freeze.
  function drawGap(from, to) {
    if (strip.width !== strip.clientWidth) {
      strip.width = strip.clientWidth
      strip.height = strip.clientHeight
    }
    const { width, height } = strip
    const left = Math.floor(from % shown / shown * width)
    const columns = Math.min(width, Math.ceil((to - from) / shown * width) + 1)
    context.fillStyle = getComputedStyle(ball).backgroundColor
    for (let i = 0; i < columns + 12; i++) context.clearRect((left + i) % width, 0, 1, height)
    const bar = Math.min(1, 1000 / 60 / (to - from)) * (height - 6)
    for (let i = 0; i < columns; i++) context.fillRect((left + i) % width, height - bar, 1, bar)
  }

  return {
    color(policy) {
      color = policy
      element('stage').className = policy
    },
    restart() {
      longest = 0
      element('freeze').textContent = '–'
    }
  }
}
