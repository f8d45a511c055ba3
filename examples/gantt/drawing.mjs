import { endOf, endedAt, firstFrom, timeOf } from './intervals.mjs'

/**
 * Draws a schedule with a pen, which paints on a canvas or writes SVG. Bars narrower than a few pixels are
 * merged into one bar. The opacity of a merged bar is the covered share of its width, so that a zoomed-out
 * chart keeps its overall look.
 *
 * @typedef {import('./intervals.mjs').Schedule} Schedule
 * @typedef {import('./intervals.mjs').Activation} Activation
 * @typedef {import('./intervals.mjs').Row} Row
 *
 * @typedef {object} Panel a schedule in the drawing; several panels are drawn below each other on one axis
 * @property {Schedule} schedule
 * @property {string} [title]
 * @property {string} [note] a text beside the title
 * @property {boolean} [warns] whether the note reports a missed deadline
 * @property {string} [paint] paint of all rows; by default each row has its own
 * @property {number} [origin] the schedule's time at 0 on the axis; default: the origin of the schedule
 * @property {(a: Row, b: Row) => number} [order] compares rows for sorting; default: the order of appearance
 *
 * @typedef {object} Pen a drawing surface; a paint is a name of `paints` or a CSS colour
 * @property {(x: number, y: number, width: number, height: number, paint: string, opacity?: number) =>
 *   void} box
 * @property {(lines: number[][], paint: string, width?: number) => void} lines each line is [x1, y1, x2, y2]
 * @property {(x: number, y: number, height: number, paint: string) => void} arrowHead the tip is at x, y
 * @property {(text: string, x: number, y: number, paint: string, align?: 'left' | 'center' | 'right',
 *   bold?: boolean) => void} text the text is centred vertically on y
 * @property {(x: number, y: number, width: number, height: number, draw: () => void) => void} within clips
 *   the output of `draw` to a rectangle
 *
 * @typedef {{ panels: Panel[], width: number, rowHeight: number, from: number, span: number,
 *   hasLegend?: boolean, selected?: { panel: Panel, activation: Activation } | null }} Scene `from`: ms on
 *   the axis
 */

/** Colours by scheme. `late` is reserved for missed deadlines. */
export const paints = {
  light: {
    text: '#1d1f23', muted: '#666b73', line: '#dcdad4', background: '#fff',
    late: '#c2185b', warning: '#b07800',
    task0: '#0072b2', task1: '#008060', task2: '#8f5bc0', task3: '#a65a12', task4: '#4b6a88', task5: '#6c7a12'
  },
  dark: {
    text: '#e8e6e1', muted: '#9aa0a8', line: '#3a3f46', background: '#1e2125',
    late: '#ff6b9d', warning: '#f0b429',
    task0: '#57b0ea', task1: '#34c49a', task2: '#bd96ea', task3: '#e0a063', task4: '#93b3d3', task5: '#b6c556'
  }
}
const hues = 6

const axisHeight = 22
const titleHeight = 24
const footHeight = 14
const margin = 8
const legendHeight = 20

/** Returns the rows of a panel in drawing order. @param {Panel} panel */
export function rowsOf({ schedule, order }) {
  return order ? schedule.rows.toSorted(order) : schedule.rows
}

const headOf = panel => panel.title || panel.note ? titleHeight : 4

/** @param {Panel} panel @param {number} rowHeight */
const heightOf = (panel, rowHeight) => headOf(panel) + panel.schedule.rows.length * rowHeight + footHeight

const panelsHeight = ({ panels, rowHeight }) =>
  axisHeight + panels.reduce((sum, panel) => sum + heightOf(panel, rowHeight), 0)

/** @param {Scene} scene */
export function sceneHeight(scene) {
  const items = legendOf(scene)
  return panelsHeight(scene) + margin + (items.length ? (items[items.length - 1].line + 1) * legendHeight : 0)
}

