import { existsSync, openSync, readSync } from 'node:fs'

/**
 * A host for repeatable measurements on a shared machine, for Node only. Its clock is wall time without the
 * time in which the system ran other processes instead of this one. It skips idle waits, so that a run takes
 * no longer than its work.
 */

// Minimum gap between two clock readings for which the system is queried, ms. A query is expensive.
const suspicious = 0.05

/**
 * @param {{ wall?: () => number, losses?: (() => number)[] }} [sources] clocks for tests, ms; each of
 *   `losses` returns a lower bound of the time in which the process was ready but did not run
 */
export function processClockHost({ wall = () => performance.now(), losses = systemLosses() } = {}) {
  let lost = 0
  let skipped = 0
  let last = wall()
  let references = losses.map(loss => loss())
  let posted = 0
  let turning = false
  /** @type {{ due: number, fn: () => void }[]} sorted by due time, then creation */
  const timers = []

  function now() {
    const time = wall()
    if (time - last > suspicious) account(time - last)
    last = time
    return time - lost + skipped
  }

  function account(gap) {
    const before = references
    references = losses.map(loss => loss())
    // Subtract at most the gap, or the clock would run backwards.
    lost += Math.min(gap, Math.max(0, ...references.map((loss, i) => loss - before[i])))
  }

  function post(fn) {
    posted++
    setImmediate(() => {
      posted--
      fn()
    })
  }

  function after(ms, fn) {
    const timer = { due: now() + ms, fn }
    const later = timers.findLastIndex(({ due }) => due <= timer.due)
    timers.splice(later + 1, 0, timer)
    turnLater()
    return () => {
      const place = timers.indexOf(timer)
      if (place >= 0) timers.splice(place, 1)
    }
  }

  function turnLater() {
    if (turning) return
    turning = true
    setImmediate(turn)
  }

  function turn() {
    turning = false
    if (timers.length === 0) return
    const wait = timers[0].due - now()
    if (wait <= 0 || posted === 0) {
      if (wait > 0) skipped += wait
      timers.shift().fn()
    }
    turnLater()
  }

  return { now, post, after }
}

// Both figures are lower bounds. The CPU time of the process includes its background threads, and the waiting
// time of its main thread, which Linux counts, does not include throttling.
function systemLosses() {
  return known ??= [() => performance.now() - processorTime(), ...waitingTime()]
}

/** @type {(() => number)[] | undefined} */
let known

function processorTime() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function waitingTime() {
  if (!existsSync('/proc/self/schedstat')) return []
  const file = openSync('/proc/self/schedstat')
  const text = Buffer.alloc(64)
  return [() => Number(text.latin1Slice(0, readSync(file, text, 0, 64, 0)).split(' ')[1]) / 1e6]
}
