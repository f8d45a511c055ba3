const words = ('time clock round slice budget job task queue frame paint script page key press late early wait wake ' +
  'lock share thread loop point yield call stack heap list graph node edge path cost load fetch parse render').split(' ')

const code = {
  js: (a, b) => `// Sums what is ${a}.
export function ${a}(list, { ${b} = 10 } = {}) {
  let sum = 0
  for (const { ${a}, ...rest } of list) {
    if (typeof ${a} !== 'number') throw new TypeError(\`${a} must be a number, got \${${a}}\`)
    sum += ${a} * ${b} ** 2 + (rest.${b}?.length ?? 0x1f)
  }
  return list.filter(item => /^[\\w-]+$/.test(item.name)).map(({ name }) => name.toUpperCase())
}`,
  css: (a, b) => `.${a} > .${b}:hover { color: rgb(12 34 56 / 50%); margin: 0 auto; transition: ${b} .2s ease-in }
@media (min-width: 40rem) { .${a}::before { content: "${b}"; width: calc(100% - 2rem) } }`,
  python: (a, b) => `class ${a[0].toUpperCase()}${a.slice(1)}:
    """Keeps every ${b}."""
    def __init__(self, ${b}: int = 3) -> None:
        self.${b} = [x ** 2 for x in range(${b}) if x % 2 == 0]  # even
    async def ${a}(self):
        return f"{len(self.${b})} of {self!r}"`,
  json: (a, b) => `{ "${a}": [1, 2.5e3, true, null], "${b}": { "name": "${a} ${b}", "size": -7 } }`,
  xml: (a, b) => `<section id="${a}"><!-- ${b} --><p class="${b}">A &amp; B</p><br></section>`,
  bash: (a, b) => `for ${a} in *.${b}; do\n  echo "$${a}: $(wc -l < "$${a}")" | sort -n > /tmp/${b}.txt\ndone`
}

/**
 * The same text whenever it is asked for.
 *
 * @param {number} size characters, at least
 * @returns {string} Markdown
 */
export function markdown(size) {
  let seed = 1
  const below = n => (seed = seed * 16807 % 2147483647) % n
  const word = () => words[below(words.length)]
  const styled = () => [word, () => `*${word()}*`, () => `**${word()} ${word()}**`, () => `\`${word()}()\``,
    () => `[${word()} ${word()}](https://example.com/${word()} "${word()}")`, word, word, word][below(8)]()
  const sentence = () => {
    const text = Array.from({ length: 6 + below(12) }, styled).join(' ')
    return `${text[0].toUpperCase()}${text.slice(1)}.`
  }
  const paragraph = () => Array.from({ length: 2 + below(4) }, sentence).join(' ')
  const list = mark => Array.from({ length: 3 + below(4) }, (_, i) => `${mark(i)} ${sentence()}`).join('\n')
  const languages = Object.keys(code)
  const blocks = [
    () => `${'#'.repeat(2 + below(3))} ${word()} ${word()}`,
    paragraph, paragraph, paragraph,
    () => list(() => '-'),
    () => list(i => `${i + 1}.`),
    () => `> ${sentence()}\n> ${sentence()}`,
    () => `| ${word()} | ${word()} |\n| --- | ---: |\n${Array.from({ length: 4 }, () => `| ${styled()} | ${below(1000)} |`).join('\n')}`,
    () => {
      const language = languages[below(languages.length)]
      return `\`\`\`${language}\n${code[language](word(), word())}\n\`\`\``
    }
  ]
  const parts = ['# A long page']
  for (let length = 0; length < size;) {
    const block = blocks[below(blocks.length)]()
    parts.push(block)
    length += block.length + 2
  }
  return parts.join('\n\n')
}
