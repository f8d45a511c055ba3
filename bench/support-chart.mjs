import { writeFile } from 'node:fs/promises'

const [width, height, left, top, bottom] = [960, 360, 56, 48, 40]
const floor = height - bottom
const colours = ['#c2410c', '#1d4ed8', '#15803d', '#7e22ce', '#0e7490', '#a16207']

/** Writes a chart into the directory that `--svg` names, if there is one. @param {string} name @param {string} svg */
export async function picture(name, svg) {
  const at = process.argv.indexOf('--svg')
  if (at < 0) return
  const file = `${process.argv[at + 1]}/${name}.svg`
  await writeFile(file, svg)
  console.log(`${file} is written`)
}

/**
 * Curves, as an SVG of its own.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {string} chart.across what the horizontal axis shows
 * @param {boolean} [chart.logarithmic] both axes; values are then > 0
 * @param {{ name: string, points: [x: number, y: number][] }[]} chart.curves
 * @returns {string}
 */
export function lineChart({ title, across, logarithmic = false, curves }) {
  const all = curves.flatMap(({ points }) => points)
  const axis = (which, from, to) => {
    const values = all.map(point => point[which])
    const scale = logarithmic ? Math.log10 : Number
    const begin = logarithmic ? Math.floor(scale(Math.min(...values))) : 0
    const end = logarithmic ? Math.max(begin + 1, Math.ceil(scale(Math.max(...values)))) : Math.max(...values)
    const marks = logarithmic ? Array.from({ length: end - begin + 1 }, (_, i) => 10 ** (begin + i))
      : [0, 1, 2, 3, 4].map(i => end * i / 4)
    return { marks, at: value => from + (to - from) * (scale(value) - begin) / (end - begin) }
  }
  const [x, y] = [axis(0, left, width - 24), axis(1, floor, top)]
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
 * A bar chart on a logarithmic axis, as an SVG of its own.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {number} chart.least what the axis begins with; smaller values have no bar
 * @param {{ label: string, bars: { name: string, value: number, deviation?: number, beside?: number }[] }[]} chart.groups
 *   each with the same bars; `beside`: an outlined bar of another's figure
 * @returns {string}
 */
export function barChart({ title, least, groups }) {
  const all = groups.flatMap(({ bars }) => bars.flatMap(({ value, deviation = 0, beside = 0 }) => [value + deviation, beside]))
  const decades = Math.max(1, Math.ceil(Math.log10(Math.max(least * 10, ...all) / least)))
  const y = value => floor - (floor - top) * Math.max(0, Math.log10(Math.max(value, least) / least)) / decades
  const step = (width - left - 8) / groups.length
  const names = groups[0].bars.map(({ name }) => name)
  const bar = step * 0.8 / names.length
  const parts = []
  for (let decade = 0; decade <= decades; decade++) {
    const value = least * 10 ** decade
    parts.push(grid(value, y(value)))
  }
  groups.forEach(({ label, bars }, group) => {
    const begin = left + group * step + step * 0.1
    parts.push(text(begin + step * 0.4, floor + 18, label, 'middle'))
    bars.forEach(({ value, deviation = 0, beside }, i) => {
      const x = begin + i * bar
      parts.push(rectangle(x, y(value), bar - 1, floor, `fill="${colours[i % colours.length]}"`))
      if (value > least && deviation > 0) {
        const middle = (x + (bar - 1) / 2).toFixed(1)
        parts.push(`<path d="M${middle} ${y(value + deviation).toFixed(1)}V${y(value - deviation).toFixed(1)}" stroke="#888" stroke-width="2"/>`)
      }
      if (beside !== undefined) parts.push(rectangle(x, y(beside), bar - 1, floor, 'fill="none" stroke="currentColor" stroke-dasharray="2"'))
    })
  })
  return svg(title, [...parts, ...legend(names)])
}

const mark = value => String(Number(value.toPrecision(2)))

const grid = (value, y) =>
  `<path d="M${left} ${y.toFixed(1)}H${width - 8}" stroke="#8884"/>${text(left - 6, y + 4, mark(value), 'end')}`

function legend(names) {
  const step = Math.min(220, (width - left) / names.length)
  return names.map((name, i) => `<rect x="${left + i * step}" y="28" width="10" height="10" fill="${colours[i % colours.length]}"/>${
    text(left + i * step + 16, 37, name, 'start')}`)
}

function svg(title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img">
<title>${title}</title>
<style>svg { color: #1c1917; background: #fff } text { fill: currentColor }
@media (prefers-color-scheme: dark) { svg { color: #e7e5e4; background: #1c1917 } }</style>
${text(left, 18, title, 'start')}
${parts.join('\n')}
</svg>
`
}

const text = (x, y, content, anchor) =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</text>`

const rectangle = (x, y, width, floor, style) => floor - y < 0.5 ? '' :
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${(floor - y).toFixed(1)}" ${style}/>`
