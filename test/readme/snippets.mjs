/**
 * The snippets of README.md, and the surroundings that each of them needs.
 *
 * A snippet is a block of code marked `js` or `ts`. readme.test.mjs runs the blocks marked `js`, and
 * test/types/check.mjs compiles all of them in TypeScript's strict mode.
 */
import { readFileSync } from 'node:fs'

export const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

/** The modules of the package, by the names that the snippets take from them. */
const MODULES = {
  'rt.mjs': ['rt', 'budget'],
  'rt.mjs/alarms': ['every', 'frames', 'on', 'periodic', 'sleep', 'timeout'],
  'rt.mjs/sync': ['Channel', 'Mutex', 'choice', 'par'],
  'rt.mjs/adopt': ['adopt'],
  'rt.mjs/connect': ['connect'],
  'rt.mjs/preemptify': ['preemptify'],
  'rt.mjs/reservations': ['Reservation', 'loop'],
  'rt.mjs/scheduler': ['scheduler'],
  'rt.mjs/workers': ['Workers']
}
/** @param {string} text @returns {string} the imports of the names that the text uses */
export const importsFor = text => Object.entries(MODULES).flatMap(([module, names]) => {
  const used = names.filter(name => new RegExp(`(?<![.\\w])${name}\\b`).test(text))
  return used.length === 0 ? [] : [`import { ${used.join(', ')} } from '${module}'`]
}).join('\n')

/** @param {string} language @returns {string[]} */
export const snippetsIn = language =>
  [...readme.matchAll(new RegExp('```' + language + '\\n([^]*?)```', 'g'))].map(match => match[1])

/** The first example, and its script. */
export const [, firstExample, firstScript] =
  readme.match(/```html\n([^]*?<script type="module">\n([^]*?)<\/script>\n)```/) ?? []

/**
 * A snippet: the text with which it begins, declarations for TypeScript, the statements before it in the run,
 * the expression after it, and the value of this expression.
 *
 * @type {{ begins: string, declared: string, before: string, result: string, expected: unknown }[]}
 */
export const snippets = [
  {
    begins: '// A loop',
    declared: `declare const rows: number[]; declare function validate(row: number): void
      declare const field: HTMLInputElement, text: string; declare function show(found: string[]): void
      declare function find(text: string): Generator<void, string[], any>
      declare function useEffect(effect: () => () => void, uses: unknown[]): void
      declare function setFound(found: string[]): void`,
    before: `const rows = [1, 2], valid = [], found = [], shown = [], text = 'x'
      const validate = row => valid.push(row), show = list => shown.push(list)
      const field = Object.assign(new EventTarget(), { value: 'typed' })
      function* find(text) { yield; return [text] }
      const setFound = list => found.push(list), useEffect = effect => { useEffect.cleanUp = effect() }
      globalThis.show = show`,
    result: `(field.dispatchEvent(new Event('input')), await rt.idle(), useEffect.cleanUp(),
      [valid, found, shown])`,
    expected: [[1, 2], [['x']], [['x'], 'typed!']]
  },
  {
    begins: 'for (const row of rows) {\n  render',
    declared: `declare const rows: number[]; declare function render(row: number): void
      declare function save(): void`,
    before: `const rows = [1, 2], done = []
      const render = row => done.push(row), save = () => done.push('saved')`,
    result: 'done',
    expected: [1, 2, 'saved']
  },
  {
    begins: 'const isPrime',
    declared: '',
    before: '',
    result: 'prime',
    expected: true
  },
  {
    begins: 'const job',
    declared: 'declare const url: string, stop: HTMLButtonElement',
    before: 'const url = "data:,x", stop = {}',
    result: '[await job, typeof stop.onclick]',
    expected: [200, 'function']
  },
  {
    begins: 'every(',
    declared: `declare function tick(): void; declare function paint(time: number): void
      declare function steer(value: number): void; declare function measure(): Generator<void, number, any>`,
    before: `const did = new Set(), tick = () => did.add('ticked'), paint = () => did.add('painted')
      const measure = function* () { yield; return 1 }, steer = () => did.add('steered')
      const all = new Promise(resolve => {
        const add = did.add.bind(did)
        did.add = value => add(value).size === 3 && resolve()
      })`,
    result: '(await all, [...did].sort())',
    expected: ['painted', 'steered', 'ticked']
  },
  {
    begins: 'rt.spawn(decode',
    declared: `declare function decode(): Generator<void, void, any>
      declare function drive(value: number): void
      declare function look(): Generator<void, number, any>`,
    before: `let decoded, drove
      const all = Promise.all([
        new Promise(resolve => { decoded = resolve }), new Promise(resolve => { drove = resolve })
      ])
      const decode = function* () { yield; decoded('decoded') }
      const look = function* () { yield; return 'looked' }, drive = value => drove(value)`,
    result: 'await all',
    expected: ['decoded', 'looked']
  },
  {
    begins: 'const orders',
    declared: `declare function boil(value: unknown): string; declare function weigh(value: unknown): string
      declare function write(index: number, water: string, leaves: string): void`,
    before: `const got = [], boil = value => value + ' boiled', weigh = value => value + ' weighed'
      const write = (...values) => got.push(...values)`,
    result: '(await cook, got)',
    expected: [0, 'tea boiled', 'tea weighed']
  },
  {
    begins: 'const rows',
    declared: 'declare const worker: Worker, row: number, url: string',
    before: `const { port1: worker, port2: self } = new MessageChannel(), drawn = [], row = 5
      const url = 'data:text/javascript,export const add = (a, b) => a + b'
      rt.spawn(() => connect(self, 'rows').forEach(row => drawn.push(row)))`,
    result: '[drawn, sum]',
    expected: [[5], 5]
  },
  {
    begins: 'function* show',
    declared: `import { is } from './equal.js'
      import type { Job } from 'rt.mjs'
      declare function read(reply: Response): Promise<string>
      declare function find(url: string): Promise<string[]>
      function* paint(text: string) { yield; return new ImageData(text.length, 1) }
      is<Job<number>>()(rt.spawn(show, {}, 'url'))`,
    before: '',
    result: '',
    expected: undefined
  }
]

/** @param {string} text a snippet */
export const surroundingsOf = text => snippets.filter(({ begins }) => text.startsWith(begins))
