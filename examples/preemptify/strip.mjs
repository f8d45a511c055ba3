/** Visible time, ms. */
const shown = 1000
const laneHeight = 26
const gap = 6
const labelWidth = 58

/**
 * Returns a function that draws the last second: the frames of the page, and the intervals in which each way
 * had the thread.
 *
 * @typedef {{ from: number, to: number, color: string }} Span ms; `color`: name of a CSS property
 *
 * @param {HTMLCanvasElement} canvas
 * @returns {(now: number, frames: number[], spans: Span[]) => void} draws the second before `now`
 */
export function strip(canvas) {
  const context = canvas.getContext('2d')
  const style = getComputedStyle(canvas)
  let width = 0
  /** Arguments of the last drawing. @type {[number, number[], Span[]]} */
  let last = [0, [], []]
  const fit = () => {
    width = canvas.clientWidth
    canvas.width = Math.round(width * devicePixelRatio)
    canvas.height = Math.round(canvas.clientHeight * devicePixelRatio)
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
    draw(...last)
  }
  new ResizeObserver(fit).observe(canvas)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(...last))

  return draw

  function draw(now, frames, spans) {
    last = [now, frames, spans]
    const color = name => style.getPropertyValue(name)
    const scale = (width - labelWidth) / shown
    const x = time => labelWidth + Math.max(0, shown - (now - time)) * scale
    context.clearRect(0, 0, width, canvas.clientHeight)
    context.font = '12px system-ui, sans-serif'
    context.textBaseline = 'middle'
    for (const [lane, name] of ['Frames', 'Thread'].entries()) {
      const top = lane * (laneHeight + gap)
      context.fillStyle = color('--muted')
      context.fillText(name, 0, top + laneHeight / 2)
      context.fillStyle = color('--background')
      context.fillRect(labelWidth, top, width - labelWidth, laneHeight)
    }
    context.fillStyle = color('--text')
    for (let i = frames.length - 1; i >= 0 && frames[i] > now - shown; i--) {
      context.fillRect(x(frames[i]) - 1, 3, 2, laneHeight - 6)
    }
    for (let i = spans.length - 1; i >= 0 && spans[i].to > now - shown; i--) {
      const { from, to, color: name } = spans[i]
      const left = x(from)
      context.fillStyle = color(name)
      context.fillRect(left, laneHeight + gap + 3, Math.max(0.6, x(to) - left), laneHeight - 6)
    }
  }
}
