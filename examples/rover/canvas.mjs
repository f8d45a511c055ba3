/**
 * Returns a context scaled to CSS pixels, the size of the canvas, and a function that reads the page's
 * colours.
 *
 * @param {HTMLCanvasElement} canvas
 */
export function fit(canvas) {
  const context = canvas.getContext('2d')
  const style = getComputedStyle(canvas)
  const known = new Map()
  const surface = {
    context,
    width: 0,
    height: 0,
    /** @param {string} name name of a custom property @returns {string} */
    color: name => known.get(name) ?? known.set(name, style.getPropertyValue(name)).get(name)
  }
  const resize = () => {
    surface.width = canvas.clientWidth
    surface.height = canvas.clientHeight
    canvas.width = Math.round(surface.width * devicePixelRatio)
    canvas.height = Math.round(surface.height * devicePixelRatio)
    context.scale(devicePixelRatio, devicePixelRatio)
  }
  new ResizeObserver(resize).observe(canvas)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => known.clear())
  resize()
  return surface
}
