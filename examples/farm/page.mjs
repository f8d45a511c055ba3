import { Workers } from '../../addons/workers.mjs'
import { rt } from '../../rt.mjs'
import { Gantt } from '../gantt.mjs'
import { farm } from './farm.mjs'
import { whole, zoomed } from './mandelbrot.mjs'
import { look, share } from './share.mjs'

const element = id => document.getElementById(id)
const form = /** @type {HTMLFormElement} */ (element('controls'))
const picture = /** @type {HTMLCanvasElement} */ (element('picture'))
const context = picture.getContext('2d')

const gantt = new Gantt(element('schedule'), { span: 200, limit: 60_000 })
/** @type {Workers<typeof import('./mandelbrot.mjs')>} */
let workers
let unobserve = () => {}
/** @type {import('../../rt.mjs').Job | null} */
let running = null
let view = whole(1200, 800)

const processors = navigator.hardwareConcurrency || 2
for (let count = 1; count <= Math.min(16, Math.max(4, processors)); count++) {
  const isDefault = count === Math.min(4, processors)
  form.elements.workers.add(new Option(String(count), String(count), isDefault, isDefault))
}
/** Address of the broker. With ?broker=ws://..., this page is a member of a farm of pages and processes. */
const broker = new URLSearchParams(location.search).get('broker')
/** @type {import('./share.mjs').Bus | null} */
let bus = null

resize()
if (broker === null) start()
else join()

form.addEventListener('submit', event => {
  event.preventDefault()
  if (running) running.cancel()
  else start()
})
form.elements.workers.addEventListener('change', restart)
form.elements.pixels.addEventListener('change', () => {
  resize()
  restart()
})
element('back').addEventListener('click', () => {
  view = whole(view.width, view.height)
  restart()
})
picture.addEventListener('click', ({ offsetX, offsetY }) => {
  const scale = view.width / picture.clientWidth
  view = zoomed(view, offsetX * scale, offsetY * scale)
  restart()
})

function resize() {
  const [width, height] = form.elements.pixels.value.split(' ').map(Number)
  view = { ...view, width, height }
  picture.width = width
  picture.height = height
}

/** Joins the farm of a broker: draws the rows of all members, and computes some rows. */
async function join() {
  const { default: mqtt } = await import('./broker/node_modules/mqtt/dist/mqtt.esm.js')
  const { openBus } = await import('./broker/bus.mjs')
  bus = openBus(mqtt, broker)
  /** @type {Map<string, number>} */
  const shares = new Map()
  element('start').hidden = form.elements.workers.disabled = element('schedules').hidden = true
  rt.spawn(share(bus, {
    begin(seen) {
      view = seen
      picture.width = view.width
      picture.height = view.height
      shares.clear()
    },
    harvest(row, pixels, member) {
      context.putImageData(new ImageData(pixels, view.width), 0, row)
      shares.set(member, (shares.get(member) ?? 0) + 1)
      const done = [...shares.values()].reduce((sum, share) => sum + share)
      element('progress').value = done / view.height
      report(`${[...shares].map(([name, share]) => `${name}: ${share}`).join(', ')}; ${done} of ${view.height} rows`)
    }
  }), { name: 'member' })
}

async function restart() {
  if (bus !== null) return look(bus, view)
  const before = running
  before?.cancel()
  await before?.catch(() => {})
  if (!running) start()
}

async function start() {
  const size = Number(form.elements.workers.value)
  if (workers?.size !== size) {
    unobserve()
    workers?.close()
    workers = new Workers('mandelbrot.mjs', { size, restart: true })
    unobserve = gantt.observe(workers)
  }
  gantt.clear(size)
  gantt.follows = true
  const { width, height } = view
  const began = performance.now()
  let done = 0
  const image = context.getImageData(0, 0, width, height)
  // Each canvas call is slow, so the rows that arrive within one frame are shown together.
  let frame = 0
  const show = () => {
    frame = 0
    context.putImageData(image, 0, 0)
    element('progress').value = done / height
  }
  const harvest = (row, pixels) => {
    image.data.set(pixels, row * width * 4)
    done++
    frame ||= requestAnimationFrame(show)
  }
  element('progress').value = 0
  element('start').textContent = 'Cancel'
  report('computing …')
  running = rt.spawn(farm(workers, view, harvest), { name: 'farm' })
  try {
    await running
    const seconds = (performance.now() - began) / 1000
    report(`${seconds.toFixed(2)} s, ${(width * height / seconds / 1e6).toFixed(1)} million pixels per second; ${height} rows`)
  } catch (error) {
    report(error.name === 'AbortError' ? `cancelled after ${done} of ${height} rows` : String(error))
  }
  running = null
  element('start').textContent = 'Start'
}

/** @param {string} text */
function report(text) {
  element('status').textContent = text
}
