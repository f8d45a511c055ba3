import { prose } from './inputs.mjs'
import { seeded } from '../support/seeded.mjs'

function renderInline(text) {
  const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  const escapeHtml = text => text.replace(/[&<>"]/g, character => entities[character])
  let html = ''
  let rest = text
  while (rest) {
    let match
    if ((match = /^`([^`]+)`/.exec(rest))) html += `<code>${escapeHtml(match[1])}</code>`
    else if ((match = /^\*\*(.+?)\*\*/.exec(rest))) html += `<strong>${renderInline(match[1])}</strong>`
    else if ((match = /^\*(.+?)\*/.exec(rest))) html += '<em>' + renderInline(match[1]) + '</em>'
    else if ((match = /^\[([^\]]*)\]\(([^)\s]*)\)/.exec(rest))) {
      html += `<a href="${escapeHtml(match[2])}">${renderInline(match[1])}</a>`
    } else if ((match = /^[^`*[]+|^[^]/.exec(rest))) html += escapeHtml(match[0])
    rest = rest.slice(match[0].length)
  }
  return html
}

function markdown(source) {
  const lines = source.split('\n')
  const html = []
  let n = 0
  while (n < lines.length) {
    const line = lines[n]
    let match
    if (/^\s*$/.test(line)) n++
    else if ((match = line.match(/^(#{1,6})\s+(.*?)\s*#*$/))) {
      const { length: level } = match[1]
      html.push(`<h${level}>${renderInline(match[2])}</h${level}>`)
      n++
    } else if (/^(?:-{3,}|\*{3,})\s*$/.test(line)) html.push('<hr>'), n++
    else if ((match = line.match(/^```(\w*)/))) {
      const code = []
      while (++n < lines.length && !lines[n].startsWith('```')) {
        code.push(lines[n].replace(/&/g, '&amp;').replace(/</g, '&lt;'))
      }
      n++
      const language = match[1] && ` class="language-${match[1]}"`
      html.push(`<pre><code${language}>${code.join('\n')}</code></pre>`)
    } else if (line.startsWith('>')) {
      const quote = []
      for (; n < lines.length && lines[n].startsWith('>'); n++) quote.push(lines[n].replace(/^> ?/, ''))
      html.push('<blockquote>', markdown(quote.join('\n')), '</blockquote>')
    } else if ((match = line.match(/^(?:[-+*]|\d+\.)\s+/))) {
      const tag = /\d/.test(line[0]) ? 'ol' : 'ul'
      const marker = tag === 'ol' ? /^\d+\.\s+/ : /^[-+*]\s+/
      html.push(`<${tag}>`)
      for (let item; (item = lines[n]) !== undefined && marker.test(item); ) {
        item = item.replace(marker, '')
        while (++n < lines.length && /^\s+\S/.test(lines[n])) item += ' ' + lines[n].trim()
        html.push(`<li>${renderInline(item)}</li>`)
      }
      html.push(`</${tag}>`)
    } else {
      let paragraph = ''
      do paragraph += (paragraph && '\n') + lines[n++]
      while (n < lines.length && !/^\s*$|^#{1,6}\s|^```|^>|^[-+*]\s|^\d+\.\s/.test(lines[n]))
      html.push(`<p>${renderInline(paragraph)}</p>`)
    }
  }
  return html.join('\n')
}

/** A page of `size` blocks. */
function inputs(size) {
  const random = seeded(11)
  const some = () => prose(random.integer(3, 30), random.integer(1, 1000)).replaceAll('\n\n', ' ').trim()
  const block = () => random.pick([
    () => `${'#'.repeat(random.integer(1, 6))} ${some()}`,
    () => some().replace(/(\w+), (\w+)/g, '**$1 *$2***, `$2 < $1`'),
    () => `See [${some()}](https://example.org/?a=1&b="2") *and* ${some()}\n${some()}`,
    () => `- ${some()}\n- **${some()}**\n  ${some()}\n- ${some()}`,
    () => `1. ${some()}\n2. ${some()}`,
    () => `> ${some()}\n> - ${some()}\n>\n> > ${some()}`,
    () => `\`\`\`js\nif (a < b && c) ${some()}\n\`\`\``,
    () => '---'
  ])()
  return [Array.from({ length: size }, block).join('\n\n')]
}

export default {
  name: 'Markdown',
  kind: 'mixed',
  fn: markdown,
  calls: { renderInline },
  inputs,
  sizes: [0, 1, 5, 25],
  benchSize: 500
}
