import { IoReservation, interrupt, loop, worstCaseDelay } from '../../addons/reservations.mjs'
import { on } from '../../alarms.mjs'
import { oneLoop, severalLoops } from './sketch.mjs'

/** @typedef {import('../../rt.mjs').Scheduler} Scheduler */

/** ms that equals run before it is the next one's turn, as on a time-sharing system. */
export const slice = 10
/** Share of the processor for the bottom halves of events. */
const ioShare = 0.02

/**
 * What may drive the rover.
 * @type {Record<string, { sketch: typeof severalLoops, system: typeof reserved }>}
 */
export const ways = {
  reserved: { sketch: severalLoops, system: reserved },
  turns: { sketch: severalLoops, system: takingTurns },
  single: { sketch: oneLoop, system: takingTurns }
}

/**
 * Runs a sketch, and hogs beside it.
 *
 * @param {Scheduler} scheduler
 * @param {object} options
 * @param {keyof ways} options.way
 * @param {import('./board.mjs').Board} options.board
 * @param {() => void} [options.step] a little of what a hog does
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
    /** ms from an event to its handling, at the longest; undefined where that is not known */
    worstDelay: worstDelay?.(),

    /** How many hogs there are from now on. @param {number} count */
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
 * Each part of the sketch has its reservation.
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

/** All are equal, the hogs too. @param {Scheduler} scheduler @param {{ cancel(): unknown }[]} parts */
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
