import { writeFile } from 'node:fs/promises'

const [width, height, left, top, bottom] = [960, 392, 56, 64, 56]
const floor = height - bottom
const colours = ['#c2410c', '#1d4ed8', '#15803d', '#7e22ce', '#0e7490', '#a16207', '#be185d', '#78716c']

/**
 * Writes a chart to the directory that `--svg` names, if the option is given.
 *
 * @param {string} name @param {string} svg
 */
export async function picture(name, svg) {
  const at = process.argv.indexOf('--svg')
  if (at < 0) return
  const file = `${process.argv[at + 1]}/${name}.svg`
  await writeFile(file, svg)
  console.log(`${file} is written`)
}

/**
 * Draws curves as a standalone SVG.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {string} chart.across title of the horizontal axis
 * @param {boolean} [chart.logarithmic] both axes; values are then > 0
 * @param {{ name: string, points: [x: number, y: number][] }[]} chart.curves
 * @returns {string}
 */
export function lineChart({ title, across, logarithmic = false, curves }) {
  const [x, y] = [[left, width - 24], [floor, top]].map(([from, to], which) => {
    const values = curves.flatMap(({ points }) => points.map(point => point[which]))
    return axis(values, from, to, logarithmic ? 10 ** Math.floor(Math.log10(Math.min(...values))) : undefined)
  })
  return svg(title, [
    ...y.marks.map(value => grid(value, y.at(value))),
    ...x.marks.map(value => text(x.at(value), floor + 16, mark(value), 'middle')),
    text(width - 24, floor + 32, across, 'end'),
    ...curves.map(({ points }, i) => `<polyline fill="none" stroke="${colours[i % colours.length]}" stroke-width="2" points="${
      points.map(point => `${x.at(point[0]).toFixed(1)},${y.at(point[1]).toFixed(1)}`).join(' ')}"/>`),
    ...legend(curves.map(({ name }) => name))
  ])
}

/**
 * Draws a bar chart as a standalone SVG.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {number} [chart.least] start of a logarithmic axis; smaller values have no bar. Without it, the axis
 *   is linear
 * @param {{ label: string, bars: { name: string, value: number, deviation?: number, beside?: number }[] }[]}
 *   chart.groups all groups have the same bars; `beside`: the published value, drawn as an outlined bar
 * @returns {string}
 */
export function barChart({ title, least, groups }) {
  const all = groups.flatMap(({ bars }) => bars)
  const { marks, at: y } = axis(all.flatMap(({ value, deviation = 0, beside = 0 }) => [value + deviation, beside]), floor, top, least)
  const step = (width - left - 8) / groups.length
  const names = groups[0].bars.map(({ name }) => name)
  const bar = step * 0.8 / names.length
  const parts = marks.map(value => grid(value, y(value)))
  groups.forEach(({ label, bars }, group) => {
    const begin = left + group * step + step * 0.1
    parts.push(...lines(label, step).map((line, i) => text(begin + step * 0.4, floor + 14 + 13 * i, line, 'middle')))
    bars.forEach(({ value, deviation = 0, beside }, i) => {
      const x = begin + i * bar
      parts.push(rectangle(x, y(value), bar - 1, floor, `fill="${colours[i % colours.length]}"`))
      if (value > (least ?? 0) && deviation > 0) {
        const middle = (x + (bar - 1) / 2).toFixed(1)
        parts.push(`<path d="M${middle} ${y(value + deviation).toFixed(1)}V${y(Math.max(0, value - deviation)).toFixed(1)}" stroke="#888" stroke-width="2"/>`)
      }
      if (beside !== undefined) parts.push(rectangle(x, y(beside), bar - 1, floor, 'fill="none" stroke="currentColor" stroke-dasharray="2"'))
    })
  })
  const isBeside = all.some(({ beside }) => beside !== undefined)
  return svg(`${title}${isBeside ? ': measured (filled) and published (outlined)' : ''}`, [...parts, ...legend(names)])
}

/**
 * @param {number[]} values values to show
 * @param {number} from start of the axis in the picture
 * @param {number} to end of the axis in the picture
 * @param {number} [least] start of a logarithmic axis; a linear axis starts with 0
 */
function axis(values, from, to, least) {
  const most = Math.max(...values) || 1
  const scale = value => least === undefined ? value / step : Math.log10(Math.max(value, least) / least)
  const decade = 10 ** Math.floor(Math.log10(most / 5))
  const step = decade * [2, 5, 10].find(times => times * decade >= most / 5)
  const steps = Math.max(1, Math.ceil(scale(most)))
  const marks = Array.from({ length: steps + 1 }, (_, i) => least === undefined ? i * step : least * 10 ** i)
  return { marks, at: value => from + (to - from) * scale(value) / steps }
}

const mark = new Intl.NumberFormat('en', { notation: 'compact' }).format

const grid = (value, y) =>
  `<path d="M${left} ${y.toFixed(1)}H${width - 8}" stroke="#8884"/>${text(left - 6, y + 4, mark(value), 'end')}`

function legend(names) {
  const [step, perRow] = [224, 4]
  return names.map((name, i) => {
    const [x, y] = [left + i % perRow * step, 28 + 16 * Math.floor(i / perRow)]
    return `<rect x="${x}" y="${y}" width="10" height="10" fill="${colours[i % colours.length]}"/>${text(x + 16, y + 9, name, 'start')}`
  })
}

function svg(title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img">
<title>${title}</title>
<style>svg { color: #1c1917; background: #fff } text { fill: currentColor }
@media (prefers-color-scheme: dark) { svg { color: #e7e5e4; background: #1c1917 } rect, polyline { filter: brightness(1.5) } }</style>
${text(left, 18, title, 'start')}
${parts.join('\n')}
</svg>
`
}

/** Wraps a label into lines of at most `length` pixels. */
function lines(label, length) {
  const found = ['']
  for (const word of label.split(' ')) {
    const line = `${found.at(-1)} ${word}`.trim()
    if (line.length * 6 > length && found.at(-1) !== '') found.push(word)
    else found[found.length - 1] = line
  }
  return found
}

const text = (x, y, content, anchor) =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</text>`

const rectangle = (x, y, width, floor, style) => floor - y < 0.5 ? '' :
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${(floor - y).toFixed(1)}" ${style}/>`
