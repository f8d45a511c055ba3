import { bytes } from './inputs.mjs'

async function consume(chunks, separator) {
  const lines = []
  let rest = ''
  for await (const { text, last = false } of chunks) {
    const parts = (rest + text).split(separator)
    rest = parts.pop()
    for (const part of parts) if (part) lines.push(part)
    if (last) break
  }
  return rest ? [...lines, rest] : lines
}

/** A stream of chunks, some of which arrive after a delay. `closed` counts the calls of `return()`. */
class Source {
  closed = 0
  at = 0

  constructor(texts) {
    this.texts = texts
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    if (this.at % 3 === 1) await null
    const last = this.at === this.texts.length - 3
    if (this.at === this.texts.length) return { value: undefined, done: true }
    return { value: { text: this.texts[this.at++], last }, done: false }
  }

  async return() {
    this.closed++
    return {}
  }
}

const text = byte => byte % 4 ? `${byte}` : `${byte},,${byte},`

export default {
  name: 'async consumer',
  kind: 'loop',
  fn: consume,
  inputs: size => [new Source(Array.from(bytes(size), text)), ','],
  sizes: [0, 1, 5, 40],
  benchSize: 3000
}
