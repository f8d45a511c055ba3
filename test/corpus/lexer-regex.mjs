import { program } from './inputs.mjs'

function lexByRegex(text) {
  const rules = {
    space: /\s+/y,
    comment: /\/\/[^\n]*|\/\*[^]*?\*\//y,
    number: /\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y,
    keyword: /(?:let|if|else|while|return)\b(?![$\w])/y,
    name: /[$_\p{L}][$_\p{L}\p{N}]*/uy,
    string: /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y,
    operator: /[-+*\/=<>!&|]{1,3}/y,
    punctuator: /[(){}[\];,.]/y
  }
  const tokens = []
  let position = 0
  scan: while (position < text.length) {
    for (const type in rules) {
      const rule = rules[type]
      rule.lastIndex = position
      const match = rule.exec(text)
      if (!match) continue
      position = rule.lastIndex
      if (type !== 'space' && type !== 'comment') tokens.push({ type, text: match[0] })
      continue scan
    }
    const { length } = text.slice(0, position).split(/\r?\n/)
    throw new SyntaxError(`line ${length}: unexpected ${JSON.stringify(text[position])}`)
  }
  return tokens
}

export default {
  name: 'lexer by regular expressions',
  kind: 'loop',
  fn: lexByRegex,
  inputs: size => [program(size)],
  sizes: [0, 1, 20],
  benchSize: 500
}
