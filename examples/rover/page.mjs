import { defaultHost, edf, fp, Scheduler } from '../../rt.mjs'
import { Gantt } from '../gantt.mjs'
import { boardOf } from './board.mjs'
import { chart } from './chart.mjs'
import { patientHost } from './clock.mjs'
import { drive, slice, ways } from './drive.mjs'
import { Intervals } from './intervals.mjs'
import { Field, radius, Vehicle } from './vehicle.mjs'
import { view } from './view.mjs'

const element = id => document.getElementById(id)
const form = /** @type {HTMLFormElement} */ (element('controls'))
const { elements } = form
const canvas = /** @type {HTMLCanvasElement} */ (element('field'))
const policies = { edf, fp }
const host = patientHost(defaultHost(), 35)
const obstacles = [
  { x: 4.6, y: 1.7, radius: 0.4 }, { x: 7.3, y: 5, radius: 0.45 },
  { x: 8, y: 1.9, radius: 0.3 }, { x: 2.8, y: 5.3, radius: 0.35 }
]
const obstacleRadius = 0.35
const paintOf = way => `--${way}`

const field = new Field(10, 7, obstacles)
const seenFromAbove = view(canvas)
const drawChart = chart(/** @type {HTMLCanvasElement} */ (element('intervals')))
const gantt = new Gantt(element('schedule'), { span: 600, limit: 30_000, rowHeight: 22 })
const pressed = { left: false, right: false }

/** @type {Record<string, { intervals: Intervals, hits: number, slowest: number }>} */
let results
/** @type {Vehicle} */
let vehicle
/** @type {import('./board.mjs').Board} */
let board
/** @type {ReturnType<typeof drive> | null} */
let driving = null
/** The distance to the obstacle ahead as the actuation loop knows it, m. */
let seen = Infinity
let isScheduleSeen = false
let sum = 0

applyAddress()
forget()
putBack()
show()
start()
setInterval(showFigures, 500)
requestAnimationFrame(function frame() {
  const now = host.now()
  if (driving) vehicle.advance(now)
  seenFromAbove.draw(vehicle, { now, seen, paint: paintOf(elements.way.value) })
  if (driving && isScheduleSeen) gantt.draw()
  requestAnimationFrame(frame)
})
new IntersectionObserver(([{ isIntersecting }]) => { isScheduleSeen = isIntersecting }).observe(gantt.canvas)

// The address can contain settings: ?way=turns&hogs=4&speed=1.6&policy=fp
function applyAddress() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (elements[name] && 'value' in elements[name]) elements[name].value = value
  }
}

function putBack() {
  field.obstacles = obstacles.map(obstacle => ({ ...obstacle }))
  vehicle = vehicleAt({ x: 2, y: 3.5, heading: 0.1 })
  seenFromAbove.forget()
}

/** @param {{ x: number, y: number, heading: number }} place */
function vehicleAt({ x, y, heading }) {
  return new Vehicle(field, {
    x, y, heading, time: host.now(), speed: Number(elements.speed.value), onHit
  })
}

function onHit() {
  results[elements.way.value].hits++
  seenFromAbove.hit(vehicle, host.now())
  board.bump()
}

function start() {
  const way = elements.way.value
  const { intervals } = results[way]
  const scheduler = new Scheduler({ host, slice, policy: policies[elements.policy.value] })
  vehicle = vehicleAt(vehicle)
  board = boardOf(vehicle, {
    now: host.now,
    bumper: element('bumper'),
    onLine(line, time) {
      seen = Number(line) / 100
      intervals.add(time)
      showIntervals()
    }
  })
  board.steer(pressed)
  intervals.interrupt()
  gantt.clear()
  gantt.follows = true
  // Adds to the schedule directly: the frame loop draws the chart, and only while it is visible.
  scheduler.observe(record => gantt.panels[0].schedule.add(record))
  scheduler.observe(({ type, job }) => {
    if (type !== 'start' || job.name !== 'bumper') return
    results[way].slowest = Math.max(results[way].slowest, job.started - job.release)
  })
  driving = drive(scheduler, { way, board, step: compute })
  driving.hogs(hogs())
  element('start').textContent = 'Pause'
}

function stop() {
  driving?.end()
  driving = null
  element('start').textContent = 'Go on'
}

function restart() {
  if (!driving) return
  stop()
  start()
}

function hogs() {
  return elements.hogging.checked ? Number(elements.hogs.value) : 0
}

function compute() {
  for (let i = 0; i < 200; i++) sum += Math.sqrt(i)
}

// Controls

form.addEventListener('submit', event => {
  event.preventDefault()
  if (driving) stop()
  else start()
})
form.addEventListener('input', ({ target }) => {
  show()
  vehicle.speed = Number(elements.speed.value)
  if (target === elements.policy || target.name === 'way') restart()
  else driving?.hogs(hogs())
})
element('bumper').addEventListener('click', () => board.bump())
element('obstacle').addEventListener('click', putAhead)
element('reset').addEventListener('click', () => {
  putBack()
  restart()
})
element('forget').addEventListener('click', () => {
  forget()
  restart()
  showIntervals()
  showFigures()
})

