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
  const [width, height, left, top, bottom] = [960, 360, 56, 48, 40]
  const all = groups.flatMap(({ bars }) => bars.flatMap(({ value, deviation = 0, beside = 0 }) => [value + deviation, beside]))
  const decades = Math.max(1, Math.ceil(Math.log10(Math.max(least * 10, ...all) / least)))
  const floor = height - bottom
  const y = value => floor - (floor - top) * Math.max(0, Math.log10(Math.max(value, least) / least)) / decades
  const step = (width - left - 8) / groups.length
  const names = groups[0].bars.map(({ name }) => name)
  const bar = step * 0.8 / names.length
  const colours = ['#c2410c', '#1d4ed8', '#15803d', '#7e22ce']
  const parts = []
  for (let decade = 0; decade <= decades; decade++) {
    const value = least * 10 ** decade
    parts.push(`<path d="M${left} ${y(value).toFixed(1)}H${width - 8}" stroke="#8884"/>`,
      text(left - 6, y(value) + 4, String(Number(value.toPrecision(1))), 'end'))
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
  names.forEach((name, i) => {
    parts.push(`<rect x="${left + i * 180}" y="28" width="10" height="10" fill="${colours[i % colours.length]}"/>`,
      text(left + i * 180 + 16, 37, name, 'start'))
  })
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
