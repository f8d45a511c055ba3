import { draw, endOfPanels, originOf, sceneHeight } from './drawing.mjs'
import { Schedule, scheduleOf } from './intervals.mjs'
import { escapeXml, svgPen, svgStyle } from './pens.mjs'
import { story, summary } from './words.mjs'

/**
 * Draws a schedule as the text of a standalone SVG. Needs no DOM.
 *
 * @param {Iterable<import('./intervals.mjs').TraceRecord> | Schedule} records
 * @param {object} [options]
 * @param {number} [options.width] pixels; default 960
 * @param {number} [options.rowHeight] default 24
 * @param {number} [options.from] ms after the first record; default 0
 * @param {number} [options.span] ms; default: to the end
 * @param {string} [options.title]
 * @param {number} [options.miss] index of a missed deadline; the picture shows the jobs that ran instead
 * @param {'light' | 'dark' | 'auto'} [options.scheme] default 'auto': the preference of the viewer
 * @param {boolean} [options.hasLegend] default true
 * @returns {string}
 */
export function toSVG(records, options = {}) {
  const { width = 960, rowHeight = 24, from = 0 } = options
  const { title = 'Schedule', scheme = 'auto', hasLegend = true } = options
  const schedule = records instanceof Schedule ? records : scheduleOf(records)
  const panel = { schedule }
  const { span = Math.max(1e-3, endOfPanels([panel]) - from) } = options
  for (const [name, value] of Object.entries({ width, rowHeight, span })) {
    if (!(value > 0)) throw new RangeError(`${name} must be a number > 0, got ${value}`)
  }
  const activation = options.miss === undefined ? undefined : schedule.misses[options.miss]
  if (options.miss !== undefined && !activation) {
    throw new RangeError(`miss must be one of ${schedule.misses.length}, got ${options.miss}`)
  }
  const selected = activation ? { panel, activation } : null
  return svgOf({ panels: [panel], width, rowHeight, from, span, selected, hasLegend }, title, scheme)
}

/**
 * Draws a scene as SVG, with a text about the selected job below it.
 * @param {import('./drawing.mjs').Scene} scene
 * @param {string} title
 * @param {'light' | 'dark' | 'auto'} scheme
 */
export function svgOf(scene, title, scheme) {
  const { panels, width, selected } = scene
  const { pen, text } = svgPen()
  const chartHeight = sceneHeight(scene)
  const told = selected ? story(selected.panel.schedule, selected.activation, originOf(selected.panel)) : ''
  const lines = wrapped(told, Math.floor((width - 16) / 6))
  const height = chartHeight + (lines.length ? lines.length * 16 + 12 : 0)
  pen.box(0, 0, width, height, 'background')
  draw(pen, scene)
  lines.forEach((line, i) => pen.text(line, 8, chartHeight + 12 + i * 16, 'text'))
  const description = panels.flatMap(({ schedule, title }) => [
    `${title ? `${title}: ` : ''}${summary(schedule)}.`,
    ...schedule.misses.slice(0, 20).map(activation => story(schedule, activation))
  ])
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `height="${height}" role="img" font-family="system-ui, sans-serif">
<title>${escapeXml(title)}</title>
<desc>${escapeXml(description.join('\n'))}</desc>
<style>${svgStyle(scheme)}</style>
${text()}
</svg>
`
}

/** @param {string} text @param {number} width characters */
function wrapped(text, width) {
  const lines = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line && line.length + word.length >= width) {
      lines.push(line)
      line = ''
    }
    line += `${line ? ' ' : ''}${word}`
  }
  return line ? [...lines, line] : lines
}
