/** Inputs of the corpus. They are the same on every machine and in every run. */
import { seeded } from '../support/seeded.mjs'

/** Integers from 0 to `below - 1`. @param {number} count @param {number} below @param {number} [seed] */
export function integers(count, below, seed = 1) {
  const random = seeded(seed)
  return Array.from({ length: count }, () => random.integer(0, below - 1))
}

/** Numbers in [-1, 1). @param {number} count @param {number} [seed] */
export function reals(count, seed = 1) {
  const random = seeded(seed)
  return Float64Array.from({ length: count }, () => random.real(-1, 1))
}

/** @param {number} count @param {number} [seed] */
export const bytes = (count, seed = 1) => Uint8Array.from(integers(count, 256, seed))

const words = [
  'the', 'of', 'and', 'a', 'to', 'in', 'is', 'deadline', 'scheduler', 'priority', 'task', 'job', 'when',
  'budget', 'slice', 'round', 'clock', 'which', 'naïve', 'preemption', 'point', 'loop', 'yield', 'early',
  "isn't", 'alarm', 'Öl', 'waits', 'for', 'no', 'one', 'queue', 'heap', 'latest', '42', 'x86'
]

/** A text of `count` words in sentences and paragraphs. @param {number} count @param {number} [seed] */
export function prose(count, seed = 1) {
  const random = seeded(seed)
  let text = ''
  for (let i = 0; i < count; i++) {
    const word = words[Math.floor(random.real() ** 2 * words.length)]
    const end = i === count - 1 || random.chance(0.1)
    text += word + (!end ? random.chance(0.1) ? ', ' : ' ' : random.chance(0.3) ? '.\n\n' : '. ')
  }
  return text
}

/** A program of `count` statements, for lexers. @param {number} count @param {number} [seed] */
export function program(count, seed = 1) {
  const random = seeded(seed)
  const name = () => random.pick(['x', 'total', 'list', 'i', '$item', '_rest', 'count2'])
  const operator = () => random.pick(['+', '-', '*', '<=', '&&'])
  const value = () => random.pick([
    name,
    name,
    () => String(random.integer(0, 9999)),
    () => `"${name()} \\"quoted\\""`,
    () => (random.real() * 100).toFixed(3),
    () => `(${name()} ${operator()} ${name()})`
  ])()
  const statement = () => random.pick([
    () => `let ${name()} = ${value()};`,
    () => `if (${name()} >= ${value()}) { ${name()} += ${value()}; } else return ${value()};`,
    () => `// ${name()} is ${value()}`,
    () => `/* ${name()}\n * ${name()} */`,
    () => `while (${name()} !== ${value()}) ${name()}(${value()}, ${value()});`
  ])()
  let text = ''
  for (let i = 0; i < count; i++) text += `${statement()}\n`
  return text
}
