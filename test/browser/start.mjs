// Runs one suite in the page or in a worker and posts its results to the server. The page is page.html with
// ?suite=<name>.page.mjs&scope=window|worker&report=<path for the results>. The worker runs the same module.
import { describe, inWorker, report, runTests } from './page.mjs'

const parameters = new URL(location.href).searchParams
const nothing = { tests: [], provoked: [] }

if (inWorker) postMessage(await run())
else report(parameters.get('scope') === 'worker' ? await inItsWorker() : await run())

async function run() {
  try {
    await import(`./${parameters.get('suite')}`)
    return await runTests()
  } catch (error) {
    return { ...nothing, error: describe(error) }
  }
}

function inItsWorker() {
  return new Promise(resolve => {
    const worker = new Worker(`start.mjs${location.search}`, { type: 'module' })
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = event => resolve({ ...nothing, error: event.message ?? 'the worker did not load' })
  })
}
