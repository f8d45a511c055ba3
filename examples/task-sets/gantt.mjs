import { policyNames } from './report.mjs'

/**
 * A Gantt chart on a canvas: the schedules of one task set below each other, on one axis.
 *
 * @typedef {import('./experiment.mjs').Result} Result
 */

const rowHeight = 14
const titleHeight = 24
const axisHeight = 22
const roundsHeight = 8
const labelWidth = 76
const shortestView = 5

/**
 * @param {HTMLCanvasElement} canvas
 * @param {(text: string) => void} describe is given a sentence on the job that is pointed at
 */
export function ganttChart(canvas, describe) {
  /** @type {Result[]} */
  let results = []
  let tasks = []
  let end = 1000
  let from = 0
  let span = 400
  let redrawn = 0
  const context = canvas.getContext('2d')
  const pointers = new Map()

  function show(shown) {
    if (shown[0]?.set !== results[0]?.set) {
      from = 0
      span = Math.min(400, width() * 0.6)
    }
    results = shown
    tasks = (results[0]?.set.tasks ?? [])
      .map(([wcet, period], task) => ({ task, label: `${wcet} / ${period}`, wcet, period }))
      .filter(({ wcet }) => wcet > 0)
      .sort((a, b) => a.period - b.period)
    end = Math.max(100, ...results.flatMap(({ outcomes }) => outcomes.map(({ finished }) => finished)))
    redraw()
  }

  const panelHeight = () => titleHeight + tasks.length * rowHeight + roundsHeight
  const width = () => canvas.clientWidth - labelWidth
  const x = time => labelWidth + (time - from) / span * width()

  // Several events of one frame cause one drawing.
  function redraw() {
    cancelAnimationFrame(redrawn)
    redrawn = requestAnimationFrame(draw)
  }

  function draw() {
    const height = results.length ? axisHeight + results.length * panelHeight() + 8 : 120
    const ratio = devicePixelRatio
    canvas.style.height = `${height}px`
    canvas.width = Math.round(canvas.clientWidth * ratio)
    canvas.height = Math.round(height * ratio)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.font = '11px system-ui, sans-serif'
    context.textBaseline = 'middle'
    const color = colors(canvas)
    if (!results.length) return drawEmpty(color, height)
    drawAxis(color, height)
    results.forEach((result, i) => drawPanel(result, axisHeight + i * panelHeight(), color))
  }

  function drawEmpty(color, height) {
    context.fillStyle = color('--muted')
    context.textAlign = 'center'
    context.fillText('No schedule yet', canvas.clientWidth / 2, height / 2)
  }

  function drawAxis(color, height) {
    const step = tickStep(span, width())
    context.textAlign = 'center'
    for (let time = Math.ceil(from / step) * step; time <= from + span; time += step) {
      context.fillStyle = color('--line')
      context.fillRect(Math.round(x(time)), axisHeight - 4, 1, height)
      context.fillStyle = color('--muted')
      if (x(time) < canvas.clientWidth - 30) context.fillText(`${Math.round(time * 10) / 10} ms`, x(time), 9)
    }
  }

  function drawPanel(result, top, color) {
    const { policy, set, outcomes, segments, releases, rounds } = result
    const rows = new Map(tasks.map(({ task }, row) => [task, top + titleHeight + row * rowHeight]))
    drawTitle(result, top, color)
    context.save()
    context.beginPath()
    context.rect(labelWidth, top, width(), panelHeight())
    context.clip()
    drawReleases(set, rows, color('--line'))
    for (const job of outcomes) {
      if (!rows.has(job.task) || job.finished < from || job.release > from + span) continue
      const y = rows.get(job.task) + rowHeight - 5
      bar(job.release, Math.min(job.finished, job.deadline), y, 3, color(`--${policy}`), 0.3)
      if (job.missed) bar(job.deadline, job.finished, y, 3, color('--late'), 0.45)
    }
    for (const { job, from: begin, to } of segments) {
      const { task, deadline } = releases[job]
      if (!rows.has(task) || to < from || begin > from + span) continue
      const y = rows.get(task) + 2
      bar(begin, Math.min(to, deadline), y, rowHeight - 4, color(`--${policy}`), 1)
      bar(Math.max(begin, deadline), to, y, rowHeight - 4, color('--late'), 1)
    }
    for (const { task, deadline, missed } of outcomes) {
      if (missed && rows.has(task)) cross(x(deadline), rows.get(task), color('--late'))
    }
    drawRounds(rounds, top + panelHeight() - roundsHeight, color('--muted'))
    context.restore()
  }

  function drawTitle({ policy, misses, jobs }, top, color) {
    context.textAlign = 'left'
    context.font = '600 12px system-ui, sans-serif'
    context.fillStyle = color(`--${policy}`)
    const name = policyNames[policy]
    context.fillText(name, 6, top + titleHeight / 2)
    const after = 6 + context.measureText(name).width
    context.font = '11px system-ui, sans-serif'
    context.fillStyle = color(misses ? '--late' : '--muted')
    context.fillText(`${misses} of ${jobs} jobs late`, after + 10, top + titleHeight / 2)
    context.fillStyle = color('--muted')
    context.textAlign = 'right'
    tasks.forEach(({ label }, row) => {
      context.fillText(label, labelWidth - 8, top + titleHeight + (row + 0.5) * rowHeight)
    })
  }

  function drawReleases(set, rows, style) {
    context.fillStyle = style
    for (const [task, top] of rows) {
      const [, period] = set.tasks[task]
      context.fillRect(labelWidth, top + rowHeight - 1, width(), 1)
      if (period / span * width() < 3) continue
      for (let time = Math.ceil(from / period) * period; time <= from + span; time += period) {
        context.fillRect(Math.round(x(time)), top + 1, 1, rowHeight - 2)
      }
    }
  }

  function drawRounds(rounds, top, style) {
    for (const round of rounds) {
      if (round.to > from && round.from < from + span) bar(round.from, round.to, top + 1, 4, style, 0.6)
    }
  }

  function bar(begin, to, y, height, style, opacity) {
    if (to <= begin) return
    context.globalAlpha = opacity
    context.fillStyle = style
    const left = Math.max(labelWidth, x(begin))
    context.fillRect(left, y, Math.max(0.75, Math.min(canvas.clientWidth, x(to)) - left), height)
    context.globalAlpha = 1
  }

  function cross(center, top, style) {
    if (center < labelWidth || center > canvas.clientWidth) return
    const middle = top + rowHeight / 2
    context.strokeStyle = style
    context.lineWidth = 1.75
    context.beginPath()
    for (const slope of [1, -1]) {
      context.moveTo(center - 3, middle - 3 * slope)
      context.lineTo(center + 3, middle + 3 * slope)
    }
    context.stroke()
  }

  function view(nextFrom, nextSpan = span) {
    span = Math.max(shortestView, Math.min(end, nextSpan))
    from = Math.max(0, Math.min(end - span, nextFrom))
    redraw()
  }

  function zoom(factor, around = from + span / 2) {
    const nextSpan = Math.max(shortestView, Math.min(end, span * factor))
    view(around - (around - from) * nextSpan / span, nextSpan)
  }

  function timeAt(clientX) {
    const { left } = canvas.getBoundingClientRect()
    return from + (clientX - left - labelWidth) / width() * span
  }

  function pointAt({ clientX, clientY }) {
    const y = clientY - canvas.getBoundingClientRect().top - axisHeight
    const result = results[Math.floor(y / panelHeight())]
    const row = tasks[Math.floor((y % panelHeight() - titleHeight) / rowHeight)]
    const time = timeAt(clientX)
    if (!result || !row || y < 0) return
    const job = result.outcomes.find(({ task, release, finished }) =>
      task === row.task && release <= time && time < finished)
    if (job) describe(sentence(job, policyNames[result.policy]))
  }

  function pointerMoved(event) {
    if (!pointers.has(event.pointerId)) return pointAt(event)
    const before = [...pointers.values()]
    const last = pointers.get(event.pointerId)
    pointers.set(event.pointerId, event.clientX)
    if (before.length === 1) return view(from - (event.clientX - last) / width() * span)
    const after = [...pointers.values()]
    const distance = ([a, b]) => Math.max(20, Math.abs(a - b))
    zoom(distance(before) / distance(after), timeAt((after[0] + after[1]) / 2))
  }

  const moves = {
    earlier: () => view(from - span / 4),
    later: () => view(from + span / 4),
    in: () => zoom(1 / 2),
    out: () => zoom(2),
    all: () => view(0, end),
    first: () => view(0),
    last: () => view(end)
  }
  const keys = {
    ArrowLeft: 'earlier',
    ArrowRight: 'later',
    '+': 'in',
    '=': 'in',
    '-': 'out',
    0: 'all',
    Home: 'first',
    End: 'last'
  }

  canvas.addEventListener('pointerdown', event => {
    pointAt(event)
    pointers.set(event.pointerId, event.clientX)
    canvas.setPointerCapture(event.pointerId)
  })
  canvas.addEventListener('pointermove', pointerMoved)
  for (const type of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(type, event => pointers.delete(event.pointerId))
  }
  canvas.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return
    event.preventDefault()
    moves[keys[event.key]]()
  })
  canvas.addEventListener('wheel', event => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY)
    // A plain wheel scrolls the page; a pinch on a touchpad comes as a wheel with ctrl.
    if (!event.ctrlKey && !sideways) return
    event.preventDefault()
    if (event.ctrlKey) zoom(Math.exp(event.deltaY / 200), timeAt(event.clientX))
    else view(from + event.deltaX / width() * span)
  }, { passive: false })
  new ResizeObserver(redraw).observe(canvas)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)

  return { show, move: name => moves[name]() }
}

function colors(element) {
  const style = getComputedStyle(element)
  const known = new Map()
  return name => known.get(name) ?? known.set(name, style.getPropertyValue(name)).get(name)
}

/** The shortest of 1, 2, 5, 10, ... ms whose labels do not run into each other. */
function tickStep(span, width) {
  const least = span / width * 70
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least)
}

function sentence({ task, wcet, period, release, started, finished, deadline, missed }, policy) {
  const ms = time => `${Math.abs(time).toFixed(1)} ms`
  const distance = ms(finished - deadline)
  const outcome = missed ? `${distance} late` : `${distance} before its deadline`
  return `Task ${task} (${wcet} ms every ${period} ms), ${policy}: released at ${release} ms, ` +
    `started ${ms(Math.max(0, started - release))} later, finished at ${ms(finished)}, ${outcome}.`
}
