// A long callback of an adopted page leaves time for other callbacks: its deadline is postponed, as by a
// constant-bandwidth server.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { adopt } from '../../../addons/adopt.mjs'
import { rewrittenModule } from '../../support/modules.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'
import { virtualPage } from '../../support/virtual-page.mjs'

const { working } = await rewrittenModule(`
export const working = (host, ms) => () => { for (let i = 0; i < ms; i++) host.advance(1) }
`)

function adopted({ rules, ...options } = {}) {
  const host = virtualHost({ frame: 16 })
  const window = virtualPage(host)
  const scheduler = new Scheduler({ host: window.host, slice: 1, ...options })
  const adoption = adopt(window, { scheduler, rules, warn: false })
  return { host, window, scheduler, adoption }
}

const bandwidth = suite('bandwidth')

/** The longest gap between frames of a page while an input handler takes 400 ms. */
function longestGap(options) {
  const { host, window } = adopted(options)
  const target = window.element('input', null)
  let last = 0
  let longest = 0
  target.addEventListener('input', working(host, 400))
  window.requestAnimationFrame(function draw() {
    longest = Math.max(longest, host.time - last)
    last = host.time
    if (host.time < 500) window.requestAnimationFrame(draw)
  })
  host.after(40, () => window.fire(target, 'input'))
  host.run()
  return longest
}

bandwidth('a long input handler delays frames by about one deadline', () => {
  assert.ok(longestGap() <= 40, `${longestGap()}`)
})

bandwidth('a rule without a deadline for frames lets an input handler delay them to its end', () => {
  assert.ok(longestGap({ rules: { frame: { deadline: Infinity } } }) > 300)
})

bandwidth('a call that has used its deadline is reported as a miss of the first deadline only', () => {
  const { host, window, scheduler, adoption } = adopted()
  const target = window.element('input', null)
  target.addEventListener('input', working(host, 100))
  window.fire(target, 'input')
  host.run()
  assert.is(scheduler.stats().misses, 1)
  assert.is(adoption.report()[0].misses, 1)
})

bandwidth('a frame callback that waits until the next frame gets its time', () => {
  const { host, window } = adopted()
  const target = window.element('input', null)
  const times = []
  target.addEventListener('input', working(host, 60))
  window.requestAnimationFrame(time => times.push([time, host.time]))
  host.after(8, () => window.fire(target, 'input'))
  host.run()
  const [[time, start]] = times
  assert.ok(start > 16 && time <= start && start - time < 16, `${time} ${start}`)
})

bandwidth('equal calls keep the order of the platform when the first one is postponed', () => {
  const { host, window } = adopted()
  const log = []
  const work = working(host, 40)
  for (const name of ['a', 'b']) {
    window.setTimeout(() => {
      log.push(name)
    }, 20)
  }
  const target = window.element('input', null)
  target.addEventListener('input', work)
  host.after(10, () => window.fire(target, 'input'))
  host.run()
  assert.equal(log, ['a', 'b'])
})

bandwidth.run()
