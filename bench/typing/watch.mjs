/**
 * Loads the way that the address names, and records how the page reacts: each key press, and for each
 * animation frame the text of the field and the status of the list.
 *
 * @typedef {object} Recording
 * @property {number[]} keys time stamps of the key presses, ms
 * @property {Frame[]} frames
 * @property {number[] | null} interactions durations in ms, by Event Timing; `null` without Event Timing
 * @property {string} list the HTML of the final list
 *
 * @typedef {object} Frame
 * @property {number} time the time of the animation frame, ms
 * @property {string} text the text of the field
 * @property {string} status
 * @property {string[]} [rows] the HTML of the first rows, if the status differs from the previous frame
 */
import { watchTimings } from '../../examples/macro/timings.mjs'

/** Number of rows that a frame records. */
const ROWS = 4

const timings = watchTimings()
const element = id => document.getElementById(id)
let keys = []
/** @type {Frame[]} */
let frames = []
/** The status of the previous frame. */
let latest = ''

/** The functions that the driver calls. */
globalThis.typing = {
  ready: import(`./${new URLSearchParams(location.search).get('way')}.mjs`).then(() => undefined),

  /** Begins a recording. The first key replaces the text of the previous round. */
  begin() {
    element('field').focus()
    element('field').select()
    keys = []
    frames = []
  },

  /** Whether the last frame shows the result of a text. @param {string} text */
  hasShown: text => frames.at(-1)?.status.startsWith(`${text}: `) ?? false,

  /** @returns {Promise<Recording>} */
  async recording() {
    const { events: interactions } = await timings.between(keys[0], performance.now())
    return { keys, frames, interactions, list: element('list').innerHTML }
  }
}

addEventListener('keydown', ({ timeStamp }) => keys.push(timeStamp), true)
requestAnimationFrame(function record() {
  const status = element('status')?.textContent ?? ''
  const rows = status === latest ? {} : { rows: firstRows() }
  latest = status
  // The browser paints the frame in this task. The time of a later task would depend on the priorities of
  // other tasks: continuations of `scheduler.yield` delay a message for as long as a search lasts.
  frames.push({ time: performance.now(), text: element('field').value, status, ...rows })
  requestAnimationFrame(record)
})

function firstRows() {
  return [...element('list').children].slice(0, ROWS).map(row => row.innerHTML)
}
