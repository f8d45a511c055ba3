// Renders the constructs of Markdown that this repository uses. The function `blocks` lists the blocks, and
// `INLINE` the marks within a line. HTML in a text is shown as text, except `<details>`.
import { escape, highlight } from './highlight.mjs'

/** @typedef {{ link: (address: string) => string, ids: Map<string, number> }} Context */

/** Elements of HTML that a text may contain, each on its own line. */
const MARKUP = /^<(?:\/?details|details open|summary>.*<\/summary)>$/
const FENCE = /^```(\S*)$/
const HEADING = /^(#{1,6}) (.+)$/
const ITEM = /^(?:[-*]|(\d+)\.) +/
/** The first line of another block, which ends a paragraph. */
const BLOCK = new RegExp([HEADING, FENCE, ITEM, MARKUP, /^>/].map(({ source }) => source).join('|'))
/** Maximum length of a cell of a table that is not broken into lines. */
const MAX_SHORT = 26
const RULE = /^\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/

/**
 * @param {string} text
 * @param {(address: string) => string} [link] returns the address for an address in the text
 * @returns {{ html: string, title: string }} `title`: the text of the first heading
 */
export function markdown(text, link = address => address) {
  const title = text.match(/^# (.+)$/m)?.[1].replace(/[`*]/g, '') ?? ''
  return { html: blocks(text.split('\n'), { link, ids: new Map() }), title }
}

/** @param {string[]} lines @param {Context} context @returns {string} */
function blocks(lines, context) {
  let html = ''
  for (let at = 0; at < lines.length;) {
    const line = lines[at]
    /** The number of lines from here that pass a test. @param {(line: string) => unknown} test @param {number} from */
    const count = (test, from = at) => {
      let end = from
      while (end < lines.length && test(lines[end])) end++
      return end - at
    }
    let length = 1
    const heading = HEADING.exec(line)
    const fence = FENCE.exec(line)
    if (fence) {
      length = count(line => line !== '```', at + 1)
      html += `<pre class="code" tabindex="0"><code>${highlight(lines.slice(at + 1, at + length).join('\n'), fence[1])}</code></pre>\n`
      length++
    } else if (heading) html += headingOf(heading[1].length, heading[2], context)
    else if (RULE.test(lines[at + 1] ?? '') && line.includes('|')) {
      length = count(line => line.includes('|'))
      html += table(lines.slice(at, at + length), context)
    } else if (ITEM.test(line)) {
      length = count((line => ITEM.test(line) || /^ +\S/.test(line) || line === ''))
      while (lines[at + length - 1] === '') length--
      html += list(lines.slice(at, at + length), context)
    } else if (line.startsWith('>')) {
      length = count(line => line.startsWith('>'))
      const inner = lines.slice(at, at + length).map(line => line.replace(/^> ?/, ''))
      html += `<blockquote>${blocks(inner, context)}</blockquote>\n`
    } else if (MARKUP.test(line)) html += `${line}\n`
    else if (line.trim() !== '') {
      length = Math.max(1, count(line => line.trim() !== '' && !BLOCK.test(line)))
      html += `<p>${inline(lines.slice(at, at + length).join('\n'), context)}</p>\n`
    }
    at += length
  }
  return html
}

/** @param {number} level @param {string} text @param {Context} context */
function headingOf(level, text, context) {
  // The rule by which code hosts make the identifiers of headings.
  const name = text.toLowerCase().replace(/[^\w -]/g, '').replaceAll(' ', '-')
  const before = context.ids.get(name) ?? 0
  context.ids.set(name, before + 1)
  const id = before > 0 ? `${name}-${before}` : name
  return `<h${level} id="${id}">${inline(text, context)}</h${level}>\n`
}

/** @param {string} line */
const cells = line => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map(cell => cell.trim().replaceAll('\\|', '|'))

/** @param {string[]} lines @param {Context} context */
function table([head, rule, ...rows], context) {
  const isEnd = cells(rule).map(cell => cell.endsWith(':'))
  /** @param {string} line @param {string} name */
  const row = (line, name) => cells(line).map((cell, i) => {
    // A short figure stays on one line.
    const names = [isEnd[i] && 'end', name === 'td' && cell.length <= MAX_SHORT && 'short'].filter(Boolean).join(' ')
    return `<${name}${names && ` class="${names}"`}>${inline(cell, context)}</${name}>`
  }).join('')
  const body = rows.map(line => `<tr>${row(line, 'td')}</tr>`).join('\n')
  return `<div class="scroll" tabindex="0"><table>\n<thead><tr>${row(head, 'th')}</tr></thead>\n<tbody>\n${body}\n</tbody></table></div>\n`
}

/** @param {string[]} lines @param {Context} context */
function list(lines, context) {
  /** @type {string[][]} */
  const items = []
  for (const line of lines) {
    if (ITEM.test(line)) items.push([line.replace(ITEM, '')])
    else items.at(-1)?.push(line)
  }
  const html = items.map(([first, ...rest]) => {
    const indent = Math.min(...rest.filter(Boolean).map(line => line.search(/\S/)))
    const inner = blocks([first, ...rest.map(line => line.slice(indent))], context)
    // An item with a single paragraph needs no space around it.
    const isShort = inner.split('<p>').length === 2
    return `<li>${isShort ? inner.replace(/^<p>([^]*?)<\/p>\n/, '$1') : inner}</li>`
  }).join('\n')
  const name = ITEM.exec(lines[0])?.[1] === undefined ? 'ul' : 'ol'
  return `<${name}>\n${html}\n</${name}>\n`
}

const INLINE = new RegExp([
  /(?<ticks>`+)(?<code>[^]*?[^`])\k<ticks>(?!`)/,
  /\\(?<escaped>[\\`*_{}[\]()#+.!|<>-])/,
  /!\[(?<alt>[^\]]*)\]\((?<image>[^)\s]+)\)/,
  /\[(?<label>(?:`[^`]*`|[^[\]])*)\]\((?<address>[^)\s]+)\)/,
  /<(?<url>https?:[^>\s]+)>/,
  /\*\*(?<strong>[^]+?)\*\*/,
  /(?<![\w*])\*(?<emphasis>(?=\S)[^*]+(?<=\S))\*(?![\w*])/
].map(({ source }) => source).join('|'), 'g')

/** @param {string} text @param {Context} context @returns {string} */
function inline(text, context) {
  let html = '', end = 0
  for (const { 0: token, index, groups = {} } of text.matchAll(INLINE)) {
    html += escape(text.slice(end, index))
    end = index + token.length
    const { code, escaped, alt, image, label, address, url, strong, emphasis } = groups
    if (code !== undefined) html += `<code>${escape(code)}</code>`
    else if (escaped !== undefined) html += escape(escaped)
    else if (image !== undefined) html += `<img src="${escape(context.link(image))}" alt="${escape(alt)}">`
    else if (address !== undefined) html += `<a href="${escape(context.link(address))}">${inline(label, context)}</a>`
    else if (url !== undefined) html += `<a href="${escape(url)}">${escape(url)}</a>`
    else if (strong !== undefined) html += `<strong>${inline(strong, context)}</strong>`
    else html += `<em>${inline(emphasis, context)}</em>`
  }
  return html + escape(text.slice(end))
}
