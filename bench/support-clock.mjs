import { openSync, readSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { cpuTime } from './support.mjs'

// Collect on this thread only. If other processes use the processors, the collector's threads wait for one,
// and this thread waits for them. No clock here could distinguish this wait from a long collection.
setFlagsFromString('--no-parallel-scavenge')

/**
 * Returns two clocks for a machine that is shared with other processes, both in ms.
 *
 * `wall()` is performance.now(). `running()` stops while this thread is ready to run but another thread has
 * the processor. It keeps running while the thread waits, so that it can measure alarms. `takenSince` returns
 * the time that other threads took since a wall time. Timers need it, because they always use wall time.
 *
 * Linux counts the time in which a thread is ready but does not run. On other systems it is estimated as the
 * part of a gap that was not CPU time, which is right only if the thread never waits.
 *
 * @returns {{ wall: () => number, running: () => number, takenSince: (time: number) => number }}
 */
export function processorClock() {
  const now = performance.now.bind(performance)
  const readDelay = runDelay() ?? (() => now() - cpuTime())
  const base = readDelay()
  /** @type {{ from: number, to: number, delay: number }[]} */
  const gaps = []
  let latest = now()
  let taken = 0
  let shown = -Infinity

  const wall = () => {
    let time = now()
    if (time - latest > 0.1) {
      const delay = readDelay() - base - taken
      time = now()
      if (delay > 0) {
        taken += delay
        gaps.push({ from: latest, to: time, delay })
      }
    }
    return latest = time
  }

  return {
    wall,
    running() {
      const time = wall()
      // Losses in short gaps are detected only later, and would set the clock back.
      return shown = Math.max(shown, time - taken)
    },
    takenSince(time) {
      wall()
      let sum = 0
      for (let i = gaps.length - 1; i >= 0 && gaps[i].to > time; i--) {
        const { from, to, delay } = gaps[i]
        sum += Math.min(delay, to - Math.max(from, time))
      }
      return sum
    }
  }
}

/**
 * @returns {(() => number) | undefined} returns the time in which this thread was ready but did not run, ms
 */
function runDelay() {
  const text = Buffer.alloc(128)
  let file
  try {
    file = openSync('/proc/thread-self/schedstat', 'r')
  } catch {
    return undefined
  }
  return () => Number(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)).split(' ')[1]) / 1e6
}
