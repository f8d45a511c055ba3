// Colors for code. `highlight` wraps the words of a text in `<i class="...">`, and style.css gives each class
// a color. It runs in Node and in pages.

/** The characters that HTML would read as markup. @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** @param {string} text @returns {string} HTML that shows the text */
export const escape = text => text.replace(/[&<>"]/g, char => ENTITIES[char])

/** The languages by the ending of a file name or the word after a fence. @type {Record<string, string>} */
const LANGUAGES = {
  js: 'script', mjs: 'script', ts: 'script', jsx: 'script', json: 'script',
  html: 'markup', svelte: 'markup', sh: 'shell', bash: 'shell', css: 'style'
}

/**
 * The classes of tokens: `c` comments, `s` strings and regular expressions, `k` keywords and tags,
 * `n` numbers and options, `f` called functions and commands.
 *
 * @typedef {'c' | 's' | 'k' | 'n' | 'f'} Kind
 */

/** @param {Record<string, RegExp>} parts @returns {RegExp} an alternation with a group for each kind */
const tokens = parts => new RegExp(Object.entries(parts)
  .map(([kind, { source }]) => `(?<${kind}>${source})`).join('|'), 'g')

const KEYWORDS = 'as|async|await|break|case|catch|class|const|continue|declare|default|delete|do|else|export|' +
  'extends|false|finally|for|from|function|get|if|import|in|instanceof|interface|let|new|null|of|return|set|' +
  'static|super|switch|this|throw|true|try|type|typeof|undefined|var|void|while|yield'

/** @type {Record<string, RegExp>} */
const TOKENS = {
  script: tokens({
    c: /\/\*[^]*?\*\/|(?<![:\w])\/\/.*/,
    // A template can contain templates one level deep. A slash starts a regular expression after an operator.
    s: new RegExp([
      /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/,
      /`(?:\\[^]|\$\{(?:[^`{}]|`(?:\\[^]|[^`\\])*`|\{[^{}]*\})*\}|[^`\\])*`/,
      /(?<=[=(,:[!&|?{};+]\s*|\breturn\s+)\/(?![*/])(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n[])+\/[a-z]*/
    ].map(({ source }) => source).join('|')),
    k: new RegExp(`(?<![.\\w$])(?:${KEYWORDS})(?![\\w$]|\\s*:[^:]| ?\\()|(?<![.\\w$])` +
      '(?:if|for|while|switch|catch|return|yield|await|typeof|import|super|function|of|in|new)\\b(?=\\*? ?[(])'),
    n: /(?<![\w$.])(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)n?\b/,
    f: /(?<![\w$])[A-Za-z_$][\w$]*(?=\()/
  }),
  style: tokens({ c: /\/\*[^]*?\*\//, s: /"[^"\n]*"/, k: /--[\w-]+|@\w+/, n: /#[\da-f]{3,8}\b|(?<![\w-])-?\.?\d[\w.%]*/ }),
  shell: tokens({
    c: /(?<=^|\s)#.*/, s: /'[^']*'|"[^"]*"/, n: /(?<=\s)--?[\w-]+/, f: /(?<=^|[|&;] )[\w./-]+/m
  })
}
TOKENS.shell = new RegExp(TOKENS.shell.source, 'gm')

/** The comments, tags, and elements with another language in a document. */
const MARKUP = /(<!--[^]*?-->)|(<(script|style)\b[^>]*>)([^]*?)(?=<\/\3>)|<\/?[\w-]+(?:"[^"]*"|'[^']*'|[^'">])*>|<![^>]*>/gi

/** @param {string} tag @returns {string} */
const ofTag = tag => escape(tag)
  .replace(/^(&lt;[/!]?[\w-]+)([^]*?)(\/?&gt;)$/, (_, name, attributes, end) =>
    `<i class="k">${name}</i>${attributes.replace(/=(&quot;[^]*?&quot;|[^\s&]+)/g, '=<i class="s">$1</i>')}<i class="k">${end}</i>`)

/** @param {string} text @returns {string} */
function ofMarkup(text) {
  let html = '', end = 0
  for (const { 0: token, 1: comment, 2: start, 3: name, 4: content, index } of text.matchAll(MARKUP)) {
    html += escape(text.slice(end, index))
    if (comment) html += `<i class="c">${escape(comment)}</i>`
    else if (start) html += ofTag(start) + ofTokens(content, name.toLowerCase())
    else html += ofTag(token)
    end = index + token.length
  }
  return html + escape(text.slice(end))
}

/** @param {string} text @param {string} language a key of `TOKENS` @returns {string} */
function ofTokens(text, language) {
  let html = '', end = 0
  for (const { 0: token, groups = {}, index } of text.matchAll(TOKENS[language])) {
    const kind = Object.keys(groups).find(kind => groups[kind] !== undefined)
    html += `${escape(text.slice(end, index))}<i class="${kind}">${escape(token)}</i>`
    end = index + token.length
  }
  return html + escape(text.slice(end))
}

/**
 * Returns HTML that shows code in colors. Its text is the given text.
 *
 * @param {string} text
 * @param {string} [name] a file name, or the language of a fence; other names give no colors
 */
export function highlight(text, name = '') {
  const language = LANGUAGES[name.split('.').at(-1) ?? '']
  if (language === undefined) return escape(text)
  return language === 'markup' ? ofMarkup(text) : ofTokens(text, language)
}
