import sourceMap from 'source-map-js'
import { digest, outcome, program, seeded } from './inputs.mjs'

const { SourceMapConsumer, SourceMapGenerator, SourceNode } = sourceMap

export const sizes = { small: 5, full: 6000 }

export function main(size) {
  const random = seeded(1)
  const source = program(size)
  const lines = source.split('\n')
  const generator = new SourceMapGenerator({ file: 'out.js', sourceRoot: '/root' })
  // Unordered mappings, so that the generator sorts them.
  for (let i = 0; i < size * 4; i++) {
    const line = random.integer(1, lines.length)
    const column = random.integer(0, 60)
    generator.addMapping({
      source: `in${line % 7}.js`,
      original: { line, column },
      generated: { line: random.integer(1, lines.length), column },
      name: random.chance(0.3) ? `name${line % 50}` : undefined
    })
  }
  generator.setSourceContent('in1.js', source.slice(0, 500))
  const consumer = new SourceMapConsumer(generator.toJSON())
  let mappings = 0
  let columns = 0
  consumer.eachMapping(
    ({ originalColumn }) => {
      mappings++
      columns += originalColumn
    },
    null,
    SourceMapConsumer.ORIGINAL_ORDER
  )
  const traced = Array.from({ length: size }, (_, i) => {
    const { source, line, column, name } = consumer.originalPositionFor({
      line: (i % lines.length) + 1,
      column: i % 70
    })
    return `${source} ${line} ${column} ${name}`
  })
  const node = new SourceNode(
    null,
    null,
    null,
    lines.map((text, i) => [new SourceNode(i + 1, 0, 'a.js', text, 'x'), '\n'])
  )
  node.walk((chunk, { line }) => {
    columns += chunk.length * (line ?? 1)
  })
  const { code, map } = node.toStringWithSourceMap({ file: 'b.js' })
  const combined = SourceMapGenerator.fromSourceMap(new SourceMapConsumer(map.toString()))
  combined.applySourceMap(consumer, 'a.js')
  return [
    digest(generator.toString()),
    mappings,
    columns,
    digest(traced.join('\n')),
    consumer.allGeneratedPositionsFor({ source: '/root/in1.js', line: 1 }).length,
    consumer.generatedPositionFor({
      source: '/root/in2.js',
      line: 2,
      column: 0,
      bias: SourceMapConsumer.LEAST_UPPER_BOUND
    }),
    consumer.hasContentsOfAllSources(),
    code.length,
    digest(combined.toString()),
    digest(
      SourceNode.fromStringWithSourceMap(code.slice(0, 5000), new SourceMapConsumer(map.toJSON())).toString()
    ),
    outcome(() => new SourceMapConsumer({ version: 2, sources: [], mappings: '' })),
    outcome(() => new SourceMapConsumer({ version: 3, sources: [], mappings: '!' }).eachMapping(() => {})),
    outcome(() => generator.addMapping({ generated: { line: 0, column: -1 } }))
  ]
}