/** Returns the width of the column of names. @param {Pick<Scene, 'panels' | 'width'>} scene */
export function labelWidth({ panels, width }) {
  const names = panels.flatMap(({ schedule }) => schedule.rows.map(({ name }) => name.length))
  const longest = Math.max(4, ...names)
  return Math.round(Math.min(longest * 6.6 + 16, Math.max(64, width * 0.28)))
}

/** Returns the panel's own time at 0 on the axis. @param {Panel} panel */
export function originOf({ schedule, origin = schedule.origin }) {
  return origin < Infinity ? origin : 0
}

/** Returns the time at which the last schedule ends, ms on the axis. @param {Panel[]} panels */
export function endOfPanels(panels) {
  return Math.max(0, ...panels.map(panel => panel.schedule.end - originOf(panel)).filter(Number.isFinite))
}

/**
 * Returns the row and the time at a position of the drawing.
 * @param {Scene} scene @param {number} x @param {number} y
 * @returns {{ panel: Panel, row: Row, time: number, slack: number } | null} `time`: in the panel's own time;
 *   `slack`: the time that two pixels cover
 */
export function placeAt({ panels, width, rowHeight, from, span }, x, y) {
  const left = labelWidth({ panels, width })
  const slack = 2 * span / (width - left)
  let top = axisHeight
  for (const panel of panels) {
    const first = top + headOf(panel)
    const row = rowsOf(panel)[Math.floor((y - first) / rowHeight)]
    if (row && y >= first) {
      return { panel, row, time: originOf(panel) + from + (x - left) / (width - left) * span, slack }
    }
    top += heightOf(panel, rowHeight)
  }
  return null
}

/**
 * Returns the job at a position: the job that executes there, else the job that was released last.
 * @param {ReturnType<typeof placeAt>} place
 * @returns {Activation | null}
 */
export function activationAt(place) {
  if (place === null) return null
  const { row, time, slack } = place
  const run = row.runs[firstFrom(row.runs, time - slack, endOf)]
  if (run && run.from <= time + slack) return run.activation
  /** @type {Activation | null} */
  let best = null
  eachVisible(row, time - slack, time + slack, activation => {
    const { release, ended = Infinity } = activation
    if (release > time + slack || ended < time - slack) return
    if (best === null || release > best.release) best = activation
  })
  return best
}

/**
 * Calls `see` with each activation that can overlap the interval, unfinished ones last.
 * @param {Row} row @param {number} from @param {number} to @param {(activation: Activation) => void} see
 */
function eachVisible({ ended, living, longest, ahead }, from, to, see) {
  for (let i = firstFrom(ended, from - ahead, endedAt); i < ended.length; i++) {
    if (ended[i].ended > to + longest) break
    see(ended[i])
  }
  living.forEach(see)
}

/** Returns the shortest step of 1, 2, 5, 10, ... ms whose labels do not overlap. */
export function tickStep(span, width) {
  const least = span / width * 76
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least)
}

/**
 * Draws the visible part of all panels.
 * @param {Pen} pen
 * @param {Scene} scene
 */
export function draw(pen, scene) {
  const { panels, width, rowHeight, from, span } = scene
  const left = labelWidth(scene)
  const axis = { left, width, from, span, scale: (width - left) / span }
  drawAxis(pen, axis, panelsHeight(scene))
  let top = axisHeight
  for (const panel of panels) {
    drawPanel(pen, axis, panel, top, scene)
    top += heightOf(panel, rowHeight)
  }
  const middle = top + margin + legendHeight / 2
  for (const { sample, text, x, line } of legendOf(scene)) {
    const y = middle + line * legendHeight
    sample(pen, x, y, panels[0].paint ?? 'task0')
    pen.text(text, x + sampleWidth + 6, y, 'muted')
  }
}

const sampleWidth = 16

