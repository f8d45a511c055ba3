/** A rendezvous channel and a choice over several, in as few lines as the seam allows. */
import { seam } from '../../rt.mjs'

const { Queue, Waitable } = seam

/** One side of a rendezvous that is still to happen. */
class Side extends Waitable {
  /** @param {Channel} channel @param {'senders' | 'receivers'} role @param {any} [value] */
  constructor(channel, role, value) {
    super()
    this.channel = channel
    this.role = role
    this.value = value
    /** The choice that it is a branch of: nobody meets himself. @type {any} */
    this.group = this
  }

  get name() {
    return `${this.channel.name}.${this.role === 'senders' ? 'send' : 'receive'}()`
  }

  /** @param {any} job */
  begin(job) {
    const { channel, role } = this
    const peers = role === 'senders' ? channel.receivers : channel.senders
    const own = []
    while (peers.first?.waitable.group === this.group) own.push(peers.shift())
    const peer = peers.shift() ?? undefined
    for (const waitable of own) peers.push(waitable, job)
    if (peer === undefined) return void channel[role].push(this, job)
    if (role === 'senders') {
      peer.wake(this.value)
      this.wake()
    } else {
      peer.wake()
      this.wake(peer.value)
    }
  }
}

export class Channel {
  /** @param {string} [name] */
  constructor(name = 'channel') {
    this.name = name
    /** @type {any} */
    this.senders = new Queue()
    /** @type {any} */
    this.receivers = new Queue()
  }

  /** @param {any} value */
  send(value) {
    return new Side(this, 'senders', value)
  }

  receive() {
    return new Side(this, 'receivers')
  }
}

class Choice extends Waitable {
  /** @param {any[]} branches */
  constructor(branches) {
    super()
    this.branches = branches
    for (const branch of branches) if (branch instanceof Side) branch.group = this
    /** @type {any} */
    this.party = null
  }

  get name() {
    return `choice(${this.branches.map(({ name }) => name).join(', ')})`
  }

  /** @param {any} job */
  begin(job) {
    this.party = { job, woken: (/** @type {any} */ branch) => this.commit(branch) }
    const ready = this.branches.find(branch => branch.enlist(this.party))
    if (ready !== undefined) this.commit(ready)
  }

  /** @param {any} branch */
  commit(branch) {
    this.undo()
    if (branch.isFulfilled) this.wake({ index: this.branches.indexOf(branch), value: branch.outcome })
    else this.fail(branch.outcome)
  }

  undo() {
    for (const branch of this.branches) branch.leave(this.party)
  }

  refresh() {
    for (const branch of this.branches) branch.refresh()
  }
}

/** @param {...any} subjects waitables, jobs, promises; the first that is ready commits, the rest is left */
export const choice = (...subjects) => new Choice(subjects.map(subject => Waitable.of(subject)))
