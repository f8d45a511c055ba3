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

/**
 * Runs in the page: the time of the first adopt() in a page of 50,000 elements, ms.
 *
 * @param {string} from
 */
async function costInLongPage(from) {
  const { adopt } = await import(`${from}/addons/adopt.mjs`)
  const part = `<div><p onclick="0">${'<span>text</span>'.repeat(98)}</p></div>`
  document.body.insertAdjacentHTML('beforeend', part.repeat(500))
  document.body.offsetHeight
  const began = performance.now()
  const adoption = adopt(globalThis, { warn: false })
  const time = performance.now() - began
  adoption.release()
  return time
}

/** The number of loads of the long page. The least time counts, because other processes delay some of them. */
const LOADS = 7

heading('What does it cost to have a page adopted?', 'medians of 21 runs')
const rows = []
const row = (place, { first, long, again, plain, adopted }) => rows.push([
  place, first.toFixed(2), long.toFixed(2), again.toFixed(2), ...[0, 1].flatMap(at => [plain[at].toFixed(2), adopted[at].toFixed(2)])
])
await eachBrowser(values.browsers.split(','), async (browser, server) => {
  await browser.open(`${server.isolated}/test/browser/driver.html`)
  const found = await browser.evaluate(costs, '')
  let long = Infinity
  for (let load = 0; load < LOADS; load++) {
    await browser.open(`${server.isolated}/test/browser/driver.html?${load}`)
    long = Math.min(long, await browser.evaluate(costInLongPage, ''))
  }
  row(browser.name, { ...found, long })
})
table(['', 'adopt(), first, ms', 'with 50,000 elements, ms', 'again, ms', 'setTimeout and clearTimeout, us', 'adopted', 'a listener called, us', 'adopted'], rows)
for (const [place, first, long, , , setClear, , call] of rows) {
  target(`${place}: adopt() takes, at most`, Number(first), { most: 20, unit: ' ms' })
  target(`${place}: adopt() with 50,000 elements takes, at most`, Number(long), { most: 20, unit: ' ms' })
  target(`${place}: a timer set and cleared, at most`, Number(setClear), { most: 4, unit: ' us' })
  target(`${place}: a call, at most`, Number(call), { most: 4, unit: ' us' })
}
