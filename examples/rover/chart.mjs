import { fit } from './canvas.mjs'

/** Number of visible actuations. */
const shown = 80
const left = 36
const bottom = 20
const top = 8

/**
 * Returns the top of the scale: the lowest of 200, 400, 600 ... 1400 ms that includes a value.
 *
 * @param {number} ms
 */
export function scaleFor(ms) {
  return Math.min(1400, Math.max(200, Math.ceil(ms / 200) * 200))
}

/**
 * Returns a function that draws the times between the last actuations, with a line per way (figure 12 of
 * Qduino).
 *
 * @param {HTMLCanvasElement} canvas
 * @returns {(ways: { paint: string, recent: number[], isNow: boolean }[]) => void}
 */
export function chart(canvas) {
  const surface = fit(canvas)
  const { context } = surface

  return ways => {
    const { width, height, color } = surface
    const lines = ways.map(way => ({ ...way, recent: way.recent.slice(-shown) }))
    const most = scaleFor(Math.max(0, ...lines.flatMap(({ recent }) => recent)))
    const y = ms => height - bottom - Math.min(1, ms / most) * (height - bottom - top)
    const x = at => left + (width - left - 8) * at / (shown - 1)
    context.clearRect(0, 0, width, height)
    drawScale(most, y, width, height, color)
    // Draw the line of the current way on top.
    for (const line of lines.sort((a, b) => Number(a.isNow) - Number(b.isNow))) drawLine(line, x, y, color)
  }

  function drawScale(most, y, width, height, color) {
    context.font = '11px system-ui, sans-serif'
    context.textBaseline = 'middle'
    context.textAlign = 'right'
    for (let ms = 0; ms <= most; ms += most > 400 ? 200 : 100) {
      const at = Math.round(y(ms)) + 0.5
      context.fillStyle = color('--line')
      context.fillRect(left, at - 0.5, width - left, 1)
      context.fillStyle = color('--muted')
      context.fillText(String(ms), left - 6, at)
    }
    context.textAlign = 'left'
    context.fillText(`the last ${shown} actuations`, left, height - 7)
    context.textAlign = 'right'
    context.fillText('ms between two', width - 4, height - 7)
  }

  function drawLine({ paint, recent, isNow }, x, y, color) {
    if (!recent.length) return
    context.strokeStyle = context.fillStyle = color(paint)
    context.globalAlpha = isNow ? 1 : 0.55
    context.lineWidth = 1.25
    context.beginPath()
    recent.forEach((ms, at) => context.lineTo(x(at), y(ms)))
    context.stroke()
    context.beginPath()
    recent.forEach((ms, at) => {
      const radius = isNow && at === recent.length - 1 ? 4.5 : 2.25
      context.moveTo(x(at) + radius, y(ms))
      context.arc(x(at), y(ms), radius, 0, 2 * Math.PI)
    })
    context.fill()
    context.globalAlpha = 1
  }
}
