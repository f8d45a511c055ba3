import { applyPatch, createPatch, diffArrays, diffChars, diffJson, diffLines, diffWords, parsePatch } from 'diff'
import { program, records } from '../workloads/inputs.mjs'

export function inputs(name, which) {
  const text = program(2, which + 1).slice(0, 400)
  if (name === 'json') return [records(2, 1), records(2, which + 2)]
  return [text, text.replaceAll('x', 'yy').replace('\n', '\nnew\n')]
}

export const calls = {
  lines: ([before, after]) => diffLines(before, after),
  words: ([before, after]) => diffWords(before.slice(0, 200), after.slice(0, 200)),
  chars: ([before, after]) => diffChars(before.slice(0, 120), after.slice(0, 120)),
  json: ([before, after]) => diffJson(before, after),
  arrays: ([before, after]) => diffArrays([...before.slice(0, 80)], [...after.slice(0, 80)]),
  patch: ([before, after]) => applyPatch(before, createPatch('a', before, after)) === after,
  parse: ([before, after]) => parsePatch(createPatch('a', before, after))
}
