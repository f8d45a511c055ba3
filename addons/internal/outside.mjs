/**
 * addons/internal/outside.mjs: waitables that another thread, process or machine settles.
 *
 * A scheduler reports `idle()` when none of its jobs can run again. A job that waits for another thread can,
 * although nothing in this thread shows it. So an outside waitable holds the scheduler of its job open while
 * the job waits.
 */

import { seam } from '../../rt.mjs'
/** @import { Job } from '../../rt.mjs' */
/** @typedef {InstanceType<typeof seam.Waitable>} Waitable */

const { Waitable, here } = seam

/**
 * Waits for what nothing in this thread shows to come: jobs that do are not stuck.
 *
 * @template {new (...given: any[]) => Waitable} T
 * @param {T} Base @param {boolean} isTimed whether Node is to be kept alive by a timer, since nothing else does
 */
export const outside = (Base, isTimed) => class extends Base {
  #letGo = () => {}
  /** @param {Job | null} job */
  begin(job) {
    super.begin(job)
    if (this.phase !== Waitable.BEGUN) return
    const release = job === null ? () => {} : seam.hold(here())
    const timer = isTimed ? setInterval(() => {}, 2 ** 30) : undefined
    this.#letGo = () => {
      clearInterval(timer)
      release()
    }
  }
  undo() {
    super.undo()
    // Its job may be about to be woken by something else, and must not look as if nobody would.
    queueMicrotask(this.#letGo)
  }
  // Once it is settled: an idle scheduler asks at once who is left.
  /** @param {any} [value] */
  wake(value) {
    super.wake(value)
    this.#letGo()
  }
  /** @param {unknown} error */
  fail(error) {
    super.fail(error)
    this.#letGo()
  }
}
