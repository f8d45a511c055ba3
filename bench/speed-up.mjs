import { Workers } from '../addons/workers.mjs'
import { farm } from '../examples/farm/farm.mjs'
import { whole } from '../examples/farm/mandelbrot.mjs'
import { rt } from '../rt.mjs'
import { lineChart, picture } from './support-chart.mjs'
import { heading, median, optionsOf, table } from './support.mjs'

// Communicating Generators, figure 10: a farmer distributes the lines of a Mandelbrot set.
const values = optionsOf({ workers: '1,2,4,8', size: '3000x2000', passes: '3' })
const counts = values.workers.split(',').map(Number)
if (!counts.every(count => Number.isSafeInteger(count) && count > 0)) throw new RangeError(`--workers must be whole numbers > 0, got '${values.workers}'`)
const [width, height] = values.size.split('x').map(Number)
const view = whole(width, height)
const passes = Number(values.passes)

const ways = {
  'not harvested': workers => Promise.all(Array.from({ length: height }, (_, row) => workers.spawn('discardRow', {}, view, row))),
  harvested: workers => rt.spawn(farm(workers, view, () => {}))
}
/** The greatest published speed-ups, on 8 cores. The published curve without harvest is a straight line. */
const published = { 'not harvested': 8, harvested: 6 }

const crews = counts.map(size => new Workers(new URL('support-works.mjs', import.meta.url), { size }))
const times = Object.keys(ways).map(() => counts.map(() => []))
// The first pass is warm-up.
for (let pass = -1; pass < passes; pass++) {
  for (const [at, draw] of Object.values(ways).entries()) {
    for (const [index, crew] of crews.entries()) {
      const began = performance.now()
      await draw(crew)
      if (pass >= 0) times[at][index].push(performance.now() - began)
    }
  }
}
await Promise.all(crews.map(crew => crew.close()))

heading('how a Mandelbrot set gains by workers (Communicating Generators, figure 10)',
  `${width} x ${height} pixels, a job per line; wall time, medians of ${passes} passes; published: of 8 workers on 8 cores`)
const speedUps = times.map(([first, ...others]) => [1, ...others.map(all => median(all.map((ms, pass) => first[pass] / ms)))])
const names = Object.keys(ways)
table(
  ['workers', ...names.flatMap(name => [`${name}, s`, 'speed-up', 'published'])],
  counts.map((count, index) => [String(count), ...names.flatMap((name, at) =>
    [median(times[at][index]) / 1000, speedUps[at][index], count === 8 ? published[name] : ''])])
)
const most = Math.max(...counts)
await picture('csp-figure-10', lineChart({
  title: 'Speed-up of a Mandelbrot set', across: 'workers', curves: [
    ...names.map((name, at) => ({ name, points: counts.map((count, index) => [count, speedUps[at][index]]) })),
    { name: 'published, not harvested', points: [[1, 1], [most, most]] },
    { name: 'published, harvested: at most', points: [[1, published.harvested], [most, published.harvested]] }
  ]
}))
