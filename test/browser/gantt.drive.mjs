import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { until } from './page-control.mjs'

/** The folder for pictures of the pages; without it, no pictures are taken. */
const { SCREENSHOTS } = process.env

const shoot = async (browser, name) => {
  if (!SCREENSHOTS) return
  await elapse(200)
  mkdirSync(SCREENSHOTS, { recursive: true })
  return browser.screenshot(join(SCREENSHOTS, `${name}-${browser.kind}.png`))
}

/** Opens the page and waits until it is ready. */
async function open(browser, server, culprit, more = '') {
  await browser.resize(1000, 900)
  await browser.open(`${server.isolated}/examples/schedule/index.html?culprit=${culprit}${more}`)
  await until(browser, 'document.querySelector("#schedule canvas") !== null')
}

/** Opens the page and types until an input is late. Returns the text that names the cause. */
async function typedLate(browser, server, culprit, more = '') {
  await open(browser, server, culprit, more)
  await browser.click('#field')
  for (let i = 0; i < 150; i++) {
    await browser.press('a')
    await elapse(40 + 7 * (i % 9))
    // A query after each key would wait for the save, so that every key would come after it.
    if (i % 5 < 4) continue
    // On a busy machine other jobs can contribute. One input must be late only because of the save.
    const text = await browser.evaluate('document.querySelector("#verdict.late")?.textContent')
    const [, ms] = text?.match(/save ran for ([\d.]+) ms/) ?? []
    if (Number(ms) > 16) return text
  }
  throw new Error(`no input was late: ${await browser.evaluate('document.body.innerText')}`)
}

/**
 * WebKitGTK paints in software and then blocks the thread for longer than the save. The cause of a late input
 * is therefore tested in the other browsers only.
 */
const isDisturbed = browser => browser.kind === 'webkit'

const readout = 'document.querySelector("#schedule p").textContent'

