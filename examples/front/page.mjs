// Runs equal work on two threads: plainly on the first, scheduled on the second. Only the first one freezes.
const live = document.getElementById('live')
const button = live.querySelector('button')
const field = live.querySelector('input')
const SECONDS = 15

const style = getComputedStyle(document.documentElement)
const colorsOf = way => ({
  background: style.getPropertyValue('--background'), text: style.getPropertyValue('--text'), own: style.getPropertyValue(`--${way}`)
})

const sides = [...live.querySelectorAll('figure')].map(figure => {
  const way = figure.className
  const canvas = figure.querySelector('canvas')
  const ratio = devicePixelRatio
  canvas.width = canvas.clientWidth * ratio
  canvas.height = canvas.clientHeight * ratio
  const worker = new Worker(new URL('worker.mjs', import.meta.url), { type: 'module' })
  const off = canvas.transferControlToOffscreen()
  worker.postMessage({ canvas: off, way, ratio, colors: colorsOf(way) }, [off])
  /** @param {'frames' | 'freeze' | 'echo'} name @param {number} value */
  const show = (name, value) => {
    const output = figure.querySelector(`[data-figure=${name}]`)
    output.textContent = name === 'frames' ? String(Math.round(value)) : `${Math.round(value)} ms`
    output.classList.toggle('bad', name === 'frames' ? value < 30 : value > 100)
  }
  const side = { worker, way, show, heard: 0, echo: 0, freeze: 0 }
  worker.onmessage = ({ data: { frames, freeze, echo } }) => {
    side.heard = performance.now()
    if (echo !== undefined) return show('echo', side.echo = Math.max(side.echo, echo))
    if (frames !== undefined) show('frames', frames)
    show('freeze', side.freeze = freeze)
  }
  return side
})
const tell = message => sides.forEach(({ worker, way }) => worker.postMessage(typeof message === 'function' ? message(way) : message))

/** Shows the silence of a side as its freeze, because a frozen thread cannot report one. */
function watch() {
  for (const { heard, freeze, show } of sides) {
    const silence = performance.now() - heard
    if (heard > 0 && silence > Math.max(freeze, 100)) show('freeze', silence)
  }
  if (button.getAttribute('aria-pressed') === 'true') requestAnimationFrame(watch)
}

let timer = 0
function set(isRunning) {
  clearTimeout(timer)
  for (const side of sides) side.heard = side.echo = side.freeze = 0
  if (isRunning) for (const output of live.querySelectorAll('dd')) Object.assign(output, { textContent: '–', className: '' })
  tell({ isRunning })
  button.setAttribute('aria-pressed', String(isRunning))
  button.textContent = isRunning ? 'Stop' : 'Run it'
  // Each run keeps two processors busy, so it ends after some seconds.
  if (!isRunning) return
  timer = setTimeout(set, SECONDS * 1000, false)
  watch()
}
button.onclick = () => set(button.getAttribute('aria-pressed') !== 'true')
field.oninput = () => {
  tell({ typed: field.value, pressed: performance.timeOrigin + performance.now() })
  if (button.getAttribute('aria-pressed') !== 'true') set(true)
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => tell(way => ({ colors: colorsOf(way) })))
if (!matchMedia('(prefers-reduced-motion: reduce)').matches) set(true)
