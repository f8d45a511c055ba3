import { edf, fp, Scheduler, Task } from '../../rt.mjs'
import { frames, on, periodic } from '../../alarms.mjs'

/**
 * The ways to run a load: without a scheduler, or with one of its policies.
 *
 * @typedef {import('./loads.mjs').Work} Work
 *
 * @typedef {object} Place environment of a load
 * @property {import('../../rt.mjs').Host} host
 * @property {(fn: () => void) => void} post calls `fn` in a later event-loop turn, as an ordinary task
 * @property {EventTarget} field the target of input events
 * @property {() => boolean} isOver whether no further callback may start
 * @property {(work: Work, lateness: number) => void} ended called at the end of every job; `lateness`: ms
 *   after its deadline
 *
 * @typedef {object} Executor
 * @property {(work: Work) => void} eachFrame
 * @property {(work: Work, pick: (event: any) => any) => void} eachInput `pick` is called in the listener
 * @property {(work: Work, ...args: any[]) => void} release
 * @property {(work: Work) => void} periodically starts now; skips a period if the previous job is still
 *   running
 * @property {(work: Work) => void} endlessly runs one job after another
 * @property {() => Promise<object | undefined>} end stops the load. Pending inputs are still handled, other
 *   jobs are cancelled. Returns the statistics of the scheduler, if there is one
 * @typedef {{ id: string, title: string, start(place: Place): Executor }} Way
 */

/**
 * Creates a way without a scheduler. `run` executes a job and calls `done` at its end.
 *
 * @param {string} id
 * @param {string} title
 * @param {(place: Place, work: Work, args: any[], done: () => void) => void} run executes an AES or task job
 * @returns {Way}
 */
export function byCallbacks(id, title, run) {
  return { id, title, start: place => start(place, run) }
}

/** @returns {Executor} */
function start(place, run) {
  const { host, post, field, ended } = place
  let isEnded = false
  const isOver = () => isEnded || place.isOver()
  const cancels = new Set()
  const later = (ms, fn) => {
    const cancel = host.after(Math.max(0, ms), () => {
      cancels.delete(cancel)
      if (!isOver()) fn()
    }, { ref: true })
    cancels.add(cancel)
  }
  const execute = (work, args, release, done = () => {}) => run({ ...place, isOver }, work, args, () => {
    ended(work, host.now() - release - work.deadline)
    done()
  })
  return {
    eachFrame(work) {
      let cancel
      const draw = time => {
        cancel = host.frame(draw)
        work.whole(time)
        ended(work, host.now() - time - work.deadline)
      }
      cancel = host.frame(draw)
      cancels.add(() => cancel())
    },
    eachInput(work, pick) {
      const listen = event => {
        work.whole(pick(event))
        ended(work, host.now() - host.eventTime(event) - work.deadline)
      }
      field.addEventListener('input', listen)
      cancels.add(() => field.removeEventListener('input', listen))
    },
    release(work, ...args) {
      const release = host.now()
      later(0, () => execute(work, args, release))
    },
    periodically(work) {
      const origin = host.now()
      const again = release => later(release - host.now(), () => execute(work, [], release, () => {
        const periods = Math.max(1, Math.ceil((host.now() - release) / work.period))
        again(release + periods * work.period)
      }))
      again(origin)
    },
    endlessly(work) {
      const again = () => {
        if (!isOver()) execute(work, [], host.now(), () => post(again))
      }
      post(again)
    },
    async end() {
      isEnded = true
      for (const cancel of cancels) cancel()
    }
  }
}

/** Runs every callback to completion, in the order of arrival. */
export const plain = byCallbacks('plain', 'Plain JavaScript', (place, work, args, done) => {
  work.whole(...args)
  done()
})

/**
 * Creates a way that runs the load as jobs of a scheduler.
 *
 * @param {string} id
 * @param {string} title
 * @param {import('../../rt.mjs').Policy} policy
 * @param {object} [options] options of the Scheduler; `budgets`: budgets of some works, by name
 * @returns {Way}
 */
export function scheduled(id, title, policy, { budgets = {}, ...options } = /** @type {any} */ ({})) {
  return {
    id,
    title,
    start({ host, field, ended }) {
      const scheduler = new Scheduler({ policy, host, ...options })
      let isEnded = false
      /** Jobs that are cancelled at the end. @type {Set<import('../../rt.mjs').Job>} */
      const background = new Set()
      // With fixed priorities, a shorter deadline gets a higher priority (Leung, Whitehead 1982).
      const parameters = ({ name, deadline }) => ({
        name, deadline, scheduler, budget: budgets[name], priority: deadline === Infinity ? -1e9 : -deadline
      })
      const foreground = work => new Task(function* (...args) {
        yield work.preemptible(...args)
        ended(work, scheduler.now() - scheduler.current.absoluteDeadline)
      }, parameters(work))
      const behind = work => new Task(function* (...args) {
        const job = scheduler.current
        if (isEnded) return
        background.add(job)
        try {
          yield work.preemptible(...args)
          ended(work, scheduler.now() - job.absoluteDeadline)
        } finally {
          background.delete(job)
        }
      }, parameters(work))
      const known = new Map()
      const taskOf = work => known.get(work) ?? known.set(work, behind(work)).get(work)
      const sources = []
      return {
        eachFrame: work => sources.push(frames(foreground(work))),
        eachInput: (work, before) => sources.push(on(field, 'input', foreground(work), { before })),
        release: (work, ...args) => { taskOf(work).release(...args) },
        periodically: work => sources.push(periodic(taskOf(work), { period: work.period })),
        endlessly: work => {
          const again = function* () { for (;;) yield work.preemptible() }
          background.add(scheduler.spawn(again, parameters(work)))
        },
        async end() {
          isEnded = true
          for (const source of sources) source.cancel()
          for (const job of background) job.cancel()
          await scheduler.idle()
          return scheduler.stats()
        }
      }
    }
  }
}

export const byPriority = scheduled('fp', 'Fixed priority', fp)
export const byDeadline = scheduled('edf', 'Earliest deadline', edf)

/** @type {readonly Way[]} */
export const ways = [plain, byPriority, byDeadline]
