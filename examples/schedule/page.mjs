import { Scheduler } from '../../rt.mjs'
import { devtools } from '../devtools.mjs'
import { Gantt, accusation } from '../gantt.mjs'
import { record, traceEvents } from '../trace-events.mjs'
import { beLate } from './late.mjs'

const element = id => document.getElementById(id)
const form = /** @type {HTMLFormElement} */ (element('controls'))

const scheduler = new Scheduler()
const gantt = new Gantt(element('schedule'), { limit: 60_000 })
const recording = record(scheduler, { limit: 60_000 })
let inputs = 0
let late = 0
/** @type {(() => void) | null} */
let stopDevtools = null

applyAddress()
gantt.observe(scheduler)
scheduler.observe(({ type, job }) => {
  if (type !== 'finish' || job.name !== 'input') return
  inputs++
  if (job.missed) late++
  // Judge after the round, because the executions of a round are known only at its end.
  setTimeout(judge, 0, job.id, job.missed)
})
beLate(scheduler, {
  culprit: () => form.elements.culprit.value,
  inputs: [[element('field'), 'keydown'], [element('tap'), 'click']]
})

form.addEventListener('submit', event => event.preventDefault())
form.addEventListener('change', ({ target }) => {
  if (target.name !== 'culprit') return
  gantt.choose(null)
  gantt.follows = true
})
element('trace').addEventListener('click', () => {
  download('schedule.json', 'application/json', JSON.stringify(traceEvents(recording.records)))
})
element('svg').addEventListener('click', () => {
  download('schedule.svg', 'image/svg+xml', gantt.toSVG({ title: 'Why was it late?' }))
})
element('devtools').addEventListener('change', switchDevtools)

// The address can contain settings: ?culprit=stall&devtools
function applyAddress() {
  const given = new URLSearchParams(location.search)
  if (given.has('culprit')) form.elements.culprit.value = given.get('culprit')
  element('devtools').checked = given.has('devtools')
  switchDevtools()
}

function switchDevtools() {
  stopDevtools?.()
  stopDevtools = element('devtools').checked ? devtools(scheduler) : null
}

function judge(id, missed) {
  element('count').textContent = String(inputs)
  element('late').textContent = String(late)
  const { schedule } = gantt.panels[0]
  const row = schedule.rows.find(({ name }) => name === 'input')
  const activation = row?.ended.findLast(activation => activation.id === id)
  // While a job is selected, the verdict stays with that job.
  if (!activation || !missed && gantt.chosen) return
  const { release, deadline, ended } = activation
  const took = (ended - release).toFixed(1)
  element('verdict').className = missed ? 'late' : ''
  element('verdict').textContent = missed
    ? `${(ended - deadline).toFixed(0)} ms late. ${accusation(schedule.blame(activation))}`
    : `In time: handled ${took} ms after it happened.`
  if (!missed || !element('stops').checked) return
  gantt.choose(activation)
  gantt.view = { from: release - schedule.origin - 60, span: Math.max(240, 2 * (ended - release)) }
}

function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
