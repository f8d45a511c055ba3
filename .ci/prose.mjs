// Checks the prose of changed files: comments, names of tests, paragraphs of Markdown, and texts of pages.
//
//   node .ci/prose.mjs                    files that differ from the last tag, else from the main branch
//   node .ci/prose.mjs --since REVISION   files that differ from the merge base with this revision
//   node .ci/prose.mjs FILE...            these files
//
// A file fails if more than 6 % of its texts break a rule, and more than two of them, and more than before
// the change. The rules find texts that a reader must read twice; CONTRIBUTING.md explains how to write
// instead.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/** Share of the texts of a file that may break a rule. */
const MAX_SHARE = 0.06
/** Texts of a file that may break a rule in any case: a small file would fail by one sentence. */
const MAX_COUNT = 2
/** Maximum length of a sentence, words. */
const MAX_WORDS = 40
/** Maximum length of the name of a test, characters: a report shows it on one line. */
const MAX_NAME = 80

/**
 * The rules: a pattern that no text may match, and advice. `kinds` limits a rule to some texts.
 *
 * @type {{ pattern: RegExp, advice: string, kinds?: string[] }[]}
 */
export const RULES = [
  {
    pattern: /^(?:what(?:ever)?|who(?:ever|se)?|those|of|that|nothing|one)\b/i,
    advice: 'start with a noun or a verb: "Returns ...", "The number of ..."',
    kinds: ['comment', 'test']
  },
  {
    pattern: /\b(?:nobody|somebody|anybody|whoever|whom)\b/i,
    advice: 'programs are not people: name the job, the caller or the thread'
  },
  {
    // A question is not a missing noun: "shows what is slow".
    pattern: /(?<!\b(?:if|about|see|know|explains?|shows?|says?) )\bwhat (?:is|are|was|has|have|it|they|comes?)\b/i,
    advice: 'replace "what is ..." by the noun'
  },
  {
    pattern: /\b(?:those|the ones?) (?:of|that|which)\b|\bthat of\b/i,
    advice: 'repeat the noun'
  },
  {
    pattern: /\b(?:at once|anew|for ever|meanwhile|nothing but|as it is|so many)\b/i,
    advice: 'write: immediately, again, forever, while ..., only, unchanged, the number'
  },
  {
    pattern: /\b(?:goes|go|went|going) on\b|\bis (?:told|asked|over|to be)\b|\btimes as long\b/i,
    advice: 'write: continues, is notified, is called, has ended, must, N times slower'
  },
  {
    pattern: new RegExp(`(?:[\\w'-]+[,;:]? ){${MAX_WORDS}}`),
    advice: `split a sentence of more than ${MAX_WORDS} words`
  },
  {
    pattern: new RegExp(`^.{${MAX_NAME + 1}}`, 's'),
    advice: `shorten the name to ${MAX_NAME} characters: subject, condition, result`,
    kinds: ['test']
  }
]

/** @typedef {{ kind: 'comment' | 'test' | 'paragraph', line: number, text: string }} Text */

