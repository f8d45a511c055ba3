import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as elapse } from 'node:timers/promises'
import { until } from './page-control.mjs'

const page = 'examples/macro/index.html'

/** Opens the page. The result of an automatic run is stored in `window.results`. */
async function open(browser, address) {
  await browser.open(address)
  await browser.evaluate(async () => {
    window.results = null
    addEventListener('benchmark', ({ detail }) => { window.results = detail })
    while (document.getElementById('run').disabled) await new Promise(resolve => setTimeout(resolve, 20))
  })
}

const results = browser => until(browser, 'results')

function isComplete({ seconds, frames, input, perSecond, jobs, loads, way, subtest }) {
  const where = `${way}, ${subtest}`
  ok(seconds >= 1 && seconds < 20, where)
  equal(frames.perSecond.length, Math.floor(seconds), where)
  ok(frames.interval.count > 0 && frames.mean > 0, where)
  equal(input.lost, 0, where)
  ok(input.count === 0 || input.latency.count > 0, where)
  // The task set can use up the time of AES, in plain JavaScript or on a busy machine.
  ok(perSecond.blocks > 0 || !loads.aes || loads.tasks, where)
  equal(perSecond.worked > 0, Boolean(loads.tasks), where)
  // Without tasks, only frames and keys have jobs. A busy machine may paint two frames in a second.
  ok(jobs.ended > 0 || !loads.tasks, where)
}

const automatic = async ({ browser, server }) => {
  await open(browser, `${server.isolated}/${page}?seconds=1`)
  await browser.click('#run')
  const { isolated, outcomes } = await results(browser)
  equal(isolated, true)
  deepEqual(outcomes.map(({ way, subtest }) => `${way} ${subtest}`), [
    'plain none', 'plain aes', 'plain tasks', 'plain all', 'edf none', 'edf aes', 'edf tasks', 'edf all'
  ])
  for (const outcome of outcomes) isComplete(outcome)
  ok(outcomes.every(({ way, scheduler }) => way === 'plain' ? scheduler === null : scheduler.rounds > 0))
  const shown = await browser.evaluate(() => ({
    rows: document.querySelectorAll('#outcomes tr').length,
    curves: document.querySelectorAll('#figure path[stroke-width]').length,
    canDownload: !document.getElementById('download').disabled
  }))
  deepEqual(shown, { rows: 8, curves: 8, canDownload: true })
}

/** Runs in the page: starts all loads in one way, without simulated typing. */
const all = async (id, seconds) => {
  const { benchmark } = await import('/examples/macro/page.mjs')
  const { ways } = await import('/examples/macro/ways.mjs')
  benchmark({ seconds, steps: [{ way: ways.find(way => way.id === id), subtest: 'all' }], typing: false })
  document.getElementById('field').focus()
}

const keys = async ({ browser, server }) => {
  await open(browser, `${server.plain}/${page}`)
  await browser.evaluate(all, 'fp', 3)
  await until(browser, 'document.getElementById("stage").className === "fp"')
  for (const key of 'prioritize') await browser.press(key)
  const { isolated, outcomes: [outcome] } = await results(browser)
  equal(isolated, false)
  isComplete(outcome)
  // On a busy machine the last keys may arrive after the end.
  ok(outcome.input.count > 0)
  equal(outcome.input.trusted, outcome.input.count)
  await until(browser, 'document.getElementById("field").value === "prioritize"')
}

const typing = async ({ browser, server }) => {
  await open(browser, `${server.plain}/${page}`)
  // The load starts at once. The first real key ends the simulated typing.
  await elapse(300)
  await browser.click('#field')
  await browser.press('x')
  await until(browser, '!document.querySelector("[name=typing]").checked')
  for (const way of ['edf', 'fp', 'plain']) {
    await browser.click(`[value=${way}]`)
    await elapse(200)
    await browser.click('#field')
    await browser.evaluate(() => { document.getElementById('field').value = '' })
    for (const key of 'preempt') await browser.press(key)
    // Plain JavaScript answers after its current task.
    await until(browser, "document.getElementById('echo').textContent === 'preempt'")
  }
}

const hidden = async ({ browser, server }) => {
  if (!browser.hide) return false
  await open(browser, `${server.isolated}/${page}`)
  await browser.evaluate(all, 'edf', 2)
  await elapse(1000)
  await browser.hide()
  await elapse(3000)
  await browser.show()
  const { outcomes: [outcome] } = await results(browser)
  ok(outcome.seconds < 4, `${outcome.seconds} s`)
  // If the hidden time counted, some frames would be seconds apart.
  ok(outcome.frames.interval.longest < 2000, JSON.stringify(outcome.frames))
  isComplete({ ...outcome, loads: { tasks: true } })
}

export default {
  'examples/macro runs its subtests in turn': automatic,
  'examples/macro handles all keys of a subtest, not isolated': keys,
  'examples/macro echoes every key, with any kind of load': typing,
  'examples/macro does not count the time in a hidden page': hidden
}
