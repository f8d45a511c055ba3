import { budget } from '../../rt.mjs'
import { sleep, until } from '../../alarms.mjs'
import { reach } from './vehicle.mjs'

/**
 * A simulated Arduino-compatible board, limited to the needs of the rover's sketches. The functions have the
 * names of the Arduino API; a sketch yields the ones that take time.
 *
 *   pins 8, 9   left motor: HIGH, LOW forward; LOW, HIGH backward; otherwise stopped
 *   pins 6, 7   right motor
 *   pin 11      trigger of the ultrasonic range finder
 *   pin 2       echo of the range finder
 *   pins 4, 5   remote control: left, right
 *
 * As on the Intel Galileo, most pins are connected through a slow bus. Writing to such a pin blocks the
 * caller until the transfer ends.
 */

export const LOW = 0
export const HIGH = 1
export const OUTPUT = 'output'
export const INPUT = 'input'
/** Mode of an input pin that is not connected through the bus. */
export const FAST_INPUT = 'fast input'

/** Duration of a transfer on the bus, ms. */
const transfer = 0.35
/**
 * Time from the trigger to the rise of the echo, ms; and the longest echo, which means that nothing is near.
 */
const rise = 0.45
const longestEcho = 38
/** Time of flight of sound for 1 m and back, ms. */
const flight = 5.82

/**
 * @param {import('./vehicle.mjs').Vehicle} vehicle
 * @param {object} options
 * @param {() => number} options.now ms
 * @param {EventTarget} [options.bumper] target of a bump event when the rover hits something
 * @param {() => void} [options.step] a step of the processor's polling loop
 * @param {(line: string, time: number) => void} [options.onLine] called for each printed line
 */
export function boardOf(vehicle, { now, bumper = new EventTarget(), step = () => {}, onLine = () => {} }) {
  const began = now()
  /** @type {Map<number, { mode: string, level: number }>} */
  const pins = new Map()
  let triggered = NaN
  /** Captured times of the echo's rising and falling edge; NaN after they have been read. */
  let echo = { from: NaN, to: NaN }

  /** @param {number} pin */
  const levelOf = pin => pins.get(pin)?.level ?? LOW
  /** @param {number} forward @param {number} backward */
  const motor = (forward, backward) => levelOf(forward) - levelOf(backward)

  /** @param {number} pin @param {number} level */
  function put(pin, level) {
    const time = now()
    vehicle.advance(time)
    pins.set(pin, { mode: OUTPUT, level })
    vehicle.drive(motor(8, 9), motor(6, 7))
    if (pin !== 11) return
    if (level === HIGH) triggered = time
    else if (time - triggered >= 0.01) ping(time)
    if (level === LOW) triggered = NaN
  }

  /** @param {number} time */
  function ping(time) {
    const metres = vehicle.range()
    const from = time + rise
    echo = { from, to: from + (metres <= reach ? metres * flight : longestEcho) }
  }

  /** @param {number} ms */
  function* poll(ms) {
    const end = now() + ms
    while (now() < end) {
      step()
      if (--budget.left <= 0) yield
    }
  }

  return {
    bumper,

    /** @param {number} pin @param {string} mode */
    pinMode(pin, mode) {
      pins.set(pin, { mode, level: levelOf(pin) })
    },

    /** @param {number} pin @param {number} level */
    * digitalWrite(pin, level) {
      if (pins.get(pin)?.mode !== OUTPUT) throw new Error(`pin ${pin} is not an output`)
      // Polls, because browser timers are coarser than a transfer.
      yield* poll(transfer)
      put(pin, level)
      // A blocked caller resumes after the jobs that became ready before it.
      yield sleep(0)
    },

    /** @param {number} pin */
    digitalRead: levelOf,

    /**
     * Returns the length of the echo pulse in µs, from the timer that captures its edges; 0 if there was no
     * pulse.
     * @param {number} pin @param {number} level
     */
    * pulseIn(pin, level) {
      if (pin !== 2 || level !== HIGH) throw new Error(`pin ${pin} captures no pulses`)
      if (Number.isNaN(echo.to)) return 0
      const { from, to } = echo
      echo = { from: NaN, to: NaN }
      yield until(to)
      return (to - from) * 1000
    },

    /** @param {number} ms */
    delay: ms => sleep(ms),
    /** @param {number} µs */
    delayMicroseconds: µs => poll(µs / 1000),
    millis: () => now() - began,

    Serial: {
      /** @param {unknown} line */
      println: line => onLine(String(line), now())
    },

    // Events from outside the board

    /** Simulates a touch of the bumper. */
    bump() {
      bumper.dispatchEvent(new Event('bump'))
    },

    /** Sets the state of the remote control. @param {{ left: boolean, right: boolean }} keys */
    steer({ left, right }) {
      pins.set(4, { mode: INPUT, level: left ? HIGH : LOW })
      pins.set(5, { mode: INPUT, level: right ? HIGH : LOW })
    }
  }
}

/** @typedef {ReturnType<typeof boardOf>} Board */
