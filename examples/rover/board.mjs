import { budget } from '../../rt.mjs'
import { sleep, until } from '../../alarms.mjs'
import { reach } from './vehicle.mjs'

/**
 * An Arduino-compatible board in a rover, as far as its sketches need one. The functions have the names of
 * the Arduino API; those that take time are to be yielded.
 *
 *   pins 8, 9   left motor: HIGH, LOW forward; LOW, HIGH backward; else it stands
 *   pins 6, 7   right motor
 *   pin 11      trigger of the ultrasonic range finder
 *   pin 2       its echo
 *   pins 4, 5   remote control: left, right
 *
 * As on the Intel Galileo, most pins are behind a slow bus, and whoever writes to one is blocked for as long
 * as the transfer takes.
 */

export const LOW = 0
export const HIGH = 1
export const OUTPUT = 'output'
export const INPUT = 'input'
/** Of a pin that is not behind the bus. */
export const FAST_INPUT = 'fast input'

/** ms of a transfer on the bus */
const transfer = 0.35
/** ms from the trigger to the rise of the echo, and the longest echo: nothing is near */
const rise = 0.45
const longestEcho = 38
/** ms of sound for 1 m and back */
const flight = 5.82

/**
 * @param {import('./vehicle.mjs').Vehicle} vehicle
 * @param {object} options
 * @param {() => number} options.now ms
 * @param {EventTarget} [options.bumper] gets a bump event when the rover has run into something
 * @param {() => void} [options.step] what the processor does while it polls
 * @param {(line: string, time: number) => void} [options.onLine] what is printed
 */
export function boardOf(vehicle, { now, bumper = new EventTarget(), step = () => {}, onLine = () => {} }) {
  const began = now()
  /** @type {Map<number, { mode: string, level: number }>} */
  const pins = new Map()
  let triggered = NaN
  /** What the timer captures: when the echo rises, and when it falls; NaN when that has been looked at. */
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
      // No timer of a browser is as fine as a transfer is short.
      yield* poll(transfer)
      put(pin, level)
      // Whoever was blocked goes on when it is his turn.
      yield sleep(0)
    },

    /** @param {number} pin */
    digitalRead: levelOf,

    /**
     * µs that a pin was high for, by the timer that captures its edges; 0 if it was not. Only of the echo.
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

    // What happens to the board from outside

    /** Something touches the bumper. */
    bump() {
      bumper.dispatchEvent(new Event('bump'))
    },

    /** What the remote control says. @param {{ left: boolean, right: boolean }} keys */
    steer({ left, right }) {
      pins.set(4, { mode: INPUT, level: left ? HIGH : LOW })
      pins.set(5, { mode: INPUT, level: right ? HIGH : LOW })
    }
  }
}

/** @typedef {ReturnType<typeof boardOf>} Board */
