import { paperSubtests, subtests } from './experiment.mjs'

/** @typedef {import('./experiment.mjs').Outcome} Outcome */

/**
 * Returns the cells of a subtest's row. `isGood` says whether a value meets its target, if it has one.
 *
 * @param {Outcome} outcome
 * @returns {{ text: string, isGood?: boolean }[]}
 */
export function cellsOf({ frames, input, perSecond, jobs }) {
  return [
    { text: frames.mean.toFixed(1), isGood: frames.mean >= 59.5 },
    { text: frames.minimum === null ? '–' : String(frames.minimum), isGood: (frames.minimum ?? 60) >= 57 },
    atMost(22, frames.interval),
    atMost(16, input.latency),
    { text: perSecond.blocks > 0 ? grouped(perSecond.blocks) : '–' },
    { text: perSecond.worked > 0 ? grouped(perSecond.worked) : '–' },
    { text: jobs.ended > 0 ? percent(jobs.late / jobs.ended) : '–' }
  ]
}

/** @param {number} ms @param {import('./statistics.mjs').Spread | null} spread */
const atMost = (ms, spread) =>
  spread === null ? { text: '–' } : { text: figure(spread.p95), isGood: spread.p95 <= ms }

/** @param {number} value shown with one decimal below 10 */
export const figure = value => value.toFixed(value < 9.95 ? 1 : 0)

/** @param {number} value */
export const grouped = value => Math.round(value).toLocaleString('en-US').replaceAll(',', '\u202f')

/** @param {number} share */
export const percent = share => `${(share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u202f%`

const left = 30
const gap = 28
const panelHeight = 120
const most = 70

/**
 * Draws figure 8 of the paper: the frames of every second, with a panel per way and the subtests side by
 * side.
 *
 * @param {Outcome[]} outcomes
 * @param {number} width CSS pixels
 * @returns {string} SVG whose colors are CSS properties
 */
export function figureOf(outcomes, width) {
  const ways = [...new Set(outcomes.map(({ way }) => way))]
  const columns = paperSubtests.filter(subtest => outcomes.some(outcome => outcome.subtest === subtest))
  const columnWidth = (width - left) / Math.max(1, columns.length)
  const height = ways.length * (panelHeight + gap) + gap
  const parts = ways.flatMap((way, row) => {
    const top = row * (panelHeight + gap) + gap
    const y = rate => round(top + panelHeight * (1 - Math.min(rate, most) / most))
    const { title } = outcomes.find(outcome => outcome.way === way)
    const grid = [0, 30, 60].flatMap(rate => [
      `<path d="M${left} ${y(rate)}H${width}" stroke="var(--line)"/>`,
      text(left - 5, y(rate) + 4, rate, 'end')
    ])
    const curves = columns.map((subtest, column) => {
      const x = left + column * columnWidth
      const outcome = outcomes.find(candidate => candidate.way === way && candidate.subtest === subtest)
      const border =
        `<path d="M${round(x)} ${top}v${panelHeight}" stroke="var(--line)" stroke-dasharray="3 3"/>`
      const steps = outcome === undefined ? '' : curve(outcome.frames.perSecond, x, columnWidth, y, way)
      return `${column > 0 ? border : ''}${steps}`
    })
    return [text(0, top - 8, `${title}, frames per second`, 'start', 600), ...grid, ...curves]
  })
  const titles = columns.map((subtest, column) =>
    text(round(left + (column + 0.5) * columnWidth), height - 6, subtests[subtest].short, 'middle'))
  const label = `Frames per second in each subtest: ${ways.length} ways, ${columns.length} loads`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" ` +
    `aria-label="${label}" fill="none">${parts.join('')}${titles.join('')}</svg>`
}

/** Draws a step curve with one step per second. */
function curve(rates, x, width, y, way) {
  const step = width / Math.max(1, rates.length)
  const steps = rates.map((rate, second) =>
    `${second === 0 ? 'M' : 'L'}${round(x + second * step)} ${y(rate)}h${round(step)}`)
  return `<path d="${steps.join('')}" stroke="var(--${way})" stroke-width="2" stroke-linejoin="round"/>`
}

function text(x, y, content, anchor, weight = 400) {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="12" font-weight="${weight}" ` +
    `fill="var(--muted)">${content}</text>`
}

const round = value => Math.round(value * 10) / 10
