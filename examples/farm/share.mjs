import { Channel, choice, race } from '../../sync.mjs'
import { computeRow } from './mandelbrot.mjs'

/** @typedef {import('./mandelbrot.mjs').View} View */

/**
 * The message bus of all members: a broker that retains the last value of a topic if asked to, sends the
 * retained values to new subscribers, and publishes the last will of a member that has disconnected.
 *
 * @typedef {object} Bus
 * @property {(topic: string, value: Uint8Array, keeps: boolean) => void} publish
 * @property {Channel<{ topic: string, value: Uint8Array }>} messages
 * @property {string} member a unique name; the will of the member has the topic `gone/<member>`
 */

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Makes all members compute another view. @param {Bus} bus @param {View} view */
export function look(bus, view) {
  bus.publish('view', encoder.encode(JSON.stringify(view)), true)
}

/**
 * A member, as a job: computes rows of the current picture, and collects the rows of all members. The broker
 * keeps the rows, so a killed member loses only the row that it was computing. The other members receive its
 * will and compute that row again. A row that arrives twice is used once.
 *
 * @param {Bus} bus
 * @param {{
 *   begin?: (view: View) => void, harvest?: (row: number, pixels: Uint8ClampedArray, member: string) => void,
 *   labours?: boolean, random?: () => number
 * }} [options] `begin` is called when the picture changes; `harvest` is called once per row; `labours`:
 *   whether the member computes rows itself, default true; `random` picks the row at which the search for a
 *   free row starts
 * @returns {Generator<any, void, any>}
 */
export function* share(bus, { begin, harvest, labours = true, random = Math.random } = {}) {
  /** @type {View | null} */
  let view = null
  let picture = ''
  /** Rows that have arrived. @type {Set<number>} */
  const done = new Set()
  /** Members that compute a row, by row. @type {Map<number, string>} */
  const claims = new Map()
  /** Signals a change of the picture, the rows or the claims. */
  const news = new Channel(1, { overflow: 'slide' })

  /** @param {{ topic: string, value: Uint8Array }} message */
  function hear({ topic, value }) {
    const [kind, ...rest] = topic.split('/')
    if (kind === 'view') {
      const text = decoder.decode(value)
      const next = text === picture ? null : viewIn(text)
      if (next === null) return
      if (view !== null && labours) forget()
      picture = text
      view = next
      done.clear()
      claims.clear()
      begin?.(view)
    } else if (kind === 'gone') {
      for (const [row, member] of claims) if (member === rest[0]) claims.delete(row)
    } else if (view !== null && value.length > 0 && rest[0] === idOf(view)) {
      const row = Number(rest[1])
      if (!Number.isInteger(row) || row < 0 || row >= view.height) return
      const end = value.indexOf(0)
      const member = decoder.decode(value.subarray(0, end))
      if (kind === 'claim') {
        // The first claim wins. All members receive the claims in the same order.
        if (!claims.has(row)) claims.set(row, member)
      } else if (!done.has(row) && value.length - end - 1 === 4 * view.width) {
        done.add(row)
        harvest?.(row, Uint8ClampedArray.from(value.subarray(end + 1)), member)
      }
    }
    news.offer(null)
  }

  /** Clears the retained rows of the previous picture at the broker. */
  function forget() {
    for (const row of done) bus.publish(`row/${idOf(view)}/${row}`, new Uint8Array(), true)
  }

  /**
   * Returns a row that no other member computes, or -1. A row that this member has claimed counts as free.
   * This happens if another member claims the row first and dies before the claim of this member arrives.
   *
   * @returns {number}
   */
  function free() {
    if (view === null) return -1
    const { height } = view
    const first = Math.floor(random() * height)
    for (let i = 0; i < height; i++) {
      const row = (first + i) % height
      if (!done.has(row) && (claims.get(row) ?? bus.member) === bus.member) return row
    }
    return -1
  }

  function* labour() {
    for (;;) {
      const row = free()
      if (row < 0) {
        yield news.receive()
        continue
      }
      const seen = /** @type {View} */ (view)
      const topic = `${idOf(seen)}/${row}`
      if (!claims.has(row)) bus.publish(`claim/${topic}`, encoder.encode(`${bus.member}\0`), false)
      // A claim that the broker does not send back was lost with the connection: search again after a second.
      while (view === seen && !claims.has(row) && !done.has(row)) yield choice([{ receive: news }, { timeout: 1000 }])
      if (view !== seen || claims.get(row) !== bus.member || done.has(row)) continue
      const pixels = yield computeRow(seen, row)
      if (view === seen) bus.publish(`row/${topic}`, Uint8Array.from([...encoder.encode(`${bus.member}\0`), ...pixels]), true)
      while (view === seen && !done.has(row)) yield news.receive()
    }
  }

  if (labours) yield race(() => bus.messages.forEach(hear), labour)
  else yield bus.messages.forEach(hear)
}

/** Maximum width and height of a picture, pixels; the memory of a picture is bounded by them. */
const MAX_SIDE = 8192
/** Maximum number of iterations of a point. */
const MAX_DEPTH = 100_000

/**
 * Reads the view of a message. The broker keeps the latest message for all later members, so a malformed one
 * must not end them.
 *
 * @param {string} text @returns {View | null} null if it is not a view
 */
function viewIn(text) {
  /** @type {any} */
  let given
  try {
    given = JSON.parse(text)
  } catch {
    return null
  }
  const { width, height, x, y, span, depth } = given ?? {}
  const isCount = (/** @type {any} */ value, /** @type {number} */ most) =>
    Number.isInteger(value) && value >= 1 && value <= most
  const areCounts = isCount(width, MAX_SIDE) && isCount(height, MAX_SIDE) && isCount(depth, MAX_DEPTH)
  return areCounts && [x, y, span].every(Number.isFinite) ? { width, height, x, y, span, depth } : null
}

/** Returns a name for the picture that is unique among topics. @param {View} view */
const idOf = view => Object.values(view).join(',')
