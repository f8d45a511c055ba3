import semver from 'semver'
import { digest, outcome, seeded } from './inputs.mjs'

export const sizes = { small: 5, full: 4000 }

export function main(size) {
  const random = seeded(1)
  const version = () =>
    `${random.integer(0, 4)}.${random.integer(0, 20)}.${random.integer(0, 9)}` +
    `${random.chance(0.3) ? `-beta.${random.integer(0, 5)}` : ''}${random.chance(0.1) ? '+build' : ''}`
  const versions = Array.from({ length: size }, version)
  const ranges = ['^1.2.3', '~2.1', '>=1.0.0 <3.5.0-beta.2 || 4.x', '1.2.3 - 2.3.4', '*', '<0.0.1', '^0.2.3']
  return [
    digest(semver.sort([...versions])),
    ranges.map(range => [
      versions.filter(v => semver.satisfies(v, range)).length,
      semver.maxSatisfying(versions, range),
      semver.validRange(range),
      semver.minVersion(range)?.version
    ]),
    digest(versions.map(v => semver.inc(v, 'prerelease', 'rc'))),
    semver.coerce('v3.4 replaces v3.3.1').version,
    semver.diff('1.2.3', '1.3.0-a'),
    outcome(() => new semver.SemVer('1.2')),
    semver.intersects('^1.2', '<1.3'),
    semver.simplifyRange(versions.slice(0, 50), '>=1 <4'),
    semver.rsort(versions.slice(0, 3))
  ]
}
