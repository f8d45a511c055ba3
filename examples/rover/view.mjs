import { fit } from './canvas.mjs'
import { beam, radius, reach } from './vehicle.mjs'

/** Time for which hits and the track stay visible, ms. */
const memory = 6000

/** @typedef {import('./vehicle.mjs').Vehicle} Vehicle */

/**
 * Draws the rover in its field, seen from above.
 *
 * @param {HTMLCanvasElement} canvas
 */
export function view(canvas) {
  const surface = fit(canvas)
  const { context } = surface
  /** @type {{ x: number, y: number, time: number }[]} */
  let track = []
  /** @type {{ x: number, y: number, time: number }[]} */
  let hits = []
  const young = now => ({ time }) => now - time < memory

  return {
    /**
     * Converts a point from CSS pixels to metres.
     *
     * @param {Vehicle} vehicle @param {number} x @param {number} y
     */
    place({ field }, x, y) {
      const scale = field.width / surface.width
      return { x: x * scale, y: y * scale }
    },

    /** Adds a hit at the front of the rover. @param {Vehicle} vehicle @param {number} time */
    hit({ x, y, heading }, time) {
      hits.push({ x: x + radius * Math.cos(heading), y: y + radius * Math.sin(heading), time })
    },

    forget() {
      track = []
      hits = []
    },

    /**
     * @param {Vehicle} vehicle
     * @param {{ now: number, seen: number, paint: string }} what `seen`: distance to the obstacle ahead as
     *   the actuation loop knows it, m
     */
    draw(vehicle, { now, seen, paint }) {
      const { width, height, color } = surface
      const scale = width / vehicle.field.width
      track = track.filter(young(now))
      hits = hits.filter(young(now))
      const last = track.at(-1)
      if (!last || Math.hypot(last.x - vehicle.x, last.y - vehicle.y) > 0.05) {
        track.push({ x: vehicle.x, y: vehicle.y, time: now })
      }
      context.clearRect(0, 0, width, height)
      context.save()
      context.scale(scale, scale)
      drawField(vehicle.field, color)
      drawTrack(now, color(paint))
      drawBeam(vehicle, seen, color)
      drawRover(vehicle, color(paint), color)
      drawHits(now, color)
      context.restore()
    }
  }

  function drawField({ width, height, obstacles }, color) {
    context.fillStyle = color('--line')
    for (let x = 1; x < width; x++) {
      for (let y = 1; y < height; y++) context.fillRect(x - 0.02, y - 0.02, 0.04, 0.04)
    }
    context.strokeStyle = color('--wall')
    context.lineWidth = 0.08
    context.strokeRect(0.02, 0.02, width - 0.04, height - 0.04)
    context.fillStyle = color('--wall')
    for (const obstacle of obstacles) {
      context.beginPath()
      context.arc(obstacle.x, obstacle.y, obstacle.radius, 0, 2 * Math.PI)
      context.fill()
    }
  }

  function drawTrack(now, paint) {
    context.strokeStyle = paint
    context.lineWidth = 0.06
    context.lineCap = 'round'
    for (let i = 1; i < track.length; i++) {
      const [from, to] = [track[i - 1], track[i]]
      if (Math.hypot(from.x - to.x, from.y - to.y) > 0.5) continue
      context.globalAlpha = 0.5 * (1 - (now - to.time) / memory)
      context.beginPath()
      context.moveTo(from.x, from.y)
      context.lineTo(to.x, to.y)
      context.stroke()
    }
    context.globalAlpha = 1
  }

  function drawBeam({ x, y, heading }, seen, color) {
    const length = Math.min(reach, seen)
    context.save()
    context.translate(x + radius * Math.cos(heading), y + radius * Math.sin(heading))
    context.rotate(heading)
    context.fillStyle = color(seen <= 1 ? '--late' : '--focus')
    context.globalAlpha = seen <= 1 ? 0.35 : 0.14
    context.beginPath()
    context.moveTo(0, 0)
    context.arc(0, 0, Math.max(0.05, length), -beam, beam)
    context.fill()
    context.restore()
  }

  function drawRover({ x, y, heading, left, right, speed }, paint, color) {
    context.save()
    context.translate(x, y)
    context.rotate(heading)
    for (const [side, velocity] of [[-0.21, left], [0.09, right]]) {
      context.fillStyle = color('--text')
      context.fillRect(-0.26, side, 0.52, 0.12)
      // A bar shows the speed and the direction of the track.
      context.fillStyle = color('--surface')
      context.fillRect(0, side + 0.045, 0.24 * velocity / speed, 0.03)
    }
    context.fillStyle = paint
    context.beginPath()
    context.roundRect(-0.22, -0.13, 0.44, 0.26, 0.06)
    context.fill()
    context.fillStyle = color('--surface')
    context.beginPath()
    context.moveTo(0.16, 0)
    context.lineTo(-0.02, -0.08)
    context.lineTo(-0.02, 0.08)
    context.fill()
    context.restore()
  }

  function drawHits(now, color) {
    context.strokeStyle = color('--late')
    for (const { x, y, time } of hits) {
      const age = (now - time) / memory
      context.globalAlpha = 1 - age
      context.lineWidth = 0.06
      context.beginPath()
      context.moveTo(x - 0.12, y - 0.12)
      context.lineTo(x + 0.12, y + 0.12)
      context.moveTo(x - 0.12, y + 0.12)
      context.lineTo(x + 0.12, y - 0.12)
      context.stroke()
      if (age > 0.15) continue
      context.lineWidth = 0.04
      context.beginPath()
      context.arc(x, y, 0.2 + 6 * age, 0, 2 * Math.PI)
      context.stroke()
    }
    context.globalAlpha = 1
  }
}
