import { Minimatch, braceExpand, escape, minimatch } from 'minimatch'
import { digest, outcome, paths } from './inputs.mjs'

export const sizes = { small: 10, full: 20000 }

const patterns = [
  '**/*.{js,mjs}',
  'src/**/test/*.ts',
  '!**/node_modules/**',
  '**/@(index|main).[jt]s',
  'lib/*/[a-m]*.?(c|m)js',
  '**/+([a-z])-{1..20}.css',
  '*.md',
  '**/.*/**',
  'packages/{a,b}/!(dist)/**'
]

export function main(size) {
  const list = paths(size)
  const matchers = patterns.map(pattern => new Minimatch(pattern, { dot: true }))
  return [
    patterns.map(pattern => minimatch.match(list, pattern).length),
    matchers.map(matcher => list.reduce((count, path) => count + (matcher.match(path) ? 1 : 0), 0)),
    list.filter(minimatch.filter('**/*.TS', { nocase: true, matchBase: true })).length,
    list.filter(path => minimatch(path, '{src,lib}/**', { partial: true, optimizationLevel: 2 })).length,
    digest(braceExpand(`{a,b{1..${Math.ceil(size / 40)}},{x,y}{001..009..2}}/{c,d}`).join(' ')),
    matchers.map(({ set, comment, negate }) => [set.length, comment, negate]),
    digest(matchers.map(({ globParts }) => globParts.map(parts => parts.join('/')).join(' ')).join('\n')),
    escape('a*[b]?'),
    outcome(() => minimatch('a', 'x'.repeat(70000)))
  ]
}
