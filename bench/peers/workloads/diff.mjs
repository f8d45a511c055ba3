import {
  applyPatch,
  createPatch,
  diffArrays,
  diffChars,
  diffJson,
  diffLines,
  diffWords,
  parsePatch,
  structuredPatch
} from 'diff'
import { digest, program, records, seeded } from './inputs.mjs'

export const sizes = { small: 3, full: 2000 }

export function main(size) {
  const random = seeded(2)
  const before = program(size)
  const after = before
    .split('\n')
    .flatMap(line =>
      random.chance(0.1)
        ? []
        : random.chance(0.1)
          ? [line, 'inserted']
          : random.chance(0.1)
            ? [line.replace('x', 'changed')]
            : [line]
    )
    .join('\n')
  const patch = createPatch('a.js', before, after)
  return [
    digest(diffLines(before, after)),
    digest(diffWords(before.slice(0, 4000), after.slice(0, 4000))),
    diffChars(before.slice(0, 600), after.slice(0, 600)).length,
    digest(patch),
    applyPatch(before, patch) === after,
    applyPatch('other', patch),
    digest(parsePatch(patch)),
    structuredPatch('a', 'b', before, after).hunks.length,
    digest(diffJson(records(3), records(3, 2))),
    diffArrays([1, 2, 3, 4], [1, 3, 4, 5], { comparator: (a, b) => a === b }).length
  ]
}
