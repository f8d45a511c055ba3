import { connect } from '../../addons/connect.mjs'
import { sleep } from '../../alarms.mjs'
import { rt } from '../../rt.mjs'
import { Channel, ChannelError } from '../../sync.mjs'

/** What a name and a message are cut to, characters. */
export const longestName = 24
export const longestText = 500

/**
 * @typedef {{ kind: 'said' | 'came' | 'left', name: string, text: string, number: number, here: number }}
 *   Entry
 *   `number`: grows, also from one start of the hub to the next; `here`: how many there are then
 */

/**
 * The room that everybody is in. A member says `{ name }` first, then `{ text }` again and again, over the
 * channel `say`, and gets entries over `hear`. Where the members come from is of no concern here.
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
   * @param {number} [options.keep] how many entries are kept for those who come later, or are slow
   * @param {number} [options.pause] ms between two messages of a member: who says more than that has to wait
   * @param {() => number} [options.now] ms since the epoch
   */
  constructor({ scheduler = rt, keep = 50, pause = 100, now = Date.now } = {}) {
    this.#scheduler = scheduler
    this.#keep = keep
    this.#pause = pause
    this.#now = now
  }

  get size() { return this.#members.size }

  /** @param {any} endpoint such as a session; its end is the member's */
  join(endpoint) {
    const say = connect(endpoint, 'say')
    const hear = connect(endpoint, 'hear')
    this.#scheduler.spawn(this.#listen(say, hear), { name: 'listen to a member' }).catch(unlessGone)
  }

  /** @param {Channel} say @param {Channel} hear */
  *#listen(say, hear) {
    const name = tidy((yield say.receive())?.name, longestName) || 'Somebody'
    // One who is slow to hear misses the oldest, and holds up nobody.
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
