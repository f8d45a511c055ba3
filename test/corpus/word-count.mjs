import { prose } from './inputs.mjs'

function countWords(text) {
  const counts = new Map()
  let word = ''
  for (const character of text + ' ') {
    if (/[\p{L}\p{N}']/u.test(character)) {
      word += character.toLowerCase()
      continue
    }
    if (word) counts.set(word, (counts.get(word) || 0) + 1)
    word = ''
  }
  let longest = 0
  for (const name of counts.keys()) longest = Math.max(longest, name.length)
  let report = ''
  for (const [name, count] of [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)))
    report += `${name.padEnd(longest)} ${count}\n`
  return report
}

export default {
  name: 'word count',
  kind: 'loop',
  fn: countWords,
  inputs: size => [prose(size)],
  sizes: [0, 1, 50],
  benchSize: 10_000
}
