// A side of the front page: an animated box, the typed text, and endless work, all on the thread of this
// worker.
import { preemptify } from '../../addons/preemptify.mjs'
import { rt } from '../../rt.mjs'

/** Half a second of work, or more, in ordinary code. @param {number} limit @returns {number} */
function countPrimes(limit) {
  let count = 0
  for (let n = 2; n < limit; n++) {
    let isPrime = true
    for (let d = 2; isPrime && d * d <= n; d++) isPrime = n % d > 0
    if (isPrime) count++
  }
  return count
}
const LIMIT = 2_500_000

/**
 * Starts the work, plainly or as a job, and repeats it until `isOver`.
 *
 * @type {Record<string, (isOver: () => boolean) => void>}
 */
const ways = {
  plain(isOver) {
    const run = () => {
      if (isOver()) return
      countPrimes(LIMIT)
      setTimeout(run)
    }
    run()
  },
  ours(isOver) {
    const work = preemptify(countPrimes)
    rt.spawn(function* () {
      while (!isOver()) yield work(LIMIT)
    })
  }
}

let run = 0
/** @type {any} */
let scene

addEventListener('message', ({ data }) => {
  if (data.canvas) scene = { ...data, context: data.canvas.getContext('2d'), typed: '' }
  if (data.typed !== undefined) Object.assign(scene, { typed: data.typed, pressed: data.pressed })
  if (data.colors) scene.colors = data.colors
  if (data.isRunning === undefined) return requestAnimationFrame(draw)
  const own = ++run
  if (!data.isRunning) return
  /** Time at which the work started. */
  let began = Infinity
  /** Timestamps of the frames of the last two seconds. @type {number[]} */
  let times = []
  const frame = time => {
    if (own !== run) return
    times.push(time)
    while (times.length > 2 && time - times[0] > 2000) times.shift()
    const gaps = times.slice(1).map((next, i) => next - times[i])
    // A frame rate means nothing before a second has passed.
    if (time > began) postMessage({ frames: time - began > 1000 ? gaps.length / (time - times[0]) * 1000 : undefined, freeze: Math.max(...gaps) })
    draw(time)
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
  // Start late, so that the box moves before it can freeze.
  setTimeout(() => {
    if (own !== run) return
    times = [began = performance.now()]
    postMessage({ freeze: 0 })
    ways[scene.way](() => own !== run)
  }, 200)
})

/** @param {number} time */
function draw(time) {
  const { context, canvas, colors, ratio, typed } = scene
  const width = canvas.width / ratio
  const height = canvas.height / ratio
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.fillStyle = colors.background
  context.fillRect(0, 0, width, height)
  context.fillStyle = colors.own
  context.beginPath()
  context.roundRect((width - 44) * (0.5 - 0.5 * Math.cos(time / 500)) + 6, 10, 32, 32, 6)
  context.fill()
  context.fillStyle = colors.text
  context.font = '16px system-ui, sans-serif'
  context.fillText(typed.slice(-24), 10, height - 14)
  if (scene.pressed === undefined) return
  postMessage({ echo: performance.timeOrigin + performance.now() - scene.pressed })
  scene.pressed = undefined
}
