/** The prose check of .ci/run. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RULES, check, problemsOf, textsOf } from '../../.ci/prose.mjs'

const script = fileURLToPath(new URL('../../.ci/prose.mjs', import.meta.url))
const texts = suite('.ci/prose.mjs: texts')

/** Kinds, lines and words of the texts of a file. */
const found = (file, source) => textsOf(file, source).map(({ kind, line, text }) => `${kind} ${line} ${text}`)

texts('consecutive lines of comments are one text, and JSDoc ends at its first tag', () => {
  assert.equal(found('a.mjs', `// Two lines
  // of one text.

  // Another text.
  /**
   * The summary of a function.
   *
   * @param {any} what is skipped
   */
  const word = 1 // one
  `), ['comment 1 Two lines of one text.', 'comment 4 Another text.', 'comment 5 The summary of a function.'])
})

texts('comment signs in strings and regular expressions start no comment', () => {
  const source = 'const a = "// no comment", b = /[/*] no comment/, c = `// no comment`, d = 1 / 2 // a comment'
  assert.equal(found('a.mjs', source), ['comment 1 a comment'])
})

texts('paragraphs and items of Markdown are texts; code, tables and headings are not', () => {
  assert.equal(found('a.md', `# A heading of four words
One paragraph
of two lines.

- the first item
- the second item

| a | table |
\`\`\`js
some code here
\`\`\`
`), ['paragraph 2 One paragraph of two lines.', 'paragraph 5 the first item', 'paragraph 6 the second item'])
})

texts('elements and comments of HTML are texts; scripts and listings are not', () => {
  assert.equal(found('a.html', `<!-- A comment
of two lines. -->
<p>The text <b>of</b> one <code>paragraph</code>.
<ul><li>the first item<li>the second item</ul>
<pre>some code here</pre>
<script>
// a comment
</script>
<p>the end</p>`), ['paragraph 1 A comment of two lines.', 'paragraph 3 The text of one X.', 'paragraph 4 the first item',
    'paragraph 4 the second item', 'paragraph 9 the end'])
})

texts('names of tests are texts in files of tests only', () => {
  const source = `const locks = suite('locks')
locks('a free lock is acquired', () => {})
test('another name', async () => {})`
  assert.equal(found('a.test.mjs', source), ['test 2 a free lock is acquired', 'test 3 another name'])
  assert.equal(found('a.mjs', source), [])
})

texts.run()

const rules = suite('.ci/prose.mjs: rules')

/** Each rule in the order of the table, with a text that breaks it and its better version. */
const EXAMPLES = [
  ['comment', 'What the clock says.', 'Reads the clock.'],
  ['comment', 'Nodes that nobody waits for.', 'Nodes that no job waits for.'],
  ['comment', 'Changes what is on the stack.', 'Changes the top of the stack.'],
  ['comment', 'The cost is that of the callee.', 'The cost of the callee.'],
  ['comment', 'The job ends at once.', 'The job ends immediately.'],
  ['comment', 'The job goes on.', 'The job continues.'],
  ['paragraph', 'word '.repeat(41), 'word '.repeat(30)],
  ['test', `a job ${'with a long name '.repeat(5)}ends`, 'a job with a short name ends']
]

rules('each rule has an example', () => {
  assert.is(EXAMPLES.length, RULES.length)
})
EXAMPLES.forEach(([kind, bad, good], index) => {
  rules(`rule ${index + 1} finds a text, and accepts its better version`, () => {
    assert.equal(problemsOf({ kind, line: 1, text: bad }), [RULES[index].advice])
    assert.equal(problemsOf({ kind, line: 1, text: good }), [])
  })
})

rules('a question about a value is not a missing noun', () => {
  assert.equal(problemsOf({ kind: 'paragraph', line: 1, text: 'The report shows what is slow.' }), [])
})

rules('quoted words and code are not checked', () => {
  assert.equal(check('a.mjs', '// Write "immediately" instead of "at once" and `whoever`.').lines, [])
})

rules('a file fails from the third text on, or above 6 % of its texts', () => {
  const bad = '// Ends at once.\n\n'
  const good = '// Ends immediately.\n\n'
  assert.is(check('a.mjs', bad.repeat(2)).isGood, true)
  assert.is(check('a.mjs', bad.repeat(3)).isGood, false)
  assert.is(check('a.mjs', bad.repeat(6) + good.repeat(94)).isGood, true)
  assert.is(check('a.mjs', bad.repeat(7) + good.repeat(93)).isGood, false)
})

rules('a file that broke the rules before the change may not get worse', () => {
  const bad = '// Ends at once.\n\n'
  assert.is(check('a.mjs', bad.repeat(5), bad.repeat(5)).isGood, true)
  assert.is(check('a.mjs', bad.repeat(6), bad.repeat(5)).isGood, false)
})

rules.run()

const files = suite('.ci/prose.mjs: changed files')

/** A repository whose main branch has one file. */
function repository() {
  const folder = mkdtempSync(join(tmpdir(), 'prose-'))
  const git = (...args) => execFileSync('git', [
    '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args
  ], { cwd: folder, stdio: 'ignore' })
  const write = (name, text) => writeFileSync(join(folder, name), text)
  const run = (...args) => {
    const { status, stdout } = spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: 'utf8' })
    return [status, stdout.trim().split('\n').at(-1)]
  }
  const bad = '// Ends at once.\n\n'.repeat(3)
  git('init', '-b', 'main')
  write('old.mjs', bad)
  git('add', '.')
  git('commit', '-m', 'Start')
  return { folder, git, write, run, bad }
}

files('a file that was not changed on the branch is not checked', () => {
  const { folder, git, write, run, bad } = repository()
  assert.equal(run(), [0, '0 of 0 files have too many texts that must be read twice'])
  git('checkout', '-b', 'branch')
  write('good.mjs', '// Ends immediately.\n')
  assert.equal(run(), [0, '0 of 1 files have too many texts that must be read twice'])
  write('bad.mjs', bad)
  assert.equal(run(), [1, '1 of 2 files have too many texts that must be read twice'])
  git('add', '.')
  git('commit', '-m', 'Add')
  assert.equal(run(), [1, '1 of 2 files have too many texts that must be read twice'])
  assert.equal(run('--since', 'HEAD'), [0, '0 of 0 files have too many texts that must be read twice'])
  assert.is(run('--since', 'nowhere')[0], 1)
  rmSync(folder, { recursive: true })
})

files('named files are checked, whatever their history', () => {
  const { folder, run } = repository()
  assert.equal(run('old.mjs'), [1, '1 of 1 files have too many texts that must be read twice'])
  rmSync(folder, { recursive: true })
})

files.run()