const tests = {
  async 'the text, the trace and the picture of a late input name the critical section'({ browser, server }) {
    if (isDisturbed(browser)) return false
    const verdict = await typedLate(browser, server, 'section')
    match(verdict, /^\d+ ms late\. In the 32\.0 ms before its deadline: .*save ran for/)
    // Another late input may have replaced the text, with a different cause.
    match(await browser.evaluate(readout), /^input: released at .* late; .* before its deadline: .* ran for [\d.]+ ms/)
    match(await until(browser, 'document.querySelector("#schedule canvas").getAttribute("aria-label")'), /missed deadline/)
    const contents = await browser.evaluate(async () => {
      const blobs = []
      URL.createObjectURL = blob => {
        blobs.push(blob)
        return '#'
      }
      HTMLAnchorElement.prototype.click = () => {}
      for (const id of ['trace', 'svg']) document.getElementById(id).dispatchEvent(new Event('click'))
      return Promise.all(blobs.map(async blob => [blob.type, await blob.text()]))
    })
    deepEqual(contents.map(([type]) => type), ['application/json', 'image/svg+xml'])
    const { traceEvents } = JSON.parse(contents[0][1])
    const isOfSave = ({ name, args }) => name === 'miss' && args.ran.save > 16
    ok(traceEvents.some(isOfSave), 'no miss because of the save')
    match(contents[1][1], /<title>Why was it late\?<\/title>[^]*save ran for/)
    if (!SCREENSHOTS) return
    await shoot(browser, 'schedule-late')
    await browser.resize(390, 844)
    await browser.evaluate('document.querySelector("#schedule").scrollIntoView()')
    await shoot(browser, 'schedule-late-phone')
  },

  async 'the text for a late input names the job without preemption points'({ browser, server }) {
    if (isDisturbed(browser)) return false
    match(await typedLate(browser, server, 'stall'), /save ran for .* without a preemption point/)
    const count = async () => Number(await browser.evaluate('document.getElementById("count").textContent'))
    const before = await count()
    await browser.click('#tap')
    const hasMore = before => Number(document.getElementById('count').textContent) > before
    await until(browser, hasMore, before)
  },

  async 'DevTools tracks show executions and misses, and the timeline stays empty'({ browser, server }) {
    if (isDisturbed(browser)) return false
    await open(browser, server, 'section')
    await browser.evaluate(() => {
      window.seen = []
      new PerformanceObserver(list => {
        for (const { name, entryType, startTime, duration, detail } of list.getEntries()) {
          window.seen.push({ name, entryType, startTime, duration, ...detail?.devtools })
        }
      }).observe({ entryTypes: ['measure', 'mark'] })
    })
    await browser.click('#devtools')
    await browser.click('#field')
    for (let i = 0; i < 150; i++) {
      await browser.press('a')
      await elapse(40 + 7 * (i % 9))
      if (i % 5 < 4) continue // see typedLate
      const isBlamed = () => window.seen.some(({ tooltipText }) => /^input.*finished .*save ran for [23]\d/.test(tooltipText))
      if (await browser.evaluate(isBlamed)) break
    }
    const { seen, now } = await browser.evaluate('({ seen, now: performance.now() })')
    const marker = seen.find(({ dataType, tooltipText }) =>
      dataType === 'marker' && /^input.*finished .*save ran for/.test(tooltipText))
    const { tooltipText } = marker ?? { tooltipText: 'there is no marker' }
    match(tooltipText, /^input #\d+ missed its deadline, finished [\d.]+ ms late\. .*save ran for/)
    equal(marker.color, 'error')
    const beside = seen.find(({ track, name }) => track === 'input: missed' && name === marker.name)
    ok(Math.abs(beside.startTime + beside.duration - marker.startTime) < 0.01, 'the entry ends elsewhere')
    ok(Math.abs(beside.duration - 32) < 1.1, `${beside.duration} ms from release to deadline`)
    for (const track of ['index', 'save', 'input', 'rounds']) {
      const entries = seen.filter(entry => entry.track === track)
      ok(entries.length > 0, track)
      for (const { dataType, trackGroup } of entries) equal(`${dataType} ${trackGroup}`, 'track-entry rt.mjs')
      ok(entries.every(({ startTime, duration }) => startTime > 0 && startTime + duration <= now), track)
    }
    const left = () => ['measure', 'mark'].flatMap(type => performance.getEntriesByType(type)).length
    equal(await browser.evaluate(left), 0)
    await browser.click('#devtools')
    // Keys and rounds continue, but no entry is made between two marks of the page.
    const fence = name => {
      performance.mark(name)
      performance.clearMarks(name)
    }
    await browser.evaluate(fence, 'off')
    await browser.click('#field')
    for (let i = 0; i < 5; i++) await browser.press('a')
    await browser.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    await browser.evaluate(fence, 'later')
    await until(browser, () => seen.some(({ name }) => name === 'later'))
    const names = await browser.evaluate(() => seen.map(({ name }) => name))
    deepEqual(names.slice(names.indexOf('off')), ['off', 'later'])
  },

  async 'a trace of Chromium has the entries of the tracks at the right time'({ browser, server }) {
    if (!browser.trace) return false
    await open(browser, server, 'section', '&devtools')
    await browser.click('#field')
    const { events } = await browser.trace(['blink.user_timing', 'devtools.timeline'], async () => {
      for (let i = 0; i < 12; i++) {
        await browser.press('a')
        await elapse(43)
      }
      await elapse(300)
    })
    const timings = events.filter(({ cat }) => cat === 'blink.user_timing')
    const detailOf = ({ args: { detail, data } }) => JSON.parse(detail ?? data?.detail ?? '{}').devtools
    const begins = timings.filter(event => event.ph === 'b' && detailOf(event)?.dataType === 'track-entry')
    for (const track of ['index', 'save', 'rounds']) {
      ok(begins.some(event => detailOf(event).track === track), `nothing on the track ${track}`)
    }
    const markers = timings.filter(event => detailOf(event)?.dataType === 'marker')
    const told = markers.map(event => detailOf(event).tooltipText)
    ok(told.some(text => /^input #\d+ missed its deadline/.test(text)), 'no marker')
    // The release of the job must be the time of the keydown event in the trace of the browser.
    const keys = events.filter(({ name, args }) => name === 'EventDispatch' && args?.data?.type === 'keydown')
    ok(keys.length >= 12)
    const inputs = begins.filter(event => detailOf(event).track === 'input')
    ok(inputs.length > 0)
    for (const { ts } of inputs) ok(keys.some(key => key.ts < ts && ts - key.ts < 1e6), 'it precedes its key')
  },

  async 'a chart of 100 000 records is drawn, moved and zoomed by keys'({ browser, server }) {
    await browser.resize(1000, 800)
    await browser.open(`${server.isolated}/test/browser/gantt.html`)
    await browser.evaluate(() => {
      const schedule = scheduleOf(busyRecords(100_000))
      gantt.show([{ schedule }], { from: 0, span: schedule.end })
      gantt.draw()
      gantt.canvas.focus()
    })
    // The number of pixels of the canvas that are neither transparent nor grey.
    const colored = () => browser.evaluate(() => {
      gantt.draw()
      const { width, height } = gantt.canvas
      const { data } = gantt.canvas.getContext('2d').getImageData(0, 0, width, height)
      let count = 0
      for (let i = 0; i < data.length; i += 4) {
        const [red, green, blue, alpha] = data.subarray(i, i + 4)
        if (alpha > 0 && Math.max(red, green, blue) - Math.min(red, green, blue) > 40) count++
      }
      return count / (width * height)
    })
    ok(await colored() > 0.1, 'far away')
    await shoot(browser, 'gantt-far')
    const view = () => browser.evaluate('gantt.view')
    const { span } = await view()
    for (let i = 0; i < 8; i++) await browser.press('+')
    // Firefox may answer before it has dispatched the last key.
    await until(browser, span => Math.abs(gantt.view.span - span / 256) < span * 1e-6, span)
    const near = await view()
    await browser.press('ArrowRight')
    await until(browser, from => gantt.view.from > from, near.from)
    ok(await colored() > 0.01, 'near by')
    await browser.press('m')
    const says = text => RegExp(text).test(document.querySelector('#schedule p').textContent)
    await until(browser, says, 'late; .* before its deadline: task \\d+ ran for')
    await shoot(browser, 'gantt-near')
    await browser.press('Escape')
    await until(browser, says, '^Point at a job')
    await browser.click('[data-move=all]')
    ok(Math.abs((await view()).span - span) < 1)
  },

  async 'a click on a job shows its text'({ browser, server }) {
    await browser.resize(1000, 800)
    await browser.open(`${server.isolated}/test/browser/gantt.html`)
    await browser.evaluate(() => {
      const job = { id: 1, name: 'only', release: 0, absoluteDeadline: 150 }
      const events = [['release', 0], ['start', 0], ['finish', 200]]
      const records = events.map(([type, time]) => ({ type, time, job }))
      gantt.show([{ schedule: scheduleOf(records) }], { from: 0, span: 200 })
      gantt.draw()
      // The click hits the middle of the canvas. At this height the row of the job is there.
      gantt.canvas.style.height = '76px'
    })
    await browser.click('canvas')
    const told = await browser.evaluate(readout)
    match(told, /^only: released at 0\.0 ms, .* 50\.0 ms late; executed for 200\.0 ms/)
    equal(await browser.evaluate('gantt.chosen.id'), 1)
  },

  async 'examples/task-sets draws a schedule and describes its jobs'({ browser, server }) {
    await browser.resize(1000, 900)
    await browser.open(`${server.isolated}/examples/task-sets/index.html?sets=1&seconds=0.3&run`)
    await until(browser, 'document.getElementById("now").textContent === "Done"')
    await browser.evaluate('document.getElementById("gantt").focus()')
    await browser.press('ArrowDown')
    match(await browser.evaluate('document.getElementById("readout").textContent'), /^task \d+: released at /)
    await browser.click('[data-view=all]')
    await browser.evaluate('document.getElementById("gantt").scrollIntoView()')
    await shoot(browser, 'task-sets-schedule')
  }
}

export default tests