/** Returns the entries of the legend with their positions. @param {Scene} scene */
function legendOf({ panels, width, rowHeight, hasLegend = false }) {
  if (!hasLegend) return []
  const has = type => panels.some(({ schedule }) => schedule.types.has(type))
  const isLate = panels.some(({ schedule }) => schedule.misses.length > 0)
  const thin = (paint, opacity) => (pen, x, y, hue) => pen.box(x, y - 1, 16, 3, paint ?? hue, opacity)
  const isTall = rowHeight >= 18
  const arrow = isUp => (pen, x, y) => {
    pen.lines([[x + 8, y - 7, x + 8, y + 7]], isUp ? 'text' : 'muted')
    pen.arrowHead(x + 8, isUp ? y - 8 : y + 8, isUp ? 5 : -5, isUp ? 'text' : 'muted')
  }
  const all = [
    [true, 'executes', (pen, x, y, hue) => pen.box(x, y - 5, 16, 10, hue)],
    [true, 'is ready', thin(undefined, 0.3)],
    [has('block'), 'waits for something', thin('muted', 0.8)],
    [has('deplete'), 'depleted', thin('warning', 0.9)],
    [isTall && has('preempt'), 'preempted', (pen, x, y, hue) => {
      pen.box(x, y - 5, 12, 10, hue)
      pen.lines([[x + 12, y - 5, x + 12, y + 5]], 'text', 1.5)
    }],
    [isTall, 'release', arrow(true)],
    [isTall, 'deadline', arrow(false)],
    [!isTall, 'release or deadline', (pen, x, y) => pen.lines([[x + 8, y - 7, x + 8, y + 7]], 'line')],
    [isLate, 'missed', (pen, x, y) => {
      pen.lines([[x + 5, y - 3, x + 11, y + 3], [x + 5, y + 3, x + 11, y - 3]], 'late', 1.75)
    }],
    [isLate, 'past its deadline', (pen, x, y) => pen.box(x, y - 5, 16, 10, 'late')],
    [has('stall'), 'no preemption point', (pen, x, y) => pen.box(x, y - 1, 16, 2, 'warning')],
    [has('overrun') || has('deplete'), 'overrun or depletion', (pen, x, y) => {
      pen.box(x + 6, y - 2, 4, 4, 'warning')
    }],
    [has('round'), 'round: gaps are the page\'s', thin('muted', 0.6)],
    [has('alarm'), 'alarm', (pen, x, y) => pen.box(x + 7, y - 2, 1.2, 4, 'text')]
  ]
  let x = margin
  let line = 0
  return all.filter(([isShown]) => isShown).map(([, text, sample]) => {
    const needed = sampleWidth + 6 + text.length * 6.2 + 14
    if (x + needed > width && x > margin) {
      x = margin
      line++
    }
    const item = { text, sample, x, line }
    x += needed
    return item
  })
}

function drawAxis(pen, { left, width, from, span, scale }, height) {
  const step = tickStep(span, width - left)
  const seconds = step >= 1000
  const digits = Math.max(0, -Math.floor(Math.log10(seconds ? step / 1000 : step) + 1e-9))
  for (let n = Math.ceil(from / step); n * step <= from + span; n++) {
    const x = left + (n * step - from) * scale
    const value = seconds ? n * step / 1000 : n * step
    pen.box(Math.round(x), axisHeight - 4, 1, height - axisHeight, 'line')
    if (x < width - 30) pen.text(`${value.toFixed(digits)} ${seconds ? 's' : 'ms'}`, x, 9, 'muted', 'center')
  }
}

