import {
  activationAt, draw, endOfPanels, labelWidth, originOf, paints, placeAt, rowsOf, sceneHeight
} from './gantt/drawing.mjs'
import { Schedule, scheduleOf } from './gantt/intervals.mjs'
import { canvasPen } from './gantt/pens.mjs'
import { svgOf, toSVG } from './gantt/picture.mjs'
import { Surroundings } from './gantt/surroundings.mjs'
import { accusation, story, summary } from './gantt/words.mjs'

/**
 * Draws the schedule of a scheduler as a Gantt chart: executions, releases, deadlines and misses. The chart
 * is a canvas that the user moves and zooms by mouse, finger and keyboard, or an SVG. For a missed deadline,
 * it names the jobs that ran instead.
 *
 *   const gantt = new Gantt(document.getElementById('schedule'))
 *   const stop = gantt.observe(scheduler)
 *
 * The colours are the ones of `paints`. Custom properties of the page with the same names (--text, --late,
 * ...) override them.
 *
 * @typedef {import('./gantt/drawing.mjs').Panel} Panel
 * @typedef {import('./gantt/intervals.mjs').Activation} Activation
 * @typedef {import('./gantt/intervals.mjs').TraceRecord} TraceRecord
 * @typedef {{ panel: Panel, activation: Activation }} Choice
 *
 * @typedef {object} GanttOptions
 * @property {(text: string, activation: Activation | null) => void} [describe] called with a text about the
 *   job that is hovered or selected; by default a chart with its own container shows the text itself
 * @property {number} [span] initially visible time, ms; default 1000
 * @property {number} [limit] approximate number of records to keep; default 200 000
 * @property {number} [interval] minimum time between drawings while records arrive, ms; default 50
 * @property {number} [rowHeight] CSS pixels; below 18, releases and deadlines are plain strokes; default 24
 * @property {boolean} [hasLegend] default: true, but false if the element is a canvas
 */

export { Schedule, accusation, scheduleOf, story, summary, toSVG }

/** Minimum visible time, ms. */
const shortestSpan = 0.05

/** Keyboard shortcuts: the name of the move for each key. */
const keys = {
  ArrowLeft: 'earlier', ArrowRight: 'later', Home: 'first', End: 'last',
  '+': 'in', '=': 'in', '-': 'out', 0: 'all', f: 'follow',
  ArrowUp: 'rowAbove', ArrowDown: 'rowBelow', ',': 'jobBefore', '.': 'jobAfter',
  m: 'nextMiss', M: 'missBefore', Escape: 'nothing'
}

export class Gantt {
  /** @type {Panel[]} */
  panels = []
  /** @type {HTMLCanvasElement} */
  canvas
  #from = 0
  #span
  #follows = true
  /** @type {Choice | null} */
  #chosen = null
  /** @type {Choice | null} */
  #pointed = null
  #options
  #window
  #context
  /** The next drawing: a requested animation frame, or the timer that requests one. */
  #frame = 0
  #timer = 0
  #drawn = -Infinity
  /** Pressed pointers, by id. @type {Map<number, { x: number, y: number, moved: boolean }>} */
  #pointers = new Map()
  #ending = new AbortController()
  /** @type {Surroundings | null} */
  #surroundings = null
  #telling = 0

  /**
   * @param {HTMLElement} element a canvas, or a container to fill with a canvas, buttons, a text and a table
   * @param {GanttOptions} [options]
   */
  constructor(element, options = {}) {
    const isCanvas = element.localName === 'canvas'
    this.#window = /** @type {any} */ (element.ownerDocument.defaultView)
    const usual = { span: 1000, limit: 200_000, rowHeight: 24, interval: 50, hasLegend: !isCanvas }
    this.#options = { ...usual, ...options }
    this.#span = this.#options.span
    if (!isCanvas) {
      const does = { move: name => this.move(name), choose: activation => this.choose(activation) }
      this.#surroundings = new Surroundings(element, does)
    }
    this.canvas = this.#surroundings?.canvas ?? /** @type {HTMLCanvasElement} */ (element)
    this.#context = this.canvas.getContext('2d')
    this.clear()
    this.#listen()
  }

