import picomatch from 'picomatch'
import { digest, outcome, paths } from './inputs.mjs'

export const sizes = { small: 10, full: 12000 }

const patterns = [
  '**/*.{js,mjs}',
  'src/**/test/*.ts',
  '!**/node_modules/**',
  '**/@(index|main).[jt]s',
  'lib/*/[[:alpha:]]*.?(c|m)js',
  '**/+([a-z])-{1..20}.css',
  './*.md',
  '**/.*/**',
  'packages/{a,b}/!(dist)/**'
]

export function main(size) {
  const list = paths(size)
  const seen = { match: 0, result: 0, ignored: 0 }
  const isSource = picomatch(['**/*.js', '**/*.ts'], {
    ignore: ['**/test/**', '**/.*'],
    onMatch: () => seen.match++,
    onResult: () => seen.result++,
    onIgnore: () => seen.ignored++
  })
  const isTyped = picomatch('**/*.TS', { nocase: true, format: path => path.replace(/^src\//, '') })
  const compiled = []
  // Many tools compile the patterns again for each folder.
  for (let i = 0; i < size / 4; i++) {
    const { base, glob, isGlob, negated } = picomatch.scan(`packages/p${i}/${patterns[i % patterns.length]}`)
    compiled.push(`${base} ${glob} ${isGlob} ${negated} ${picomatch.makeRe(`p${i}/${glob}`).source.length}`)
  }
  return [
    patterns.map(pattern => {
      const isMatch = picomatch(pattern, { dot: true })
      return list.filter(path => isMatch(path)).length
    }),
    list.filter(path => isSource(path)).length,
    seen,
    digest(compiled.join('\n')),
    digest(patterns.map(pattern => picomatch.makeRe(pattern).source).join('\n')),
    list.filter(path => isTyped(path)).length,
    digest(
      patterns
        .flatMap(pattern => picomatch.parse(pattern).tokens.map(({ type, value }) => `${type} ${value}`))
        .join(' ')
    ),
    picomatch.isMatch('a/b', 'a/*', { contains: true }),
    outcome(() => picomatch('')),
    outcome(() => picomatch.makeRe('a'.repeat(70000)))
  ]
}