function drawPanel(pen, axis, panel, top, { rowHeight, selected }) {
  const { schedule, title = '', note = '', warns, paint } = panel
  const { left, width, scale } = axis
  if (title) pen.text(title, 6, top + titleHeight / 2, paint ?? 'text', 'left', true)
  const beside = title ? 16 + title.length * 7.2 : 6
  if (note) pen.text(note, beside, top + titleHeight / 2, warns ? 'late' : 'muted')
  const origin = originOf(panel)
  const begin = origin + axis.from
  /** The visible interval in the panel's own time, and the conversion to pixels. */
  const view = {
    begin, end: begin + axis.span, left, right: width, scale, now: schedule.end,
    x: time => left + (time - begin) * scale
  }
  const first = top + headOf(panel)
  const rows = rowsOf(panel)
  const chosen = selected?.panel === panel ? selected.activation : null
  pen.within(left, top, width - left, heightOf(panel, rowHeight), () => {
    if (chosen) drawWindow(pen, view, chosen, first, rows.length * rowHeight)
    rows.forEach((row, i) => {
      const hue = paint ?? `task${schedule.rows.indexOf(row) % hues}`
      drawRow(pen, view, row, first + i * rowHeight, rowHeight, hue, schedule)
    })
    drawFoot(pen, view, schedule, first + rows.length * rowHeight)
    if (chosen) drawChosen(pen, view, panel, chosen, rows, first, rowHeight)
  })
  const most = Math.max(3, Math.floor((left - 14) / 6.2))
  rows.forEach(({ name }, i) => {
    const short = name.length > most ? `${name.slice(0, most - 1)}…` : name
    pen.text(short, left - 8, first + (i + 0.5) * rowHeight, 'muted', 'right')
  })
}

/** Width below which boxes are merged, pixels. */
const narrow = 3

/** Boxes of equal height in one row. Narrow neighbours are merged, see the top of this file. */
class Boxes {
  /**
   * @param {Pen} pen @param {number} y @param {number} height
   * @param {string} paint @param {number} [opacity]
   */
  constructor(pen, y, height, paint, opacity = 1) {
    this.draw = (x, width, share) => pen.box(x, y, width, height, paint, opacity * share)
    // The narrow boxes that are being merged: their interval, and the covered width in it.
    this.begin = NaN
    this.end = NaN
    this.covered = 0
    // The last box, not drawn yet, because the next box can extend it.
    this.from = NaN
    this.to = NaN
    this.share = 0
  }

  /**
   * Adds a box. Boxes must arrive roughly from left to right.
   *
   * @param {number} from @param {number} to pixels
   */
  add(from, to) {
    if (to - from >= narrow) {
      this.#merged()
      this.#put(from, to, 1, 0.2)
    } else if (Math.abs(from - this.begin) < narrow) {
      this.covered += to - from
      if (to > this.end) this.end = to
    } else {
      this.#merged()
      this.begin = from
      this.end = to
      this.covered = to - from
    }
  }

  flush() {
    this.#merged()
    if (this.share > 0) this.draw(this.from, this.to - this.from, this.share)
    this.share = 0
  }

  #merged() {
    if (Number.isNaN(this.begin)) return
    const end = Math.max(this.end, this.begin + 0.75)
    const share = Math.min(1, this.covered / (end - this.begin))
    // Round to a few shades, so that neighbours often have the same one and become one box.
    this.#put(this.begin, end, Math.max(0.4, Math.ceil(share * 5) / 5), 1)
    this.begin = this.end = NaN
  }

  #put(from, to, share, gap) {
    if (share === this.share && from >= this.from && from - this.to < gap) {
      if (to > this.to) this.to = to
      return
    }
    if (this.share > 0) this.draw(this.from, this.to - this.from, this.share)
    this.from = from
    this.to = to
    this.share = share
  }
}

