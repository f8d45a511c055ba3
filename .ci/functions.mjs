// Prints five random functions of each module, for a reader who has not written them. The reader explains each
// function after one reading; where the explanation fails, the names, the comments or the structure need work.
//
//   node .ci/functions.mjs --seed 1               modules of more than 300 lines
//   node .ci/functions.mjs --only addons/adopt --lines 0 --count 2
import { readFileSync, readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { read } from '../addons/preemptify/read.mjs'
import { seeded } from '../test/support/seeded.mjs'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '5' },
    lines: { type: 'string', default: '300' },
    only: { type: 'string', default: '' }
  }
})

/** Minimum length of a function, lines: shorter ones explain themselves. */
const MIN_LINES = 4
const root = new URL('../', import.meta.url)
const modules = readdirSync(new URL('addons', root), { recursive: true })
  .map(name => `addons/${name}`).filter(name => name.endsWith('.mjs')).sort()

for (const module of ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...modules]) {
  if (!module.startsWith(values.only)) continue
  const source = readFileSync(new URL(module, root), 'utf8')
  const lines = source.split('\n')
  if (lines.length <= Number(values.lines)) continue
  const lineOf = offset => source.slice(0, offset).split('\n').length - 1
  const ranges = functionsOf(read(source, 'module')).map(({ start, end }) => [lineOf(start), lineOf(end - 1)])
    .filter(([first, last]) => last - first + 1 >= MIN_LINES)
  const random = seeded(Number(values.seed))
  for (const [first, last] of random.shuffle(ranges).slice(0, Number(values.count))) {
    let from = first
    while (/^\s*(?:\/\/|\/?\*)/.test(lines[from - 1] ?? '')) from--
    console.log(`\n=== ${module}:${first + 1}\n${lines.slice(from, last + 1).join('\n')}`)
  }
}

/** The functions and methods of a tree, without callbacks. */
function functionsOf(tree) {
  const found = []
  const walk = (node, parent) => {
    const isMethod = parent?.type === 'MethodDefinition' || parent?.type === 'Property' && parent.method
    if (/Function/.test(node.type) && parent?.type !== 'CallExpression') found.push(isMethod ? parent : node)
    for (const key in node) {
      if (key === 'parent') continue
      for (const part of [node[key]].flat()) if (typeof part?.type === 'string') walk(part, node)
    }
  }
  walk(tree)
  return found
}
