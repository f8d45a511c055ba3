import { originOf, rowsOf } from './drawing.mjs'
import { story } from './words.mjs'

/** @typedef {import('./drawing.mjs').Panel} Panel */

const hint = 'Point at a job to read about it. Drag the schedule to move it.'
const keys = 'On the schedule: arrow keys up and down, comma and full stop choose a job; m finds the next missed deadline; ' +
  'arrow keys left and right move; + and −, or Ctrl and the wheel, zoom; f follows the newest jobs.'

const buttons = [
  ['earlier', '◀', 'Earlier'], ['later', '▶', 'Later'], ['out', '−', 'Zoom out'], ['in', '+', 'Zoom in'],
  ['all', 'All', 'The whole schedule'], ['nextMiss', '×', 'Next missed deadline'],
  ['follow', 'Follow', 'Follow the newest jobs']
]

/** The elements around the canvas of a chart: buttons, the text about a job, and the figures as a table. */
export class Surroundings {
  /** @type {HTMLCanvasElement} */
  canvas
  /** @type {Panel[]} */
  #panels = []
  #make
  #choose
  #root
  #follow
  #readout
  #table

  /**
   * @param {HTMLElement} container
   * @param {object} does
   * @param {(name: any) => void} does.move performs the action of a button
   * @param {(activation: import('./intervals.mjs').Activation) => void} does.choose
   */
  constructor(container, { move, choose }) {
    const make = this.#make = maker(container.ownerDocument)
    this.#choose = choose
    const bar = make('div', {}, ...buttons.map(([name, text, label]) => {
      const button = make('button', { type: 'button', textContent: text, title: label })
      button.setAttribute('aria-label', label)
      button.dataset.move = name
      // Narrow enough for one row of buttons on a phone.
      Object.assign(button.style, { minWidth: '2.25rem', paddingInline: '.4rem' })
      button.addEventListener('click', () => move(name))
      return button
    }))
    Object.assign(bar.style, { display: 'flex', flexWrap: 'wrap', gap: '.3rem', margin: '.4rem 0' })
    bar.setAttribute('role', 'group')
    bar.setAttribute('aria-label', 'View of the schedule')
    this.#follow = bar.lastChild
    this.canvas = make('canvas')
    this.#readout = make('p', { textContent: hint })
    this.#readout.setAttribute('aria-live', 'polite')
    const { style } = this.#readout
    Object.assign(style, { minHeight: '4.5em', margin: '.4rem 0', fontVariantNumeric: 'tabular-nums' })
    this.#table = make('details', {}, make('summary', { textContent: 'As a table' }))
    this.#table.addEventListener('toggle', () => this.#tabulate())
    const help = make('details', {}, make('summary', { textContent: 'Keys' }), make('p', { textContent: keys }))
    this.#root = make('div', {}, bar, this.canvas, this.#readout, this.#table, help)
    container.append(this.#root)
  }

  /** @param {string} text description of a job, or '' */
  tell(text) {
    // Setting an equal text again would make screen readers repeat it.
    if (this.#readout.textContent !== (text || hint)) this.#readout.textContent = text || hint
  }

  /** @param {Panel[]} panels @param {boolean} follows */
  update(panels, follows) {
    this.#panels = panels
    this.#follow.setAttribute('aria-pressed', String(follows))
    this.#tabulate()
  }

  remove() {
    this.#root.remove()
  }

  /**
   * Fills the table for users who cannot see the chart: figures per task, and buttons for the last misses.
   */
  #tabulate() {
    const table = this.#table
    if (!table.open) return
    const old = [...table.children].slice(1)
    // Keep the table while one of its buttons has the focus.
    if (old.some(node => node.contains(table.ownerDocument.activeElement))) return
    for (const node of old) node.remove()
    for (const panel of this.#panels) table.append(this.#figures(panel), this.#misses(panel))
  }

  /** @param {Panel} panel */
  #figures(panel) {
    const make = this.#make
    const line = (name, texts) =>
      make('tr', {}, ...texts.map(text => make(name, { textContent: String(text) })))
    const rows = rowsOf(panel).map(({ name, jobs, missed, busy, latest }) => line('td', [
      name, jobs, missed, busy.toFixed(1), latest > -Infinity ? latest.toFixed(1) : ''
    ]))
    return make('table', {}, make('caption', { textContent: panel.title ?? '' }),
      line('th', ['task', 'jobs', 'missed', 'executed, ms', 'late by up to, ms']), ...rows)
  }

  /** @param {Panel} panel */
  #misses(panel) {
    const make = this.#make
    const { schedule } = panel
    return make('ul', {}, ...schedule.misses.slice(-10).reverse().map(activation => {
      const button = make('button', { type: 'button', textContent: 'Show' })
      button.addEventListener('click', () => this.#choose(activation))
      return make('li', {}, story(schedule, activation, originOf(panel)), ' ', button)
    }))
  }
}

/** @param {Document} document @returns {(name: string, properties?: object, ...children: any[]) => any} */
const maker = document => (name, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(name), properties)
  node.append(...children)
  return node
}
