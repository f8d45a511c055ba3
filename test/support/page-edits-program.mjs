/**
 * Random programs of a page with fields: listeners, timers and frames over three variables and two fields, and
 * edits by the user.
 */

/** @typedef {{ kind: string, of: number, ms: number }} Act */

const KINDS = { add: 4, writeBack: 5, timer: 2, frame: 2, note: 1 }
const TYPES = ['keydown', 'input', 'input', 'input', 'change']
/** Maximum number of calls of one program. */
const MAX_CALLS = 60

/** @param {import('./seeded.mjs').Random} random */
export function randomEdits(random) {
  const act = () => ({ kind: random.weighted(KINDS), of: random.integer(0, 5), ms: random.pick([0, 1, 5, 16, 20]) })
  const acts = () => Array.from({ length: random.integer(1, 4) }, act)
  const list = (min, max, make) => Array.from({ length: random.integer(min, max) }, make)
  // An edit at the time of a timer comes between the steps of the timer. It may then come before another timer
  // of the same time, as in a plain page with a faster user. So only the texts of the fields are effects.
  const isBetween = random.chance(0.5)
  const time = () => isBetween ? random.pick([4, 8, 12]) : random.integer(1, 20)
  return {
    isBetween,
    listeners: list(1, 4, () => ({ type: random.pick(TYPES), of: random.integer(0, 2), acts: acts() })),
    timers: list(0, 4, () => ({ ms: time(), acts: acts() })),
    frames: list(0, 2, () => ({ acts: acts() })),
    edits: list(1, 8, () => ({ time: time(), of: random.integer(0, 1), key: random.pick(['a', 'b', 'c']) }))
  }
}

let a = 1
let b = 1
let c = 1

/** Work with points. */
function work(n) {
  let sum = 0
  for (let i = 0; i < n; i++) sum += i
  return sum
}

// Each step depends on the order of the steps before it.
function addA(n) {
  const before = a
  work(5)
  a = (before * 31 + n) % 1000003
}
function addB(n) {
  const before = b
  work(5)
  b = (before * 31 + n) % 1000003
}
function addC(n) {
  const before = c
  work(5)
  c = (before * 31 + n) % 1000003
}
const ADDS = [addA, addB, addC]

function textOf({ value }) {
  return String(value)
}

/**
 * Starts a program.
 *
 * @param {any} page an editable page @param {ReturnType<typeof randomEdits>} program
 * @returns {() => string} the effects
 */
export function playEdits(page, { listeners, timers, frames, edits, isBetween }) {
  const { window } = page
  a = b = c = 1
  let calls = 0
  const fields = [page.field('input', 'text'), page.field('textarea')]
  const targets = [...fields, page.parentOf(fields[0])]
  const perform = (acts, n, event) => {
    if (++calls > MAX_CALLS) return
    for (const { kind, of, ms } of acts) {
      if (kind === 'add') ADDS[of % 3](n + ms)
      else if (kind === 'timer') window.setTimeout(() => ADDS[of % 3](ms), ms)
      else if (kind === 'frame') window.requestAnimationFrame(() => ADDS[of % 3](of))
      else if (kind === 'writeBack') {
        const { target } = event ?? { target: fields[of % 2] }
        const text = textOf(target)
        work(5)
        ADDS[of % 3](text.length)
        target.value = text
      } else {
        work(3)
      }
    }
  }
  listeners.forEach(({ type, of, acts }, n) => {
    targets[of].addEventListener(type, event => { perform(acts, n, { target: event.target }) })
  })
  timers.forEach(({ ms, acts }, n) => window.setTimeout(() => { perform(acts, n, null) }, ms))
  frames.forEach(({ acts }, n) => window.requestAnimationFrame(() => { perform(acts, n, null) }))
  edits.forEach(({ time, of, key }) => page.typeAt(isBetween ? time : time + 0.5, fields[of], key))
  return () => [...isBetween ? [] : [a, b, c], ...fields.map(({ value }) => value), ...window.errors].join(' ')
}
