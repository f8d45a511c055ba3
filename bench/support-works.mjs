// What the workers of bench/workers do.
import { computeRow } from '../examples/farm/mandelbrot.mjs'

export const add = (a, b) => a + b
export const row = (view, index) => computeRow(view, index)