const keys = { ArrowLeft: 'left', ArrowRight: 'right' }
document.addEventListener('keydown', event => {
  const { key, ctrlKey, metaKey, altKey } = event
  const target = /** @type {Element} */ (event.target)
  if (ctrlKey || metaKey || altKey || target.closest('input, select, #schedule')) return
  if (key in keys) {
    event.preventDefault()
    steer(keys[key], true)
  } else if (key === 'o') putAhead()
  else if (key === 'b') board.bump()
})
document.addEventListener('keyup', ({ key }) => {
  if (key in keys) steer(keys[key], false)
})
addEventListener('blur', () => {
  for (const side of ['left', 'right']) steer(side, false)
})
for (const side of ['left', 'right']) {
  const button = element(side)
  const hold = isHeld => () => steer(side, isHeld)
  button.addEventListener('pointerdown', hold(true))
  for (const type of ['pointerup', 'pointerleave', 'pointercancel', 'blur', 'keyup']) {
    button.addEventListener(type, hold(false))
  }
  button.addEventListener('keydown', ({ key }) => {
    if (key === ' ' || key === 'Enter') steer(side, true)
  })
  button.addEventListener('contextmenu', event => event.preventDefault())
}

function steer(side, isHeld) {
  pressed[side] = isHeld
  element(side).classList.toggle('held', isHeld)
  board.steer(pressed)
}

canvas.addEventListener('click', ({ offsetX, offsetY }) => {
  const { x, y } = seenFromAbove.place(vehicle, offsetX, offsetY)
  const isThere = obstacle => Math.hypot(obstacle.x - x, obstacle.y - y) < obstacle.radius + 0.1
  if (field.obstacles.some(isThere)) field.obstacles = field.obstacles.filter(obstacle => !isThere(obstacle))
  else if (Math.hypot(vehicle.x - x, vehicle.y - y) < radius + 0.1) board.bump()
  else put(x, y)
})

function put(x, y) {
  const isFree = Math.hypot(vehicle.x - x, vehicle.y - y) > radius + obstacleRadius + 0.05
  if (isFree) field.obstacles.push({ x, y, radius: obstacleRadius })
}

function putAhead() {
  const { x, y, heading } = vehicle
  const distance = Math.min(2, field.distance(x, y, heading))
  put(x + distance * Math.cos(heading), y + distance * Math.sin(heading))
}

element('sketch').addEventListener('toggle', async () => {
  const shown = element('source')
  if (shown.textContent === '') shown.textContent = await (await fetch('sketch.mjs')).text()
})

// Stop in the background, because browsers throttle the timers of hidden pages.
let wasDriving = false
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    wasDriving = driving !== null
    stop()
  } else if (wasDriving) start()
})

// Figures

function forget() {
  results = Object.fromEntries(Object.keys(ways).map(way =>
    [way, { intervals: new Intervals(), hits: 0, slowest: -1 }]))
}

function show() {
  elements.hogsShown.value = elements.hogs.value
  elements.speedShown.value = `${Number(elements.speed.value).toFixed(1)} m/s`
  elements.hogs.disabled = !elements.hogging.checked
}

function showIntervals() {
  const now = elements.way.value
  drawChart(Object.entries(results).map(([way, { intervals: { recent } }]) =>
    ({ paint: paintOf(way), recent, isNow: way === now })))
}

function showFigures() {
  // Drawing sets the height of the chart, which must be right before the user scrolls to it.
  if (!isScheduleSeen) gantt.draw()
  const { hits } = results[elements.way.value]
  const ahead = seen < 10 ? `sees ${seen.toFixed(1)} m ahead` : ''
  element('status').textContent = `${hits === 1 ? '1 hit' : `${hits} hits`}${ahead && `, ${ahead}`}`
  for (const [way, { intervals, hits, slowest }] of Object.entries(results)) {
    const { count, min, mean, max, deviation } = intervals
    const cells = /** @type {HTMLTableRowElement} */ (element(way)).cells
    const texts = count ? [count, ...[min, mean, max, deviation].map(figure)] : Array(5).fill('–')
    texts.push(slowest < 0 ? '–' : figure(slowest), count ? hits : '–')
    texts.forEach((text, at) => { cells[at + 1].textContent = String(text) })
    cells[7].classList.toggle('late', hits > 0)
  }
  const bound = driving?.worstDelay
  element('bound').textContent = bound === undefined ? ''
    : ` With reservations it cannot take more than ${bound.toFixed(0)} ms.`
}

function figure(ms) {
  return ms.toFixed(ms >= 10 ? 0 : 1)
}