/** Comments, strings, regular expressions and other characters of JavaScript. */
const TOKENS = new RegExp([
  /\/\*[^]*?\*\/|\/\/[^\n]*/, // comments
  /'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`/, // strings
  // Regular expressions: the slash follows an operator or `return`.
  /(?<=[=(,:[!&|?{};+]\s*|\breturn\s+)\/(?![*/])(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n[])+\//,
  /[^]/
].map(({ source }) => source).join('|'), 'g')

/**
 * Lists the texts of a file.
 *
 * @param {string} file a name that ends in .md, .html or .mjs @param {string} source
 * @returns {Text[]}
 */
export function textsOf(file, source) {
  const texts = file.endsWith('.md') ? paragraphsOf(source) : file.endsWith('.html') ? elementsOf(source) : commentsOf(source)
  if (file.endsWith('.test.mjs')) texts.push(...testsOf(source))
  return texts.filter(isProse)
}

/** Whether a text has several words and little code. @param {Text} text */
function isProse({ text }) {
  const signs = text.match(/[{}()[\]=<>|]/g)?.length ?? 0
  return text.includes(' ') && signs < text.length / 8
}

/** @param {string} source @param {number} at @returns {number} the line of an index, from 1 */
const lineAt = (source, at) => source.slice(0, at).split('\n').length

/** Removes code and quotations, whose words are not ours. @param {string} text */
const plain = text => text.replace(/`[^`]*`|"[^"\n]{1,60}"/g, 'X').replace(/\s+/g, ' ').trim()

/** @param {string} source Markdown @returns {Text[]} */
function paragraphsOf(source) {
  const prose = source.replace(/```[^]*?```|^ *[#|<].*/gm, hidden => hidden.replace(/[^\n]/g, ' '))
  const paragraphs = prose.matchAll(/[^\n]*\S[^\n]*(?:\n(?! *(?:\n|[-*] |\d+\. ))[^\n]+)*/g)
  return Array.from(paragraphs, ({ 0: text, index }) => {
    const words = text.replace(/^ *(?:[-*]|\d+\.) /, '')
    return { kind: 'paragraph', line: lineAt(source, index), text: plain(words) }
  })
}

/** Elements within a sentence of HTML. */
const INLINE = /<\/?(?:a|b|code|em|i|ins|kbd|output|small|span|strong)\b[^>]*>/g

/** @param {string} source HTML @returns {Text[]} the texts of its elements and comments */
function elementsOf(source) {
  /** Keeps the lines of a hidden part. @param {string} hidden */
  const lines = hidden => hidden.replace(/[^\n]/g, '')
  const prose = source.replace(/<(script|style|svg|pre)\b[^]*?<\/\1>/g, lines)
    .replace(/<code>[^]*?<\/code>/g, code => `X${lines(code)}`).replace(/<!--|-->/g, '<p>').replace(INLINE, lines)
  return Array.from(prose.matchAll(/(?<=>|^)\s*([^<>]+)(?=<|$)/g), ({ 0: all, 1: text, index }) =>
    ({ kind: 'paragraph', line: lineAt(prose, index + all.length - text.length), text: plain(text) }))
}

/** @param {string} source JavaScript @returns {Text[]} consecutive lines of comments are one text */
function commentsOf(source) {
  /** @type {Text[]} */
  const texts = []
  let end = -1
  for (const { 0: token, index } of source.matchAll(TOKENS)) {
    if (!/^\/[/*]/.test(token)) continue
    const line = lineAt(source, index)
    if (token.startsWith('//')) {
      const text = token.slice(2)
      const last = texts.at(-1)
      if (last && /^\n[ \t]*$/.test(source.slice(end, index))) last.text += ` ${text}`
      else texts.push({ kind: 'comment', line, text })
      end = index + token.length
    } else {
      const body = token.slice(2, -2).replace(/^\s*\*+ ?/gm, '').replace(/```[^]*?```/g, '')
      const [summary] = body.split(/(?:^|\s)@\w/)
      for (const text of summary.split(/\n\s*\n|\n(?= *- )/)) {
        // An indented block is a picture or code.
        if (/^\n? {2,}\S/.test(text)) continue
        texts.push({ kind: 'comment', line, text: text.replace(/^\s*- /, '') })
      }
    }
  }
  return texts.map(({ text, ...rest }) => ({ ...rest, text: plain(text) }))
}

/** @param {string} source a file of tests @returns {Text[]} the names of its tests */
function testsOf(source) {
  const suites = Array.from(source.matchAll(/(\w+) = suite\(/g), ({ 1: name }) => name).concat('test')
  const calls = new RegExp(`^[ \\t]*(?:${suites.join('|')})\\((['"\`])((?:\\\\.|(?!\\1).)*)\\1, `, 'gm')
  return Array.from(source.matchAll(calls),
    ({ 2: text, index }) => ({ kind: 'test', line: lineAt(source, index), text: plain(text) }))
}

/** @param {Text} text @returns {string[]} the advice of each rule that the text breaks */
export function problemsOf({ kind, text }) {
  const broken = RULES.filter(({ pattern, kinds }) => (kinds?.includes(kind) ?? true) && pattern.test(text))
  return broken.map(({ advice }) => advice)
}

/**
 * Checks one file.
 *
 * @param {string} file @param {string} source @param {string} [before] the source before the change
 * @returns {{ isGood: boolean, lines: string[] }} `lines`: each text that breaks a rule, with the advice
 */
export function check(file, source, before = '') {
  const texts = textsOf(file, source)
  const lines = texts.flatMap(text => {
    const problems = problemsOf(text)
    if (problems.length === 0) return []
    return [`${file}:${text.line} "${text.text.slice(0, 100)}": ${problems.join('; ')}`]
  })
  const countBefore = textsOf(file, before).filter(text => problemsOf(text).length > 0).length
  return { isGood: lines.length <= Math.max(MAX_COUNT, texts.length * MAX_SHARE, countBefore), lines }
}

/** @param {...string} args @returns {string} the output of git; '' if git fails */
function git(...args) {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return ''
  }
}

/**
 * Finds the commit with which the files are compared.
 *
 * @param {string} [revision] default: the last tag, else the main branch
 * @returns {string} '' if there is no such revision, for example in an unpacked archive
 */
function baseOf(revision) {
  const usual = () => [git('describe', '--tags', '--abbrev=0'), 'main', 'origin/main']
  const starts = revision === undefined ? usual() : [revision]
  const base = starts.map(start => start && git('merge-base', start, 'HEAD')).find(Boolean)
  if (base !== undefined) return base
  if (revision !== undefined) throw new RangeError(`--since must be a revision, got ${revision}`)
  console.log('no tag and no main branch, so no changed file was found')
  return ''
}

/** @param {string} base @returns {string[]} files that were added or changed since then */
function changedFiles(base) {
  const added = git('ls-files', '--others', '--exclude-standard')
  return `${git('diff', '--name-only', '--diff-filter=d', '--relative', base)}\n${added}`.split('\n')
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const options = /** @type {const} */ ({ since: { type: 'string' } })
  const { values, positionals } = parseArgs({ allowPositionals: true, options })
  const base = positionals.length ? '' : baseOf(values.since)
  const files = (base === '' ? positionals : changedFiles(base))
    .filter(file => /\.(?:mjs|md|html)$/.test(file) && existsSync(file))
  let count = 0
  for (const file of files) {
    const before = base === '' ? '' : git('show', `${base}:./${file}`)
    const { isGood, lines } = check(file, readFileSync(file, 'utf8'), before)
    if (isGood && !positionals.length) continue
    for (const line of lines) console.log(line)
    if (isGood) continue
    count++
    process.exitCode = 1
  }
  console.log(`${count} of ${files.length} files have too many texts that must be read twice`)
}
