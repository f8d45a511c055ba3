/** Non-preemptive sections and the stack resource policy (Baker 1991), in as few lines as the seam allows. */
import { seam } from '../../rt.mjs'

/** @param {string} name of what needs one */
function currentJob(name) {
  const { current } = seam.here()
  if (current === null) throw new TypeError(`${name} needs a running job`)
  return current
}

/** @param {() => Generator<any, any, any>} section */
export function* nonPreemptive(section) {
  const gate = seam.gate(currentJob('nonPreemptive()'), Infinity)
  try {
    return yield section()
  } finally {
    gate.close()
  }
}

export class Resource {
  /** @param {string} [name] */
  constructor(name = 'resource') {
    this.name = name
    this.ceiling = -Infinity
    /** Jobs that declare it. */
    this.users = new Set()
    /** @type {any} */
    this.holder = null
    /** @type {{ raise(level: number): void, close(): void } | null} */
    this.gate = null
    this[seam.protocol] = {
      attach: (/** @type {any} */ job) => {
        this.users.add(job)
        this.ceiling = Math.max(this.ceiling, job.level)
        this.gate?.raise(this.ceiling)
      },
      detach: (/** @type {any} */ job) => { this.users.delete(job) }
    }
  }

  /** @param {() => Generator<any, any, any>} section */
  *use(section) {
    const job = currentJob(`${this.name}.use()`)
    if (!this.users.has(job)) throw new TypeError(`${job.name} does not declare ${this.name}`)
    if (this.holder !== null) throw new Error(`${job.name} blocks on ${this.name} of ${this.holder.name}`)
    const gate = this.gate = seam.gate(job, this.ceiling)
    this.holder = job
    try {
      return yield section()
    } finally {
      // First the holder, then the gate: whoever the gate lets through must find the resource free.
      this.holder = this.gate = null
      gate.close()
    }
  }
}
