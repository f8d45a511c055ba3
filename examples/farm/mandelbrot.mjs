import { budget } from '../../rt.mjs'

/**
 * The visible part of the Mandelbrot set, and its resolution.
 *
 * @typedef {object} View
 * @property {number} width pixels
 * @property {number} height
 * @property {number} x centre of the picture in the complex plane, real part
 * @property {number} y centre of the picture, imaginary part
 * @property {number} span width of the picture in the complex plane
 * @property {number} depth iterations after which a point counts as inside
 */

/** Returns a view of the whole set. @param {number} width @param {number} height @returns {View} */
export const whole = (width, height) => ({ width, height, x: -0.65, y: 0, span: 3.3, depth: 400 })

/**
 * Returns a magnified view around a pixel.
 *
 * @param {View} view @param {number} column @param {number} row @param {number} [factor] the magnification
 * @returns {View}
 */
export function zoomed(view, column, row, factor = 4) {
  const { width, height, x, y, span, depth } = view
  const step = span / width
  return {
    ...view,
    x: x + (column + 0.5 - width / 2) * step,
    y: y + (row + 0.5 - height / 2) * step,
    span: span / factor,
    depth: Math.min(5000, Math.round(depth * 1.25))
  }
}

/**
 * Computes a row of the picture, with a preemption point per pixel.
 *
 * @param {View} view @param {number} row
 * @returns {Generator<undefined, Uint8ClampedArray, void>} red, green, blue and opacity of each pixel
 */
export function* computeRow({ width, height, x, y, span, depth }, row) {
  const pixels = new Uint8ClampedArray(width * 4)
  const step = span / width
  const imaginary = y + (row + 0.5 - height / 2) * step
  for (let column = 0; column < width; column++) {
    paint(pixels, column * 4, escapeTime(x + (column + 0.5 - width / 2) * step, imaginary, depth), depth)
    if (--budget.left <= 0) yield
  }
  return pixels
}

/**
 * @param {number} real @param {number} imaginary @param {number} depth
 * @returns {number} the number of iterations, with a fraction for smooth colours; `depth` if the point is
 *   inside
 */
export function escapeTime(real, imaginary, depth) {
  let a = 0
  let b = 0
  let squareA = 0
  let squareB = 0
  let count = 0
  while (count < depth && squareA + squareB <= 256) {
    b = 2 * a * b + imaginary
    a = squareA - squareB + real
    squareA = a * a
    squareB = b * b
    count++
  }
  return count === depth ? depth : count + 1 - Math.log2(Math.log2(squareA + squareB) / 2)
}

/** @param {Uint8ClampedArray} pixels @param {number} at @param {number} time @param {number} depth */
function paint(pixels, at, time, depth) {
  pixels[at + 3] = 255
  if (time >= depth) return
  const phase = Math.sqrt(Math.max(0, time)) * 0.55
  pixels[at] = 128 + 127 * Math.sin(phase + 4.1)
  pixels[at + 1] = 128 + 127 * Math.sin(phase + 4.7)
  pixels[at + 2] = 150 + 105 * Math.sin(phase + 5.6)
}
