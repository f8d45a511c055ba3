import { eachBrowser, kinds } from './support-browsers.mjs'

// Runs unmodified benches for Node in pages: `node bench/in-pages.mjs channels`. support-node.mjs replaces
// the parts of Node that they need. They read the page's clock, which is wall time.
const [wanted, [name, ...args]] = process.argv[2] === '--browsers' ? [process.argv[3].split(','), process.argv.slice(4)]
  : [kinds, process.argv.slice(2)]
if (name === undefined || name === '--help') {
  console.log(`node bench/in-pages.mjs [--browsers ${kinds.join()}] NAME [its options]: channels, yield-depth, budget, region, switch,
job-creation, dispatch-latency, periodic-jitter, or reservations --clock wall --only predictability,isolation,delivery,threads`)
  process.exit()
}

/** Starts a bench in the page without waiting for it, because browser drivers time out. */
function start(report, name, args) {
  const { log } = console
  const lines = []
  Object.assign(process.argv, { length: 2, 1: `/bench/${name}.mjs` }).push(...args)
  console.log = (...words) => lines.push(words.join(' '))
  import(`/bench/${name}.mjs`).then(() => {}, error => { lines.push(`${error.stack ?? error}`) }).then(() => {
    console.log = log
    fetch(report, { method: 'POST', body: JSON.stringify(lines) })
  })
}

await eachBrowser(wanted, async (browser, server) => {
  const { report, results } = server.expect(1_200_000)
  await browser.open(`${server.isolated}/bench/support-node.html`)
  await browser.evaluate(start, report, name, args)
  console.log((await results).join('\n'))
})
