import { eachBrowser, kinds } from './support-browsers.mjs'
import { heading, optionsOf, table, target } from './support.mjs'

const values = optionsOf({ browsers: kinds.join() })

/**
 * Measures the cost of adoption. Runs in the page.
 *
 * @param {string} from
 * @returns durations of `adopt()`, ms, and of frequent operations, plain and adopted, us
 */
async function costs(from) {
  const { adopt } = await import(`${from}/addons/adopt.mjs`)
  const times = 21
  const median = list => list.sort((a, b) => a - b)[times >> 1]
  const each = (count, work) => {
    const runs = []
    for (let run = 0; run < times; run++) {
      const began = performance.now()
      for (let n = 0; n < count; n++) work()
      runs.push((performance.now() - began) / count * 1000)
    }
    return median(runs)
  }
  const setClear = () => each(3000, () => clearTimeout(setTimeout(() => {}, 1000)))
  // Many listeners of one message: the event loop calls each of them.
  const calls = async () => {
    const { port1, port2 } = new MessageChannel()
    const runs = []
    const count = 500
    let began = 0
    port1.addEventListener('message', () => { began = performance.now() })
    for (let n = 0; n < count; n++) port1.addEventListener('message', () => {})
    for (let run = 0; run < times; run++) {
      await new Promise(resolve => {
        port1.addEventListener('message', () => {
          runs.push((performance.now() - began) / count * 1000)
          resolve()
        }, { once: true })
        port1.start()
        port2.postMessage(null)
      })
    }
    port1.close()
    return median(runs)
  }
  const plain = [setClear(), await calls()]
  const adoptions = []
  for (let n = 0; n < times; n++) {
    const began = performance.now()
    const adoption = adopt(globalThis, { warn: false })
    adoptions.push(performance.now() - began)
    adoption.release()
  }
  const first = adoptions[0]
  const adoption = adopt(globalThis, { warn: false })
  const adopted = [setClear(), await calls()]
  adoption.release()
  return { first, again: median(adoptions), plain, adopted }
}

heading('What does it cost to have a page adopted?', 'medians of 21 runs')
const rows = []
const row = (place, { first, again, plain, adopted }) => rows.push([
  place, first.toFixed(2), again.toFixed(2), ...[0, 1].flatMap(at => [plain[at].toFixed(2), adopted[at].toFixed(2)])
])
await eachBrowser(values.browsers.split(','), async (browser, server) => {
  await browser.open(`${server.isolated}/test/browser/driver.html`)
  row(browser.name, await browser.evaluate(costs, ''))
})
table(['', 'adopt(), first, ms', 'again, ms', 'setTimeout and clearTimeout, us', 'adopted', 'a listener called, us', 'adopted'], rows)
for (const [place, first, , , setClear, , call] of rows) {
  target(`${place}: adopt() takes, at most`, Number(first), { most: 20, unit: ' ms' })
  target(`${place}: a timer set and cleared, at most`, Number(setClear), { most: 4, unit: ' us' })
  target(`${place}: a call, at most`, Number(call), { most: 4, unit: ' us' })
}
