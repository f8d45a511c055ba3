import { deepEqual } from 'node:assert/strict'

/**
 * Runs in the page: uses the modules of another origin.
 * @param {string} cdn
 * @param {string} works
 */
async function uses(cdn, works) {
  const names = ['rt', 'alarms', 'addons/preemptify', 'addons/workers']
  const modules = await Promise.all(names.map(name => import(`${cdn}/${name}.mjs`)))
  const { rt, sleep, preemptify, Workers } = Object.assign({}, ...modules)
  const slept = rt.spawn(function* () {
    yield* sleep(1)
    return 'slept'
  })
  const sum = preemptify(function sum(to) {
    let sum = 0
    for (let i = 0; i < to; i++) sum += i
    return sum
  })
  const workers = new Workers(works, { size: 2 })
  const found = [await slept, await rt.spawn(sum, {}, 1e5), await workers.spawn('add', {}, 2, 3)]
  await workers.close()
  return found
}

export default Object.fromEntries(['isolated', 'plain'].map(origin => [
  `modules of another origin run jobs, preemptible functions and workers, ${origin === 'plain' ? 'not ' : ''}isolated`,
  async ({ browser, server }) => {
    // In WebKit, workers from blobs are not cross-origin isolated, even if the page is.
    if (browser.kind === 'webkit' && origin === 'isolated') return false
    await browser.open(`${server[origin]}/test/browser/driver.html`)
    deepEqual(await browser.evaluate(uses, server.cdn, `${server[origin]}/test/fixtures/workers/works.mjs`), ['slept', 4999950000, 5])
  }
]))
