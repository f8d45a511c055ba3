/** Time that the graphs show, ms. */
const shown = 30_000
const bin = 500
const labelWidth = 34
const mostFrames = 70
const leastLatency = 1
const mostLatency = 10_000

/**
 * Returns a function that draws two graphs of the last 30 seconds: frame rates and input latencies.
 *
 * @typedef {{ time: number, color: string }} Frame `color`: name of a CSS property
 * @typedef {{ time: number, ms: number, color: string }} Input
 *
 * @param {HTMLCanvasElement} rates
 * @param {HTMLCanvasElement} latencies
 * @returns {(now: number, frames: Frame[], inputs: Input[]) => void}
 */
export function graphs(rates, latencies) {
  const drawRates = graph(rates, [0, 30, 60], value => value / mostFrames)
  const drawLatencies = graph(latencies, [1, 16, 100, 1000], heightOf)
  return (now, frames, inputs) => {
    drawRates(now, binned(frames, now), bin)
    drawLatencies(now, inputs.map(({ time, ms, color }) => ({ time, value: ms, color })), 0)
  }
}

/** Returns the height of a latency in its graph, from 0 (bottom) to 1 (top). @param {number} ms */
export function heightOf(ms) {
  const clipped = Math.min(mostLatency, Math.max(leastLatency, ms))
  return Math.log(clipped / leastLatency) / Math.log(mostLatency / leastLatency)
}

/**
 * Returns the frames per second in each complete bin.
 *
 * @param {Frame[]} frames sorted by time
 * @param {number} now
 */
export function binned(frames, now) {
  const last = Math.floor(now / bin)
  const first = Math.max(last - shown / bin, Math.floor((frames[0]?.time ?? now) / bin) + 1)
  const counts = Array(Math.max(0, last - first)).fill(0)
  const colors = []
  for (const { time, color } of frames) {
    const index = Math.floor(time / bin) - first
    if (index < 0 || index >= counts.length) continue
    counts[index]++
    colors[index] = color
  }
  // A bin without a frame has the color of the previous bin.
  return counts.map((count, index) => ({
    time: (first + index) * bin,
    value: count * 1000 / bin,
    color: colors[index] ??= colors[index - 1] ?? '--muted'
  }))
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number[]} marks
 * @param {(value: number) => number} height 0 to 1
 */
function graph(canvas, marks, height) {
  const context = canvas.getContext('2d')
  const style = getComputedStyle(canvas)
  const dark = matchMedia('(prefers-color-scheme: dark)')
  let colors = new Map()
  let size = { width: 0, height: 0 }
  let last = [0, [], 0]
  const color = name => colors.get(name) ?? colors.set(name, style.getPropertyValue(name)).get(name)
  new ResizeObserver(([{ contentRect }]) => {
    size = contentRect
    canvas.width = Math.round(size.width * devicePixelRatio)
    canvas.height = Math.round(size.height * devicePixelRatio)
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
    draw(...last)
  }).observe(canvas)
  dark.addEventListener('change', () => {
    colors = new Map()
    draw(...last)
  })
  return draw

  function draw(now, points, width) {
    last = [now, points, width]
    const scale = (size.width - labelWidth) / shown
    const y = value => (size.height - 8) * (1 - Math.min(1, height(value))) + 4
    context.clearRect(0, 0, size.width, size.height)
    context.font = '11px system-ui, sans-serif'
    context.textBaseline = 'middle'
    context.textAlign = 'right'
    for (const mark of marks) {
      context.fillStyle = color('--line')
      context.fillRect(labelWidth, Math.round(y(mark)), size.width - labelWidth, 1)
      context.fillStyle = color('--muted')
      context.fillText(String(mark), labelWidth - 5, Math.min(size.height - 7, Math.max(7, y(mark))))
    }
    for (const { time, value, color: name } of points) {
      const left = size.width - (now - time) * scale
      if (left < labelWidth) continue
      context.fillStyle = color(name)
      if (width > 0) context.fillRect(left, y(value) - 1.5, width * scale + 0.5, 3)
      else context.fillRect(left - 2, y(value) - 2, 4, 4)
    }
  }
}
