import { connect } from '../../addons/connect.mjs'
import { sleep } from '../../alarms.mjs'
import { rt } from '../../rt.mjs'
import { Channel, ChannelError } from '../../sync.mjs'

/** Maximum length of a name and of a message, characters. The hub cuts longer texts. */
export const longestName = 24
export const longestText = 500

/**
 * @typedef {{ kind: 'said' | 'came' | 'left', name: string, text: string, number: number, here: number }}
 *   Entry
 *   `number`: increases with each entry, also after a restart of the hub; `here`: members in the room
 */

/**
 * The chat room. A member sends `{ name }` once and then any number of `{ text }` over the channel `say`, and
 * receives entries over the channel `hear`. The hub does not depend on the kind of endpoint.
 */
export class Hub {
  #scheduler
  #keep
  #pause
  #now
  /** @type {Set<{ name: string, entries: Channel }>} */
  #members = new Set()
  /** @type {Entry[]} */
  #latest = []
  #number = 0

  /**
   * @param {object} [options]
   * @param {import('../../rt.mjs').Scheduler} [options.scheduler]
   * @param {number} [options.keep] entries to keep for new and for slow members
   * @param {number} [options.pause] minimum time between two messages of a member, ms; a faster member waits
   * @param {() => number} [options.now] ms since the epoch
   */
  constructor({ scheduler = rt, keep = 50, pause = 100, now = Date.now } = {}) {
    this.#scheduler = scheduler
    this.#keep = keep
    this.#pause = pause
    this.#now = now
  }

  get size() { return this.#members.size }

  /** Adds a member until its endpoint closes. @param {any} endpoint a session, for example */
  join(endpoint) {
    const say = connect(endpoint, 'say')
    const hear = connect(endpoint, 'hear')
    this.#scheduler.spawn(this.#listen(say, hear), { name: 'listen to a member' }).catch(unlessGone)
  }

  /** @param {Channel} say @param {Channel} hear */
  *#listen(say, hear) {
    const name = tidy((yield say.receive())?.name, longestName) || 'Somebody'
    // A slow member misses the oldest entries and delays no other member.
    const member = { name, entries: new Channel(this.#keep, { overflow: 'slide' }) }
    for (const entry of this.#latest) member.entries.offer(entry)
    this.#members.add(member)
    this.#scheduler.spawn(tell(member.entries, hear), { name: `tell ${name}` }).catch(unlessGone)
    try {
      this.#announce('came', name)
      for (;;) {
        const text = tidy((yield say.receive())?.text, longestText)
        if (text) this.#announce('said', name, text)
        yield sleep(this.#pause)
      }
    } finally {
      this.#members.delete(member)
      member.entries.close()
      this.#announce('left', name)
    }
  }

  /** @param {Entry['kind']} kind @param {string} name @param {string} [text] */
  #announce(kind, name, text = '') {
    this.#number = Math.max(this.#number + 1, this.#now() * 1000)
    const entry = { kind, name, text, number: this.#number, here: this.#members.size }
    this.#latest.push(entry)
    if (this.#latest.length > this.#keep) this.#latest.shift()
    for (const { entries } of this.#members) entries.offer(entry)
  }
}

/** @param {Channel} entries @param {Channel} hear */
function* tell(entries, hear) {
  for (;;) yield hear.send(yield entries.receive())
}

/** @param {unknown} text @param {number} most */
const tidy = (text, most) => typeof text === 'string' ? text.trim().slice(0, most) : ''

/** @param {unknown} error */
function unlessGone(error) {
  if (!(error instanceof ChannelError)) throw error
}
