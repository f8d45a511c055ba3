// Draws the frames and the key delays of the page, for each way to search, and types for visitors. This thread is
// free while the page is blocked, so the figures keep running.

/** Time that a strip shows, ms. */
const SPAN = 4000
/** A longer delay of a key is shown as bad, ms. INP calls up to 200 ms good. */
const MAX_DELAY = 200
/** Time between two typed keys, ms. */
const PAUSE = 160
/** Time between the last result of one way and the first key of the next way, ms. */
const REST = 900

/**
 * @typedef {{ frames: number[], keys: { pressed: number, time: number, isPainted: boolean }[], longest: number, elapsed: number, began: number }} Row
 */
/** @returns {Row} times are since `began`, and `elapsed` is the time that has been shown before */
const row = () => ({ frames: [], keys: [], longest: 0, elapsed: 0, began: 0 })
/** @type {Record<string, Row>} */
let rows = { plain: row(), ours: row() }
/** The way that is being measured. @type {string | undefined} */
let active
/** @type {any} */
let scene
const now = () => performance.timeOrigin + performance.now()
/** @param {Row} row */
const timeIn = (row, time = now()) => time - row.began

addEventListener('message', ({ data }) => {
  if (data.canvas) {
    scene = { ...data, context: data.canvas.getContext('2d') }
    resize(data.resolution)
  } else if (data.resolution) resize(data.resolution)
  else if (data.colors) scene.colors = data.colors
  else if (data.start) start(data.start)
  else if (data.stop) {
    if (data.stop === active) stop()
  } else if (data.type !== undefined) type(data.type)
  else if (data.result) wake('result')
  else if (data.frame) rows[data.way].frames.push(timeIn(rows[data.way], data.frame))
  else if (data.key) addKey(data.way, data.key)
  else if (data.painted) {
    const { [data.way]: row } = rows
    const key = row.keys.find(({ pressed }) => pressed === data.painted)
    if (key) key.isPainted = true
    row.longest = Math.max(row.longest, data.delay)
  }
  if (active === undefined) draw()
})

/** @param {string} way @param {number} pressed */
function addKey(way, pressed) {
  rows[way].keys.push({ pressed, time: timeIn(rows[way], pressed), isPainted: false })
}

/** @param {{ width: number, height: number, ratio: number }} resolution */
function resize({ width, height, ratio }) {
  Object.assign(scene, { width, height, ratio })
  scene.canvas.width = width * ratio
  scene.canvas.height = height * ratio
}

/** @param {string} way */
function start(way) {
  if (active === way) return
  stop()
  active = way
  rows[way].began = now() - rows[way].elapsed
  animate()
}

function stop() {
  if (active === undefined) return
  rows[active].elapsed = timeIn(rows[active])
  active = undefined
}

function animate() {
  if (active === undefined) return
  draw()
  // Half of the frames are enough, and leave the processor to the page.
  requestAnimationFrame(() => requestAnimationFrame(animate))
}

// ------------------------------------------------------------------------------------------------- drawing

function draw() {
  if (!scene?.width) return
  const { context, colors, width, height, ratio } = scene
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.fillStyle = colors.surface
  context.fillRect(0, 0, width, height)
  Object.keys(rows).forEach((way, i) => drawRow(way, i * height / 2, height / 2))
}

/** @param {string} way @param {number} top @param {number} height */
function drawRow(way, top, height) {
  const { context, colors, width, titles } = scene
  const { frames, keys, longest, elapsed } = rows[way]
  const end = way === active ? timeIn(rows[way]) : elapsed
  const waiting = way === active ? keys.find(({ isPainted }) => !isPainted) : undefined
  const delay = Math.max(longest, waiting === undefined ? 0 : end - waiting.time)
  while (end - frames[0] > SPAN) frames.shift()
  const recent = frames.filter(time => time > end - 1000).length
  const base = top + 18
  context.fillStyle = colors[way]
  context.font = '600 15px system-ui, sans-serif'
  context.textAlign = 'start'
  context.fillText(titles[way], 0, base)
  context.textAlign = 'end'
  context.fillStyle = delay > MAX_DELAY ? colors.plain : colors.text
  context.fillText(keys.length > 0 ? `slowest key ${Math.round(delay)} ms` : 'not tried yet', width, base)
  if (way === active && width > 500) {
    context.fillStyle = colors.muted
    context.textAlign = 'center'
    context.font = '15px system-ui, sans-serif'
    context.fillText(`${recent} frames in the last second`, width / 2, base)
  }
  const strip = { y: top + 26, height: height - 36 }
  context.fillStyle = colors.background
  context.fillRect(0, strip.y, width, strip.height)
  /** @param {number} time */
  const x = time => width - (end - time) / SPAN * width
  context.fillStyle = colors[way]
  context.beginPath()
  for (const time of frames) context.rect(Math.round(x(time)), strip.y, 2, strip.height)
  context.fill()
  context.fillStyle = colors.text
  for (const { time } of keys) {
    if (end - time > SPAN) continue
    context.beginPath()
    context.arc(x(time), strip.y + strip.height / 2, 3.5, 0, 2 * Math.PI)
    context.fill()
  }
}

// ------------------------------------------------------------------------------------------------- typing

let run = 0
/** Ends a wait. @type {Record<string, () => void>} */
const waits = {}
/** @param {string} name */
const wake = name => waits[name]?.()
/** @param {number} ms */
const elapse = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Types a text in each way; an empty text ends the typing. @param {string} text */
async function type(text) {
  const own = ++run
  if (text === '') return
  stop()
  rows = { plain: row(), ours: row() }
  for (const way of Object.keys(rows)) {
    postMessage({ choose: way })
    start(way)
    await elapse(300)
    for (const char of text) {
      if (own !== run) return
      const time = now()
      // The page may be blocked, so it reports this key late.
      if (active !== way) start(way)
      addKey(way, time)
      postMessage({ typed: { char, time } })
      await elapse(PAUSE)
    }
    while (own === run && rows[way].keys.some(({ isPainted }) => !isPainted)) await elapse(50)
    await Promise.race([new Promise(resolve => { waits.result = () => resolve(undefined) }), elapse(REST)])
    await elapse(REST)
    if (own !== run) return
  }
}
