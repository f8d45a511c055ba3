/** Inputs for the packages. They are the same on every machine and in every run. */
import { integers, program, prose, reals } from '../../../test/corpus/inputs.mjs'
import { seeded } from '../../../test/support/seeded.mjs'

export { integers, program, prose, reals, seeded }

/** Points in [0, 1000), as pairs. */
export function points(count, seed = 1) {
  const random = seeded(seed)
  return Array.from({ length: count }, () => [random.real(0, 1000), random.real(0, 1000)])
}

/** Records with fields of several types, some of them missing. */
export function records(count, seed = 1) {
  const random = seeded(seed)
  const given = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Niklaus', 'Tony', 'Leslie', 'Jörg', "O'Neil"]
  return Array.from({ length: count }, (_, id) => ({
    id,
    name: `${random.pick(given)} ${random.pick(given)}`,
    age: random.integer(1, 99),
    score: Math.round(random.real(0, 1e4)) / 100,
    tags: Array.from({ length: random.integer(0, 3) }, () => random.pick(['a', 'b', 'c', 'd'])),
    ...(random.chance(0.7) && {
      address: { city: random.pick(['Paris', 'Rome', 'Oslo']), zip: String(random.integer(1e4, 99999)) }
    }),
    active: random.chance(0.5)
  }))
}

/** Markdown of `count` paragraphs that uses most of the language. */
export function markdown(count, seed = 1) {
  const random = seeded(seed)
  const words = length => prose(length, random.integer(1, 1e6)).replaceAll('\n\n', ' ')
  const inline = () =>
    random.pick([
      () => `**${words(2)}**`,
      () => `_${words(3)}_`,
      () => '`code(' + random.integer(0, 99) + ')`',
      () => `[${words(2)}](https://example.com/${random.integer(0, 999)} "${words(1)}")`,
      () => `<https://example.org/${random.integer(1, 9)}>`,
      () => `![alt](image${random.integer(1, 9)}.png)`,
      () => '&copy; &amp; <b>html</b>',
      () => `~~${words(2)}~~`,
      () => words(5)
    ])()
  const text = () =>
    Array.from({ length: random.integer(2, 8) }, () => `${words(random.integer(1, 8))} ${inline()}`).join(' ')
  const block = () =>
    random.pick([
      () => `${'#'.repeat(random.integer(1, 6))} ${words(4)}`,
      text,
      text,
      text,
      () => Array.from({ length: random.integer(2, 6) }, () => `- ${text()}\n  - ${words(4)}`).join('\n'),
      () => Array.from({ length: 3 }, (_, i) => `${i + 1}. ${text()}`).join('\n'),
      () => '```js\n' + program(5, random.integer(1, 1e6)) + '```',
      () => `> ${text()}\n> ${words(6)}`,
      () => `| a | b |\n| --- | ---: |\n${Array.from({ length: 4 }, () => `| ${words(2)} | ${inline()} |`).join('\n')}`,
      () => `    ${words(4)}\n    indented`,
      () => '---',
      () => `<div class="x">\n${words(4)}\n</div>`
    ])()
  return Array.from({ length: count }, block).join('\n\n') + '\n'
}

/** HTML of `count` elements, some of which are not well formed. */
export function html(count, seed = 1) {
  const random = seeded(seed)
  const element = depth =>
    random.pick([
      () => `<p id=p${random.integer(1, 99)}>${prose(6, random.integer(1, 1e6))}`,
      () =>
        `<div class="a b" data-n='${random.integer(1, 9)}'>${depth > 4 ? 'x' : element(depth + 1) + element(depth + 1)}</div>`,
      () => `<ul>${'<li>item &lt;<b>bold</b>'.repeat(random.integer(1, 4))}</ul>`,
      () => '<table><tr><td>1<td>2</table>',
      () => '<br/><img src=a.png alt="x > y"><!-- comment -- >-->',
      () => '<script>if (a < b && c > d) e()</script>',
      () => '<b><i>misnested</b></i>&notit; &amp;&#x41;',
      () => '<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>'
    ])()
  return `<!doctype html><html><head><title>t</title></head><body>${Array.from({ length: count }, () => element(0)).join('\n')}</body></html>`
}

