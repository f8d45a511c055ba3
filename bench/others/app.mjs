// An ordinary page: its code knows nothing of a scheduler.
import { markdown } from '../../examples/service-worker/markdown.mjs'
import { deflateSync, strToU8 } from '../peers/node_modules/fflate/esm/browser.js'
import hljs from '../peers/node_modules/@highlightjs/cdn-assets/es/highlight.min.js'
import { Marked } from '../peers/node_modules/marked/lib/marked.esm.js'
import { kernelDensityEstimation, linearRegression, median } from '../peers/node_modules/simple-statistics/dist/simple-statistics.mjs'

const [editor, preview, filter, status, chart, grid] = ['editor', 'preview', 'filter', 'status', 'chart', 'grid']
  .map(id => document.getElementById(id))

// An editor with a live preview. Each input renders the whole text and updates the blocks that differ.
const marked = new Marked({
  renderer: {
    code({ text, lang }) {
      const { value } = hljs.getLanguage(lang) ? hljs.highlight(text, { language: lang }) : hljs.highlightAuto(text)
      return `<pre><code>${value}</code></pre>`
    }
  }
})
let blocks = []
const shown = { characters: 0, filter: 0 }

function render(text) {
  const next = marked.lexer(text).map(token => marked.parser([token]))
  next.forEach((html, i) => {
    if (html === blocks[i]) return
    const block = preview.children[i] ?? preview.appendChild(document.createElement('div'))
    block.innerHTML = html
  })
  while (preview.children.length > next.length) preview.lastChild.remove()
  blocks = next
  shown.characters = text.length
  status.value = `${shown.characters} characters, filtered by ${shown.filter}`
}
editor.value = markdown(100_000)
render(editor.value)
editor.addEventListener('input', function edit() {
  render(editor.value)
  log('edit', editor.value.length)
})

// A grid of 100 000 rows, which are sorted and filtered at each input. The visible rows are shown.
let seed = 1
const below = n => (seed = seed * 16807 % 2147483647) % n
const syllables = ['an', 'ber', 'co', 'da', 'el', 'fi', 'gra', 'ho', 'in', 'jo', 'ka', 'li', 'mo', 'na', 'or', 'pe', 'ri', 'sa', 'to', 'un']
const rows = Array.from({ length: 100_000 }, (_, id) => ({
  id,
  name: Array.from({ length: 2 + below(3) }, () => syllables[below(20)]).join(''),
  city: Array.from({ length: 2 }, () => syllables[below(20)]).join(''),
  amount: below(100_000) / 100
}))

// Filters by the last word of the text.
function search(text) {
  const wanted = text.split(' ').at(-1)
  const sorted = rows.toSorted((a, b) => a.city < b.city ? -1 : a.city > b.city ? 1 : b.amount - a.amount || a.id - b.id)
  const found = sorted.filter(({ name, city }) => name.includes(wanted) || city.includes(wanted))
  const seen = found.slice(0, 40).map(({ id, name, city, amount }) =>
    `<tr><td>${id}<td>${name.replace(wanted, '<b>$&</b>')}<td>${city}<td>${amount.toFixed(2)}`)
  grid.innerHTML = `<table>${seen.join('')}</table><p>${found.length} rows`
  shown.filter = text.length
  status.value = `${shown.characters} characters, filtered by ${shown.filter}`
}
search('')
filter.addEventListener('input', function find() {
  search(filter.value)
  log('search', filter.value.length)
})

// An animated chart.
const samples = Array.from({ length: 300 }, () => below(1000))
const pen = chart.getContext('2d')
requestAnimationFrame(function draw(time) {
  samples.push(500 + 300 * Math.sin(time / 700) + below(200))
  samples.shift()
  const density = kernelDensityEstimation(samples, 'gaussian', 40)
  pen.clearRect(0, 0, 480, 120)
  pen.beginPath()
  for (let x = 0; x < 480; x += 4) pen.lineTo(x, 118 - 50_000 * density(x * 2))
  pen.stroke()
  requestAnimationFrame(draw)
})

// Analytics: compresses all events, and looks for trends in them.
const events = Array.from({ length: 60_000 }, (_, i) => ({ time: i * 37, type: syllables[below(20)], value: below(1000) }))
const log = (type, value) => { events.push({ time: Math.round(performance.now()), type, value }) }
const sent = { bytes: 0, trend: 0 }
setInterval(function send() {
  sent.bytes += deflateSync(strToU8(JSON.stringify(events)), { level: 9 }).length
}, 2300)
setInterval(function trend() {
  for (let from = 0; from < 5000; from++) {
    const window = events.slice(-2000 - from, events.length - from)
    sent.trend += linearRegression(window.map(({ time, value }) => [time, value])).m + median(window.map(({ value }) => value))
  }
}, 1500)
