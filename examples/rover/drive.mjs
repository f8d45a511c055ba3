import { IoReservation, interrupt, loop, worstCaseDelay } from '../../addons/reservations.mjs'
import { on } from '../../alarms.mjs'
import { oneLoop, severalLoops } from './sketch.mjs'

/** @typedef {import('../../rt.mjs').Scheduler} Scheduler */

/** Time slice of jobs of equal rank, ms, as on a time-sharing system. */
export const slice = 10
/** Share of the processor for the bottom halves of event handlers. */
const ioShare = 0.02

/**
 * The ways to drive the rover: a sketch and a system to run it.
 * @type {Record<string, { sketch: typeof severalLoops, system: typeof reserved }>}
 */
export const ways = {
  reserved: { sketch: severalLoops, system: reserved },
  turns: { sketch: severalLoops, system: takingTurns },
  single: { sketch: oneLoop, system: takingTurns }
}

/**
 * Runs a sketch together with CPU hogs.
 *
 * @param {Scheduler} scheduler
 * @param {object} options
 * @param {keyof ways} options.way
 * @param {import('./board.mjs').Board} options.board
 * @param {() => void} [options.step] a step of a hog's loop
 */
export function drive(scheduler, { way, board, step = () => {} }) {
  const { sketch, system } = ways[way]
  /** @type {{ cancel(): unknown }[]} */
  const parts = []
  /** @type {import('../../rt.mjs').Job[]} */
  const running = []
  const { worstDelay, ...functions } = system(scheduler, parts)
  sketch(board, functions)

  function* hog() {
    for (;;) {
      step()
      yield
    }
  }

  return {
    /** Upper bound of the time from an event to its handling, ms; undefined if there is none. */
    worstDelay: worstDelay?.(),

    /** Sets the number of hogs. @param {number} count */
    hogs(count) {
      while (running.length > count) running.pop().cancel()
      while (running.length < count) running.push(scheduler.spawn(hog))
    },

    end() {
      this.hogs(0)
      for (const part of parts) part.cancel()
    }
  }
}

/**
 * Runs each part of the sketch in its own reservation.
 * @param {Scheduler} scheduler @param {{ cancel(): unknown }[]} parts
 */
function reserved(scheduler, parts) {
  const io = new IoReservation({ utilization: ioShare, scheduler })
  /** @type {import('../../addons/reservations.mjs').Reservation[]} */
  const handlers = []
  return {
    loop: (body, options) => { parts.push(loop(body, { ...options, scheduler })) },
    interrupt(target, type, handler, options) {
      const handling = interrupt(target, type, handler, { ...options, io, scheduler })
      parts.push(handling)
      handlers.push(handling.reservation)
    },
    worstDelay: () => Math.max(...handlers.map(handler => worstCaseDelay({ handler, io })))
  }
}

/**
 * Runs all parts as jobs of the same rank as the hogs.
 *
 * @param {Scheduler} scheduler @param {{ cancel(): unknown }[]} parts
 */
function takingTurns(scheduler, parts) {
  return {
    loop(body) {
      const run = function* () {
        for (;;) yield body()
      }
      parts.push(scheduler.spawn(run, { name: body.name }))
    },
    interrupt: (target, type, handler) => { parts.push(on(target, type, handler, { scheduler })) }
  }
}