function drawRow(pen, view, row, top, height, hue, schedule) {
  const { x, begin, end, left, right } = view
  const bottom = top + height - 1
  const isTall = height >= 18
  const barTop = top + (isTall ? 5 : 2)
  const barHeight = height - (isTall ? 9 : 4)
  pen.box(left, bottom, right - left, 1, 'line')
  const clipped = time => Math.max(left - 1, Math.min(right + 1, x(time)))

  const pending = new Boxes(pen, bottom - 4, 3, hue, 0.3)
  const late = new Boxes(pen, bottom - 4, 3, 'late', 0.45)
  const [releases, deadlines, misses] = [new Places(view), new Places(view), new Places(view)]
  eachVisible(row, begin, end, ({ release, deadline, ended = view.now, missed }) => {
    if (ended >= begin && release <= end) {
      if (release < deadline) pending.add(clipped(release), clipped(Math.min(ended, deadline)))
      if (ended > deadline && deadline <= end) late.add(clipped(deadline), clipped(ended))
    }
    releases.add(x(release))
    if (deadline < Infinity) deadlines.add(x(deadline))
    if (missed) misses.add(x(deadline))
  })
  pending.flush()
  late.flush()

  drawWaits(pen, view, row, bottom - 4, clipped)
  drawRuns(pen, view, row, barTop, barHeight, hue, clipped, isTall)
  drawStalls(pen, view, schedule, row, barTop, clipped)
  drawArrows(pen, releases, { top, bottom, isTall, paint: 'text', isUp: true })
  drawArrows(pen, deadlines, { top, bottom, isTall, paint: 'muted', isUp: false })
  drawMisses(pen, misses, top, height)
}

function drawWaits(pen, { begin, end }, { waits, longestWait, living }, y, clipped) {
  const boxes = { waits: new Boxes(pen, y, 3, 'muted', 0.8), depleted: new Boxes(pen, y, 3, 'warning', 0.9) }
  for (let i = firstFrom(waits, begin, endOf); i < waits.length; i++) {
    const { from, to, state } = waits[i]
    if (to > end + longestWait) break
    if (from <= end) boxes[state].add(clipped(from), clipped(to))
  }
  boxes.waits.flush()
  boxes.depleted.flush()
  for (const { wait } of living) {
    if (wait !== null && wait.from <= end) boxes[wait.state].add(clipped(wait.from), clipped(Infinity))
  }
  boxes.waits.flush()
  boxes.depleted.flush()
}

/** Minimum width of a run for the notch that marks a preemption, pixels. */
const notchFrom = 6

function drawRuns(pen, { begin, end, x }, { runs }, y, height, hue, clipped, hasNotches) {
  const timely = new Boxes(pen, y, height, hue)
  const late = new Boxes(pen, y, height, 'late')
  const notches = []
  for (let i = firstFrom(runs, begin, endOf); i < runs.length && runs[i].from <= end; i++) {
    const { from, to, how, activation: { deadline } } = runs[i]
    if (from < deadline || from === to) timely.add(clipped(from), clipped(Math.min(to, deadline)))
    if (to > deadline) late.add(clipped(Math.max(from, deadline)), clipped(to))
    if (how === 'preempt' && hasNotches && to <= end && x(to) - x(from) >= notchFrom) notches.push(x(to))
  }
  timely.flush()
  late.flush()
  for (const at of notches) pen.box(at - 0.75, y, 1.5, height, 'text')
}

function drawStalls(pen, { begin, end }, { stalls, marks }, row, y, clipped) {
  const boxes = new Boxes(pen, y - 3, 2, 'warning')
  for (let i = firstFrom(stalls, begin, endOf); i < stalls.length && stalls[i].from <= end; i++) {
    if (stalls[i].activation.row === row) boxes.add(clipped(stalls[i].from), clipped(stalls[i].to))
  }
  boxes.flush()
  const dots = new Boxes(pen, y - 4, 4, 'warning')
  for (let i = firstFrom(marks, begin, timeOf); i < marks.length && marks[i].time <= end; i++) {
    const at = clipped(marks[i].time)
    if (marks[i].activation.row === row) dots.add(at - 2, at + 2)
  }
  dots.flush()
}

/** Positions of marks: only visible ones, at least two pixels apart. */
class Places {
  /** @type {number[]} */
  list = []
  /** Number of visible marks, including the ones that were too close to the previous one. */
  count = 0
  #last = -Infinity

  /** @param {{ left: number, right: number }} view pixels */
  constructor({ left, right }) {
    this.left = left - 4
    this.right = right + 4
  }

