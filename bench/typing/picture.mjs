/**
 * An animated SVG of recorded typing: each key, each text of the field and each list appears at the time at
 * which it was recorded, and a spinner turns by one step at each recorded frame. Images run no scripts, so
 * the recorded times are the keyframes of CSS animations.
 */

/**
 * @typedef {object} Side
 * @property {string} title
 * @property {string} text the text that was typed
 * @property {number} rate frames per second while the user typed
 * @property {number[]} keys
 * @property {import('./watch.mjs').Frame[]} frames
 */

/** Size of the picture, and width of one side. */
const [WIDTH, HEIGHT, SIDE] = [800, 248, 394]

/** Time before the first key and after the last result, ms. */
const [BEFORE, AFTER] = [600, 2000]

/** Degrees for each frame: 60 frames are one turn. */
const STEP = 6

/** @param {Side[]} sides @returns {string} */
export function animatedSvg(sides) {
  const lasts = ({ keys, frames, text }) => frames.find(({ status }) => isFor(text, status)).time - keys[0]
  const animations = new Animations(BEFORE + Math.max(...sides.map(lasts)) + AFTER)
  const drawn = sides.map((side, i) =>
    `<g transform="translate(${i * (WIDTH - SIDE)})">\n${drawnSide(side, animations)}\n</g>`)
  const summary = sides.map(({ title, rate }) => `${title}, ${rate.toFixed(0)} fps`).join('; ')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}"
  viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">
<title>The same keys in two search fields: ${summary}</title>
<style>
svg { --back: #fff; --line: #d0d7de; --text: #1f2328; --dim: #59636e; --mark: #0969da }
@media (prefers-color-scheme: dark) {
  svg { --back: #151b23; --line: #3d444d; --text: #f0f6fc; --dim: #9198a1; --mark: #4493f8 }
}
rect { fill: var(--back); stroke: var(--line) }
text { fill: var(--text); font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.title { font: bold 16px system-ui, sans-serif }
.dim { fill: var(--dim); font: 13px system-ui, sans-serif }
.key { opacity: .2 }
.field { font-size: 16px }
.mark { fill: var(--mark); font-weight: bold }
.state { visibility: hidden }
.last { visibility: visible }
.spinner { fill: none; stroke: var(--mark); stroke-width: 3; transform-origin: 370px 23px }
[style] { animation: ${(animations.duration / 1000).toFixed(2)}s step-end infinite }
${animations.keyframes.join('\n')}
@media (prefers-reduced-motion: reduce) { [style] { animation: none } .key { opacity: 1 } }
</style>
${drawn.join('\n')}
</svg>
`
}

/** @param {Side} side @param {Animations} animations */
function drawnSide({ title, text, rate, keys, frames }, animations) {
  const begin = keys[0] - BEFORE
  const painted = frames.map(frame => ({ ...frame, time: frame.time - begin }))
    .filter(({ time }) => time >= 0 && time < animations.duration)
  const turns = painted.map(({ time }, i) => /** @type {const} */ ([time, `rotate:${i * STEP % 360}deg`]))
  return [
    `<rect x=".5" y=".5" width="${SIDE - 1}" height="${HEIGHT - 1}" rx="8"/>`,
    label(16, 29, 'title', title),
    label(348, 28, 'dim" text-anchor="end', `${rate.toFixed(0)} fps while typing`),
    `<path class="spinner" ${animations.of(turns)} d="M370 15a8 8 0 1 1-8 8"/>`,
    label(16, 61, 'dim', 'keys'),
    ...[...text].map((key, i) => {
      const pressed = animations.of([[keys[i] - begin, 'opacity:1']])
      const cap = `<rect x="${60 + 28 * i}" y="44" width="24" height="24" rx="4"/>`
      return `<g class="key" ${pressed}>${cap}${label(68 + 28 * i, 60, '', key)}</g>`
    }),
    `<rect x="16" y="80" width="${SIDE - 32}" height="34" rx="6"/>`,
    ...states(animations, painted, ({ text }) => text, ({ text }) =>
      label(28, 102, 'field', `${text}<tspan class="mark">|</tspan>`)),
    ...states(animations, painted, ({ status }) => status, ({ status, rows = [] }) =>
      label(16, 136, 'dim', status) + rows.map((row, i) => label(16, 162 + 22 * i, '', marked(row))).join(''))
  ].join('\n')
}

/** Draws each value that successive frames have. Each drawing is visible until the value changes. */
function states(animations, frames, valueOf, draw) {
  const changes = frames.filter((frame, i) => i === 0 || valueOf(frame) !== valueOf(frames[i - 1]))
  return changes.map((frame, i) => {
    const isLast = i === changes.length - 1
    const visible = animations.of([
      [0, 'visibility:hidden'],
      [i === 0 ? 0 : frame.time, 'visibility:visible'],
      ...isLast ? [] : [/** @type {const} */ ([changes[i + 1].time, 'visibility:hidden'])]
    ])
    return `<g class="state${isLast ? ' last' : ''}" ${visible}>${draw(frame)}</g>`
  })
}

const label = (x, y, name, content) => `<text x="${x}" y="${y}" class="${name}">${content}</text>`

const marked = html => html.replaceAll('<b>', '<tspan class="mark">').replaceAll('</b>', '</tspan>')

/** @param {string} text @param {string} status */
const isFor = (text, status) => status.startsWith(`${text}: `)

/** The keyframes of all animations. The animations are equally long and repeat together. */
class Animations {
  /** @type {string[]} */
  keyframes = []

  /** @param {number} duration ms */
  constructor(duration) {
    this.duration = duration
  }

  /** @param {(readonly [time: number, declaration: string])[]} steps @returns {string} an attribute */
  of(steps) {
    const name = `a${this.keyframes.length}`
    const percent = time => `${Number((time / this.duration * 100).toFixed(2))}%`
    const frames = steps.map(([time, declaration]) => `${percent(time)}{${declaration}}`)
    this.keyframes.push(`@keyframes ${name}{${frames.join('')}}`)
    return `style="animation-name:${name}"`
  }
}
