import { Lateness, playByTimers, playScheduled, voices } from './metronome.mjs'
import { drums } from './sound.mjs'
import { lanes } from './strip.mjs'

const element = id => document.getElementById(id)
const form = /** @type {HTMLFormElement} */ (element('controls'))
const { elements } = form
const drum = drums()
const draw = lanes(/** @type {HTMLCanvasElement} */ (element('strip')))

const ways = {
  timers: { play: playByTimers, color: '--timers', voices: voices.map(() => new Lateness()) },
  scheduled: { play: playScheduled, color: '--scheduled', voices: voices.map(() => new Lateness()) }
}
const histories = Object.values(ways)

/** @type {(() => void) | null} */
let end = null
let worked = 0
let watched = performance.now()

applyAddress()
fillTable()
show()
start()
setInterval(showFigures, 500)
requestAnimationFrame(function frame() {
  draw(performance.now(), histories)
  requestAnimationFrame(frame)
})

form.addEventListener('submit', event => {
  event.preventDefault()
  if (end) stop()
  else start()
})
form.addEventListener('input', ({ target }) => {
  show()
  if (target === elements.sound) drum.switch(elements.sound.checked)
  else if (target === elements.tempo || target.name === 'way') restart()
})
element('forget').addEventListener('click', () => {
  forget()
  showFigures()
})
// Stop in the background, because browsers throttle the timers of hidden pages.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) restart()
  else if (end) end()
})

// The address can contain settings: ?way=timers&load=50&tempo=90
function applyAddress() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (elements[name] && name !== 'sound') elements[name].value = value
  }
}

function share() {
  return elements.background.checked ? Number(elements.load.value) / 100 : 0
}

function start() {
  const way = ways[elements.way.value]
  end = way.play({
    tempo: Number(elements.tempo.value),
    load: share,
    onTick(voice, lateness, time) {
      way.voices[voice].add(time, lateness)
      drum.play(voice)
    },
    onWork(ms) { worked += ms }
  })
  element('start').textContent = 'Stop'
}

function stop() {
  end()
  end = null
  element('start').textContent = 'Start'
}

function restart() {
  if (!end) return
  end()
  start()
}

function forget() {
  for (const way of histories) way.voices = voices.map(() => new Lateness())
}

function show() {
  elements.tempoShown.value = `${elements.tempo.value} beats/min`
  elements.loadShown.value = `${elements.load.value} %`
  elements.load.disabled = !elements.background.checked
}

function fillTable() {
  const body = element('figures')
  for (const { name } of voices) {
    const row = body.insertRow()
    row.innerHTML = `<th scope="row">${name}</th>${'<td class="timers"></td>'.repeat(3)}` +
      '<td class="scheduled"></td>'.repeat(3)
  }
}

function showFigures() {
  const now = performance.now()
  element('done').textContent = `${Math.min(100, Math.round(worked / (now - watched) * 100))} %`
  worked = 0
  watched = now
  voices.forEach((_, voice) => {
    const cells = element('figures').rows[voice].cells
    histories.forEach((way, at) => {
      const { mean, p99, max } = way.voices[voice].summary()
      const shown = [mean, p99, max]
      shown.forEach((ms, i) => {
        const cell = cells[1 + 3 * at + i]
        cell.textContent = Number.isNaN(ms) ? '–' : figure(ms)
        cell.classList.toggle('late', ms >= 10)
      })
    })
  })
}

const figure = ms => ms.toFixed(ms >= 10 ? 0 : ms >= 1 ? 1 : 2)