  /** Adds a mark. Marks must arrive roughly from left to right. @param {number} x */
  add(x) {
    if (x < this.left || x > this.right) return
    this.count++
    if (Math.abs(x - this.#last) < 2) return
    this.#last = x
    this.list.push(x)
  }

  /** Marks per pixel. */
  get density() {
    return this.count / (this.right - this.left)
  }
}

/**
 * Draws arrows up or down. Dense arrows become strokes; even denser ones are not drawn.
 * @param {Pen} pen @param {Places} places
 */
function drawArrows(pen, places, { top, bottom, isTall, paint, isUp }) {
  if (places.density > 1 / 4) return
  const hasHeads = isTall && places.density <= 1 / 16
  for (const x of places.list) {
    pen.box(x - 0.5, top + 2, 1, bottom - top - 2, isTall ? paint : 'line')
    if (hasHeads) pen.arrowHead(x, isUp ? top + 1 : bottom, isUp ? 5 : -5, paint)
  }
}

/** Draws crosses. Dense crosses become strokes along the top. @param {Pen} pen @param {Places} places */
function drawMisses(pen, places, top, height) {
  if (places.density > 1 / 8) {
    const strokes = new Boxes(pen, top, 4, 'late')
    for (const x of places.list) strokes.add(x - 0.5, x + 0.5)
    strokes.flush()
    return
  }
  const y = top + height / 2
  const lines = places.list.flatMap(x => [[x - 3, y - 3, x + 3, y + 3], [x - 3, y + 3, x + 3, y - 3]])
  if (lines.length) pen.lines(lines, 'late', 1.75)
}

/** Draws the rounds, and the alarms below them. */
function drawFoot(pen, { begin, end, x, left, right }, { rounds, alarms }, top) {
  const boxes = new Boxes(pen, top + 2, 4, 'muted', 0.6)
  for (let i = firstFrom(rounds, begin, endOf); i < rounds.length && rounds[i].from <= end; i++) {
    boxes.add(Math.max(left, x(rounds[i].from)), Math.min(right, x(rounds[i].to)))
  }
  boxes.flush()
  const below = paint => new Boxes(pen, top + 8, 4, paint)
  const marks = { alarm: below('text'), replenish: below('warning') }
  for (let i = firstFrom(alarms, begin, timeOf); i < alarms.length && alarms[i].time <= end; i++) {
    marks[alarms[i].type].add(x(alarms[i].time) - 0.6, x(alarms[i].time) + 0.6)
  }
  marks.alarm.flush()
  marks.replenish.flush()
}

/** Highlights the interval from release to deadline: the jobs that ran in it delayed the selected job. */
function drawWindow(pen, { x, now }, { release, deadline, ended = now, missed }, top, height) {
  const to = Math.min(deadline, Math.max(ended, release))
  const width = Math.max(1, x(to) - x(release))
  pen.box(x(release), top, width, height, missed ? 'late' : 'text', missed ? 0.13 : 0.07)
}

function drawChosen(pen, view, panel, activation, rows, first, rowHeight) {
  const { x, left, right, now } = view
  const { release, deadline, ended = now, missed } = activation
  const top = first + rows.indexOf(activation.row) * rowHeight
  const from = Math.max(left - 2, x(release) - 2)
  const to = Math.min(right + 2, x(Math.max(ended, release)) + 2)
  const bottom = top + rowHeight - 1
  pen.lines([
    [from, top, to, top], [to, top, to, bottom], [to, bottom, from, bottom], [from, bottom, from, top]
  ], 'text', 1)
  if (!missed || rowHeight < 18) return
  const beside = x(deadline) + 6
  for (const { row, ms } of panel.schedule.blame(activation).others.slice(0, 3)) {
    const at = rows.indexOf(row)
    if (at < 0) continue
    const text = `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms here`
    const isRight = beside + text.length * 7.4 < right
    const y = first + (at + 0.5) * rowHeight + 0.5
    const width = text.length * 7.3 + 8
    const start = isRight ? beside - 3 : x(release) - width - 3
    pen.box(start, y - 8, width, 16, 'background', 0.9)
    pen.text(text, start + 4, y, 'late', 'left', true)
  }
}
