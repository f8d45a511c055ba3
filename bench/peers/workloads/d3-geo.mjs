import {
  geoAlbersUsa,
  geoArea,
  geoCentroid,
  geoCircle,
  geoContains,
  geoDistance,
  geoGraticule,
  geoInterpolate,
  geoMercator,
  geoOrthographic,
  geoPath
} from 'd3-geo'
import { digest, seeded } from './inputs.mjs'

export const sizes = { small: 1, full: 120 }

export function main(size) {
  const random = seeded(1)
  const circles = Array.from({ length: size }, () =>
    geoCircle()
      .center([random.real(-180, 180), random.real(-80, 80)])
      .radius(random.real(1, 40))
      .precision(size > 9 ? 3 : 40)()
  )
  return [
    [geoOrthographic().rotate([30, -20]).clipAngle(90), geoMercator(), geoAlbersUsa()]
      .map(projection => {
        const path = geoPath(projection)
        return circles.map(circle => digest(path(circle) ?? 'none'))
      })
      .flat()
      .join('|').length,
    circles.slice(0, 5).map(c => [geoArea(c), geoCentroid(c), geoContains(c, [0, 0])]),
    digest(geoPath(geoOrthographic())(size > 9 ? geoGraticule()() : geoGraticule().step([90, 90])())),
    geoDistance([0, 0], [10, 20]),
    geoInterpolate([0, 0], [90, 45])(0.3)
  ]
}