  /**
   * Shows the records of a scheduler from now on, or the records of each worker of `Workers`.
   * @param {{ observe(fn: (record: any) => void): () => void, size?: number }} scheduler
   * @returns {() => void} stops observing
   */
  observe(scheduler) {
    if (scheduler.size !== undefined) this.clear(scheduler.size)
    return scheduler.observe(record => this.add(record))
  }

  /** Adds a record to the schedule of its worker, or to the first schedule. @param {TraceRecord} record */
  add(record) {
    this.panels[record.worker ?? 0].schedule.add(record)
    if (this.#frame !== 0 || this.#timer !== 0) return
    // Drawing takes time from the schedule that is drawn, so limit its rate.
    const rest = this.#drawn + this.#options.interval - this.#window.performance.now()
    if (rest <= 0) return this.redraw()
    this.#timer = this.#window.setTimeout(() => {
      this.#timer = 0
      this.redraw()
    }, rest)
  }

  /**
   * Removes all records and starts with empty schedules.
   * @param {number} [workers] number of workers, each with its own schedule; default: one schedule without a
   *   title
   */
  clear(workers = 0) {
    const { limit } = this.#options
    const panels = Array.from({ length: workers || 1 }, (_, index) => ({
      schedule: new Schedule({ limit }),
      title: workers ? `worker ${index + 1}` : '',
      get origin() { return Math.min(...panels.map(({ schedule }) => schedule.origin)) }
    }))
    this.show(panels)
  }

  /**
   * Shows other schedules.
   * @param {Panel[]} panels a panel per schedule
   * @param {{ from: number, span: number }} [view] ms; default: the current view
   */
  show(panels, view) {
    this.panels = panels
    this.#chosen = this.#pointed = null
    if (view) this.view = view
    this.#surroundings?.update(panels, this.#follows)
    this.redraw()
  }

  /** The visible interval, ms on the axis. Setting it stops following. */
  get view() {
    return { from: this.#from, span: this.#span }
  }

  set view({ from, span }) {
    this.#follows = false
    this.#look(from, span)
  }

  /** Whether the view moves along with new records. */
  get follows() {
    return this.#follows
  }

  set follows(value) {
    this.#follows = value
    this.redraw()
  }

  /** The selected job, or null. */
  get chosen() {
    return this.#chosen?.activation ?? null
  }

  /**
   * Selects a job, describes it, and moves it into view.
   * @param {Activation | null} activation
   */
  choose(activation) {
    const panel = activation && this.panels.find(({ schedule }) => schedule.rows.includes(activation.row))
    this.#chosen = panel ? { panel, activation } : null
    this.#describe(this.#chosen)
    if (this.#chosen) this.#reveal(this.#chosen)
    this.redraw()
  }

  /**
   * Performs the action of a key or a button.
   * @param {'earlier' | 'later' | 'in' | 'out' | 'all' | 'first' | 'last' | 'follow' | 'rowAbove' |
   *   'rowBelow' | 'jobBefore' | 'jobAfter' | 'nextMiss' | 'missBefore' | 'nothing'} name
   */
  move(name) {
    moves[name](this)
  }

  /**
   * Zooms the view.
   * @param {number} factor factor of the visible time; below 1 zooms in
   * @param {number} [around] ms on the axis, the time that keeps its position; default: the middle of the
   *   view
   */
  zoom(factor, around = this.#from + this.#span / 2) {
    const span = this.#clippedSpan(this.#span * factor)
    const from = around - (around - this.#from) * span / this.#span
    // Zooming does not stop following.
    if (this.#follows) this.#look(from, span)
    else this.view = { from, span }
  }

  /** Draws at the next frame. Several calls before the frame draw once. */
  redraw() {
    if (this.#frame === 0) this.#frame = this.#window.requestAnimationFrame(() => this.draw())
  }

  /** Draws immediately. */
  draw() {
    this.#window.cancelAnimationFrame(this.#frame)
    this.#frame = 0
    this.#drawn = this.#window.performance.now()
    const { canvas } = this
    const context = this.#context
    const width = canvas.clientWidth
    if (!width || context === null) return
    if (this.#follows) this.#from = Math.max(0, endOfPanels(this.panels) - this.#span)
    const scene = this.#scene(width)
    const height = this.panels.some(({ schedule }) => schedule.rows.length > 0) ? sceneHeight(scene) : 120
    const ratio = this.#window.devicePixelRatio
    const size = [Math.round(width * ratio), Math.round(height * ratio)]
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
      canvas.style.height = `${height}px`
      ;[canvas.width, canvas.height] = size
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, height)
    const pen = canvasPen(context, this.#colors())
    if (height === 120) pen.text('No schedule yet', width / 2, height / 2, 'muted', 'center')
    else draw(pen, scene)
    this.#tell()
  }

  /**
   * Returns the current view as a standalone SVG.
   * @param {{ width?: number, title?: string, scheme?: 'light' | 'dark' | 'auto' }} [options]
   */
  toSVG({ width = 960, title = 'Schedule', scheme = 'auto' } = {}) {
    const colorOf = this.#colors()
    const panels = this.panels.map(panel => panel.paint?.startsWith('--')
      ? { ...panel, paint: colorOf(panel.paint) }
      : panel)
    const chosen = this.#chosen
    const selected = chosen && { ...chosen, panel: panels[this.panels.indexOf(chosen.panel)] }
    return svgOf({ ...this.#scene(width), panels, selected, hasLegend: true }, title, scheme)
  }

  /** Removes the listeners, and the elements that the chart added to its container. */
  destroy() {
    this.#ending.abort()
    this.#window.cancelAnimationFrame(this.#frame)
    this.#window.clearTimeout(this.#timer)
    this.#window.clearTimeout(this.#telling)
    this.#surroundings?.remove()
  }

  /** @param {number} width @returns {import('./gantt/drawing.mjs').Scene} */
  #scene(width) {
    const { rowHeight, hasLegend } = this.#options
    const selected = this.#pointed ?? this.#chosen
    return { panels: this.panels, width, rowHeight, hasLegend, from: this.#from, span: this.#span, selected }
  }

  #colors() {
    const style = this.#window.getComputedStyle(this.canvas)
    const isDark = this.#window.matchMedia('(prefers-color-scheme: dark)').matches
    const known = new Map()
    const find = paint => {
      if (paint.startsWith('--')) return style.getPropertyValue(paint).trim()
      const own = paints[isDark ? 'dark' : 'light'][paint]
      return own === undefined ? paint : style.getPropertyValue(`--${paint}`).trim() || own
    }
    return paint => known.get(paint) ?? known.set(paint, find(paint)).get(paint)
  }

  /** @param {number} span */
  #clippedSpan(span) {
    const longest = Math.max(endOfPanels(this.panels), this.#options.span) * 1.05
    return Math.max(shortestSpan, Math.min(longest, span))
  }

  /** @param {number} from @param {number} span */
  #look(from, span) {
    this.#span = this.#clippedSpan(span)
    const last = Math.max(0, endOfPanels(this.panels) - this.#span * 0.9)
    this.#from = Math.max(-this.#span * 0.1, Math.min(last, from))
    this.redraw()
  }

  /** @param {Choice} choice */
  #reveal({ panel, activation: { release, deadline, ended = release } }) {
    const begin = release - originOf(panel)
    const end = Math.max(ended, deadline < Infinity ? deadline : ended) - originOf(panel)
    const length = Math.max(0.2, end - begin)
    const isSeen = begin >= this.#from && end <= this.#from + this.#span
    if (isSeen && length > this.#span / 20) this.#follows = false
    else this.view = { from: begin - 2 * length, span: length * 5 }
  }

  /** @param {Choice | null} choice */
  #describe(choice) {
    const text = choice ? story(choice.panel.schedule, choice.activation, originOf(choice.panel)) : ''
    this.#options.describe?.(text, choice?.activation ?? null)
    this.#surroundings?.tell(text)
  }

  /** Updates the texts twice a second at most, instead of at every frame. */
  #tell() {
    if (this.#telling !== 0) return
    this.#telling = this.#window.setTimeout(() => {
      this.#telling = 0
      const content = this.panels.map(({ title, schedule }) =>
        `${title ? `${title}: ` : ''}${summary(schedule)}`).join('. ')
      const label = `Schedule. ${content}. Arrow keys move, plus and minus zoom, m finds missed deadlines.`
      if (this.canvas.getAttribute('aria-label') !== label) this.canvas.setAttribute('aria-label', label)
      this.#surroundings?.update(this.panels, this.#follows)
    }, 500)
  }

  // Choosing

  /** Returns the choices in a row of a panel, by release. @param {Panel} panel */
  #inRow(panel, row) {
    return panel.schedule.activations(row).map(activation => ({ panel, activation }))
  }

  /**
   * Returns the job to describe first: the last miss in view, or else a job in the middle of the view.
   * @returns {Choice | null}
   */
  #seen() {
    const [begin, middle, end] = [0, 0.5, 1].map(share => this.#from + share * this.#span)
    let best = null
    for (const panel of this.panels) {
      const origin = originOf(panel)
      const miss = panel.schedule.misses.findLast(({ deadline }) =>
        deadline - origin >= begin && deadline - origin <= end)
      if (miss) return { panel, activation: miss }
      for (const row of rowsOf(panel)) {
        const activation = activationAt({ panel, row, time: origin + middle, slack: this.#span / 4 })
        best ??= activation && { panel, activation }
      }
    }
    return best
  }

  /** Selects the nearest job of the row below or above. @param {1 | -1} step */
  chooseRow(step) {
    // Skip rows whose jobs have all been forgotten.
    const rows = this.panels.flatMap(panel => rowsOf(panel).map(row => ({ panel, row })))
      .filter(({ row }) => row.ended.length + row.living.size > 0)
    if (!rows.length) return
    const at = rows.findIndex(({ row }) => row === this.#chosen?.activation.row)
    const middle = this.#from + this.#span / 2
    const { panel, row } = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))]
    const time = this.#chosen ? this.#chosen.activation.release : originOf(panel) + middle
    const nearest = this.#inRow(panel, row).reduce((best, choice) =>
      Math.abs(choice.activation.release - time) < Math.abs(best.activation.release - time) ? choice : best)
    this.choose(nearest.activation)
  }

  /** Selects the next or the previous job of the row. @param {1 | -1} step */
  chooseJob(step) {
    if (!this.#chosen) return this.chooseRow(step)
    const { panel, activation } = this.#chosen
    const jobs = this.#inRow(panel, activation.row)
    const next = jobs[jobs.findIndex(job => job.activation === activation) + step]
    if (next) this.choose(next.activation)
  }

  /** Selects the next or the previous missed deadline, and wraps around. @param {1 | -1} step */
  chooseMiss(step) {
    const misses = this.panels.flatMap(({ schedule }) => schedule.misses)
    if (!misses.length) return
    const at = this.#chosen ? misses.indexOf(this.#chosen.activation) : -1
    const next = at >= 0 ? at + step : step > 0 ? 0 : -1
    this.choose(misses[(next + misses.length) % misses.length])
  }

  // Pointing

  #listen() {
    const { signal } = this.#ending
    const { canvas } = this
    const listen = (type, listener, options) =>
      canvas.addEventListener(type, listener, { signal, ...options })
    Object.assign(canvas.style, { display: 'block', width: '100%', touchAction: 'pan-y', cursor: 'grab' })
    canvas.tabIndex = 0
    // With this role, screen readers leave the arrow keys to the chart.
    canvas.setAttribute('role', 'application')
    canvas.setAttribute('aria-roledescription', 'Gantt chart')
    listen('pointerdown', event => this.#down(event))
    listen('pointermove', event => this.#moved(event))
    listen('pointerup', event => this.#up(event))
    listen('pointercancel', event => this.#pointers.delete(event.pointerId))
    listen('pointerleave', () => this.#point(null))
    listen('keydown', event => this.#pressed(event))
    listen('wheel', event => this.#wheeled(event), { passive: false })
    listen('focus', () => {
      if (this.#chosen || !canvas.matches(':focus-visible')) return
      this.#chosen = this.#seen()
      this.#describe(this.#chosen)
      this.redraw()
    })
    const resized = new this.#window.ResizeObserver(() => this.redraw())
    resized.observe(canvas)
    signal.addEventListener('abort', () => resized.disconnect())
    this.#window.matchMedia('(prefers-color-scheme: dark)')
      .addEventListener('change', () => this.redraw(), { signal })
  }

  /** @param {{ clientX: number, clientY: number }} event @returns {Choice | null} */
  #under({ clientX, clientY }) {
    const { left, top } = this.canvas.getBoundingClientRect()
    const place = placeAt(this.#scene(this.canvas.clientWidth), clientX - left, clientY - top)
    const activation = activationAt(place)
    return place && activation && { panel: place.panel, activation }
  }

  /** @param {Choice | null} choice */
  #point(choice) {
    if (choice?.activation === this.#pointed?.activation) return
    this.#pointed = choice
    this.#describe(choice ?? this.#chosen)
    this.redraw()
  }

  /** Width of the column of names and width of the time axis, CSS pixels. */
  get #widths() {
    const width = this.canvas.clientWidth
    const left = labelWidth({ panels: this.panels, width })
    return { left, width: width - left }
  }

  /** Returns the time at a position of the pointer, ms on the axis. @param {number} clientX */
  #timeAt(clientX) {
    const { left, width } = this.#widths
    return this.#from + (clientX - this.canvas.getBoundingClientRect().left - left) / width * this.#span
  }

  #down(event) {
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, moved: false })
    this.canvas.setPointerCapture(event.pointerId)
  }

  #moved(event) {
    const pointer = this.#pointers.get(event.pointerId)
    if (!pointer) {
      if (event.pointerType === 'mouse') this.#point(this.#under(event))
      return
    }
    const before = [...this.#pointers.values()].map(({ x }) => x)
    const distance = event.clientX - pointer.x
    if (!pointer.moved && Math.abs(distance) < 4) return
    pointer.moved = true
    pointer.x = event.clientX
    if (before.length === 1) {
      this.view = { from: this.#from - distance / this.#widths.width * this.#span, span: this.#span }
      return
    }
    const after = [...this.#pointers.values()].map(({ x }) => x)
    const apart = ([a, b]) => Math.max(20, Math.abs(a - b))
    this.zoom(apart(before) / apart(after), this.#timeAt((after[0] + after[1]) / 2))
  }

  #up(event) {
    const pointer = this.#pointers.get(event.pointerId)
    this.#pointers.delete(event.pointerId)
    if (!pointer || pointer.moved) return
    this.#pointed = null
    const choice = this.#under(event)
    this.#chosen = choice
    if (choice) this.#follows = false
    this.#describe(choice)
    this.redraw()
  }

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return
    event.preventDefault()
    this.move(keys[event.key])
  }

  #wheeled(event) {
    const { deltaX, deltaY, shiftKey, ctrlKey } = event
    const sideways = shiftKey ? deltaX || deltaY : Math.abs(deltaX) > Math.abs(deltaY) ? deltaX : 0
    // Browsers report a pinch on a touchpad as a wheel event with ctrlKey. A plain wheel scrolls the page,
    // unless the chart has the focus.
    const zooms = ctrlKey || this.canvas.ownerDocument.activeElement === this.canvas
    if (!sideways && !zooms) return
    event.preventDefault()
    if (!sideways) return this.zoom(Math.exp(deltaY / (ctrlKey ? 200 : 500)), this.#timeAt(event.clientX))
    this.view = { from: this.#from + sideways / this.canvas.clientWidth * this.#span, span: this.#span }
  }
}

const end = gantt => endOfPanels(gantt.panels)
const shift = (gantt, share) => {
  const { from, span } = gantt.view
  gantt.view = { from: from + share * span, span }
}

/** The actions of keys and buttons, by name. @type {{ [name: string]: (gantt: Gantt) => void }} */
const moves = {
  earlier: gantt => shift(gantt, -0.25),
  later: gantt => shift(gantt, 0.25),
  in: gantt => gantt.zoom(1 / 2),
  out: gantt => gantt.zoom(2),
  all: gantt => { gantt.view = { from: 0, span: end(gantt) } },
  first: gantt => { gantt.view = { ...gantt.view, from: 0 } },
  last: gantt => { gantt.view = { ...gantt.view, from: end(gantt) - gantt.view.span } },
  follow: gantt => {
    // The selected job would soon leave the view.
    if (!gantt.follows) gantt.choose(null)
    gantt.follows = !gantt.follows
  },
  rowAbove: gantt => gantt.chooseRow(-1),
  rowBelow: gantt => gantt.chooseRow(1),
  jobBefore: gantt => gantt.chooseJob(-1),
  jobAfter: gantt => gantt.chooseJob(1),
  nextMiss: gantt => gantt.chooseMiss(1),
  missBefore: gantt => gantt.chooseMiss(-1),
  nothing: gantt => gantt.choose(null)
}
