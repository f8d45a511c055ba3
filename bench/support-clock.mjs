import { openSync, readSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { cpuTime } from './support.mjs'

// Where other processes have the processors, the collector's threads wait for one, and this thread for them:
// which no clock here could tell from a long collection.
setFlagsFromString('--no-parallel-scavenge')

/**
 * Two clocks for a machine that others use as well, both in ms.
 *
 * `wall()` is performance.now(). `running()` stands still while this thread is ready to run and another one
 * has the processor; while the thread waits it goes on, so that alarms can be measured by it. `takenSince`
 * tells what others took since some wall time, for timers, which go by wall time whatever happens.
 *
 * Linux counts that time; elsewhere it is all that was not CPU time in a gap, which is right at 100 % only.
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
      // What was taken in shorter gaps is known only later, and would set the clock back.
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

/** @returns {(() => number) | undefined} ms that this thread was ready and did not run */
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
