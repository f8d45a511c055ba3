import semver from 'semver'

export const inputs = (name, which) => Array.from({ length: 4 }, (_, i) => `${i + which}.${i * 2}.${which}${i % 2 ? '-beta.1' : ''}`)

export const calls = {
  sort: list => semver.rsort([...list]),
  satisfies: list => list.filter(version => semver.satisfies(version, '>=1.0.0 <3 || ~4.1')),
  range: list => new semver.Range(list.map(version => `^${version}`).join(' || ')).toString(),
  increment: list => list.map(version => semver.inc(version, 'prerelease', 'rc')),
  coerce: list => list.map(version => `${semver.coerce(`v${version} x`)}`)
}