/** Cascading style sheets of `count` rules. */
export function css(count, seed = 1) {
  const random = seeded(seed)
  const colour = () => `#${random.integer(0, 0xffffff).toString(16).padStart(6, '0')}`
  const selector = () =>
    random.pick(['.a', '#b > c', 'ul li:nth-child(2n + 1)', 'a[href^="x"]::before', ':not(.d, .e) ~ f'])
  const declaration = () =>
    random.pick([
      () => `color: ${colour()}`,
      () => `margin: ${random.integer(0, 9)}px auto calc(1em + 2%)`,
      () => `background: url("a.png") no-repeat ${colour()}`,
      () => `--x-${random.integer(1, 9)}: { a: b }`,
      () => 'transition: all .3s cubic-bezier(.1, .2, .3, .4) !important'
    ])()
  const rule = () =>
    `${selector()}, ${selector()} {\n  ${Array.from({ length: random.integer(1, 6) }, declaration).join(';\n  ')};\n}`
  return Array.from({ length: count }, () =>
    random.chance(0.1)
      ? `@media (min-width: ${random.integer(1, 999)}px) and screen {\n${rule()}\n}`
      : random.chance(0.1)
        ? `/* ${selector()} */`
        : rule()
  ).join('\n')
}

/** A program of `count` functions in modern JavaScript. */
export function javascript(count, seed = 1) {
  const random = seeded(seed)
  return Array.from(
    { length: count },
    (_, i) => `
// function ${i}
export ${random.chance(0.2) ? 'async ' : ''}function work${i}(list, { a = ${random.integer(1, 9)}, ...rest } = {}) {
  const total = list.map((x, i) => x ** 2 + i).filter(Boolean).reduce((sum, x) => sum + x, 0)
  for (const [key, value] of Object.entries(rest)) {
    if (value > ${random.integer(1, 99)} && key !== 'x${i}') continue
    else console.log(\`\${key}: \${value + \`\${a}\`}\`)
  }
  let i${i} = 0, re = /[/\\]]${random.integer(1, 99)}+/gi
  do { i${i}++; switch (i${i} % 3) { case 0: break; case 1: list.push(a?.b?.[i${i}] ?? null); default: label: while (true) break label } } while (i${i} < 10)
  try { throw new Error('e' + total) } catch ({ message }) { return message } finally { delete list[0] }
}
export class C${i} extends (globalThis.Object) { #p = ${i}; static s = [1, , 2]; get v() { return this.#p } set v(x) { this.#p = x }
  async *gen() { yield* [this.#p, await 1]; } static { this.t = typeof void 0 } ['computed' + ${i}](...args) { return super.toString(...args) } }
`
  ).join('\n')
}

/** File paths of a project with nested folders and several kinds of files. */
export function paths(count, seed = 1) {
  const random = seeded(seed)
  const folders = ['src', 'lib', 'test', 'dist', 'node_modules', 'packages', 'a', 'b', '.git', 'deep-er']
  const names = ['index', 'main', 'part-7', 'Öl', '.hidden', 'a b', 'x(1)', 'util']
  const endings = ['js', 'mjs', 'cjs', 'ts', 'd.ts', 'css', 'md', 'json']
  return Array.from({ length: count }, () =>
    [
      ...Array.from({ length: random.integer(0, 5) }, () => random.pick(folders)),
      `${random.pick(names)}.${random.pick(endings)}`
    ].join('/')
  )
}

/** Returns a short text for a long one: its length, its hash, and its beginning. */
export function digest(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return `${text.length} ${hash} ${text.slice(0, 60)}`
}

/** Returns the result or the error of a call. */
export function outcome(call) {
  try {
    return call()
  } catch (error) {
    return `${error?.name}: ${error?.message}`
  }
}
