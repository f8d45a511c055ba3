// Measures how long the event loop is blocked while the published marked package renders Markdown, called
// plainly and as a job. A server that renders Markdown would answer no ping in that time. Run it from the
// repository after `npm install --prefix bench/peers`:
//
//   node --import ./examples/node/register.mjs examples/node/markdown.mjs
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { rt } from '../../rt.mjs'
import { markdown } from '../service-worker/markdown.mjs'

const require = createRequire(new URL('../../bench/peers/package.json', import.meta.url))
const { marked } = await import(pathToFileURL(require.resolve('marked')).href)
const text = markdown(Number(process.argv[2] ?? 1) * 1e6)

let last = performance.now()
let longest = 0
setInterval(() => {
  const now = performance.now()
  longest = Math.max(longest, now - last)
  last = now
}).unref()

async function measured(title, run) {
  longest = 0
  const began = last = performance.now()
  const html = await run()
  await new Promise(resolve => setTimeout(resolve, 5))
  console.log(`${title}: ${Math.round(performance.now() - began)} ms, the event loop stood still for ${longest.toFixed(1)} ms`)
  return html
}

const plain = await measured('as it is', () => marked.parse(text))
const asJob = await measured('as a job', () => rt.spawn(marked.parse, { deadline: 10_000 }, text))
console.log(plain === asJob ? 'the same HTML' : 'another HTML')
