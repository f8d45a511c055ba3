import { voices } from './metronome.mjs'

const span = 8000 // visible time, ms
const most = 100 // largest lateness of the scale, ms
const least = 0.01
const labelWidth = 54
const padding = 8

/** Returns the height of a lateness in its lane, from 0 (bottom) to 1 (top). @param {number} ms */
export function heightOf(ms) {
  const clipped = Math.min(most, Math.max(least, ms))
  return Math.log10(clipped / least) / Math.log10(most / least)
}

/** @typedef {import('./metronome.mjs').Lateness} Lateness */

/**
 * Returns a function that draws the lateness of each tick, with a lane per voice.
 *
 * @param {HTMLCanvasElement} canvas
 * @returns {(now: number, histories: { color: string, voices: Lateness[] }[]) => void}
 */
export function lanes(canvas) {
  const context = canvas.getContext('2d')
  let colors = colorsOf(canvas)
  let width = 0
  let height = 0

  const fit = () => {
    width = canvas.clientWidth
    height = canvas.clientHeight
    canvas.width = width * devicePixelRatio
    canvas.height = height * devicePixelRatio
    context.scale(devicePixelRatio, devicePixelRatio)
  }
  new ResizeObserver(fit).observe(canvas)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { colors = colorsOf(canvas) })
  fit()

  return (now, histories) => {
    context.clearRect(0, 0, width, height)
    const laneHeight = height / voices.length
    voices.forEach(({ name }, voice) => {
      const bottom = (voice + 1) * laneHeight - padding
      const reach = laneHeight - 2 * padding
      drawScale(name, bottom, reach, voice)
      for (const { color, voices: history } of histories) {
        drawTicks(history[voice].recent, now, bottom, reach, colors(color))
      }
    })
  }

  function drawScale(name, bottom, reach, voice) {
    if (voice > 0) {
      context.fillStyle = colors('--line')
      context.fillRect(0, bottom - reach - padding - 0.5, width, 1)
    }
    context.font = '600 12px system-ui, sans-serif'
    context.textBaseline = 'middle'
    context.textAlign = 'left'
    context.fillStyle = colors('--text')
    context.fillText(name, padding, bottom - reach / 2)
    context.font = '10px system-ui, sans-serif'
    context.textAlign = 'right'
    for (const ms of [1, 10]) {
      const y = Math.round(bottom - reach * heightOf(ms)) + 0.5
      context.strokeStyle = colors('--line')
      context.setLineDash(ms === 1 ? [2, 3] : [])
      context.beginPath()
      context.moveTo(labelWidth, y)
      context.lineTo(width - 40, y)
      context.stroke()
      context.setLineDash([])
      context.fillStyle = colors('--muted')
      context.fillText(`${ms} ms`, width - 4, y)
    }
  }

  function drawTicks(recent, now, bottom, reach, color) {
    const right = width - 44
    const scale = (right - labelWidth) / span
    for (let i = recent.length - 1; i >= 0; i--) {
      const { time, ms } = recent[i]
      const age = now - time
      if (age > span) break
      const x = right - age * scale
      const y = bottom - reach * heightOf(ms)
      context.fillStyle = color
      context.globalAlpha = 0.35
      context.fillRect(x - 0.75, y, 1.5, bottom - y)
      context.globalAlpha = 1
      // A new tick flashes.
      const radius = 2.5 + 3 * Math.max(0, 1 - age / 180)
      context.beginPath()
      context.arc(x, y, radius, 0, 2 * Math.PI)
      context.fill()
    }
  }
}

function colorsOf(element) {
  const style = getComputedStyle(element)
  const known = new Map()
  return name => known.get(name) ?? known.set(name, style.getPropertyValue(name)).get(name)
}
