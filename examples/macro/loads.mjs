import { preemptify } from '../../addons/preemptify.mjs'
import { budget } from '../../rt.mjs'
import { blocksOf, encrypt, encryptBlock, expandKey } from './aes.mjs'

/**
 * What competes for the thread (RT.js, section IV-D), each made twice: as JavaScript runs it, to its end, and
 * preemptible.
 *
 * @typedef {object} Work
 * @property {string} name
 * @property {number} deadline ms
 * @property {number} [period] ms
 * @property {(...args: any[]) => any} whole
 * @property {(...args: any[]) => Generator} preemptible
 *
 * @typedef {{ blocks: number, worked: number }} Progress blocks encrypted, ms of the task set's work done
 * @typedef {{ utilization: number, tasks: [wcet: number, period: number][] }} TaskSet ms
 * @typedef {object} Computations
 * @property {(...args: Encryption) => any} encrypt
 * @property {(...args: Encryption) => Generator} encryptPreemptibly
 * @property {(...args: Spin) => void} spin
 * @property {(...args: Spin) => Generator} spinPreemptibly
 * @typedef {[text: string, key: Uint8Array, times: number, progress: Progress]} Encryption
 * @typedef {[wcet: number, now: () => number, progress: Progress]} Spin
 */

/** ms after which a job is late. The tasks of the set have their periods. */
const deadlines = { box: 10, input: 32, aes: 500 }

/** How often the text is encrypted, and how many times it is repeated before. */
const times = 350
const copies = 16

const key = Uint8Array.from({ length: 16 }, (_, i) => 17 * i)

/** Nobody types this much: a piece of it takes about as long as the AES jobs of the paper. */
const longText = 'the quick brown fox jumps over the lazy dog '.repeat(2)

/** Spins until it has received its execution time. */
function spin(wcet, now, progress) {
  let last = now()
  for (let left = wcet; left > 0;) {
    const time = now()
    left -= time - last
    progress.worked += time - last
    last = time
  }
}

// By hand: after a yield it has to leave out what went to others, which no rewriting can know.
function* spinPreemptibly(wcet, now, progress) {
  let last = now()
  for (let left = wcet; left > 0;) {
    const time = now()
    left -= time - last
    progress.worked += time - last
    last = time
    if (--budget.left <= 0) {
      yield
      last = now()
    }
  }
}

/** @type {Computations} */
export const computations = {
  encrypt,
  // An ordinary function becomes preemptible; a block takes a microsecond, and is left in one piece.
  encryptPreemptibly: preemptify(encrypt, { scope: { expandKey, blocksOf, encryptBlock } }),
  spin,
  spinPreemptibly
}

/** @param {string} file beside this module @returns {Promise<any>} */
async function load(file) {
  const url = new URL(file, import.meta.url)
  // Node's fetch refuses file: addresses.
  if (url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises')
    return JSON.parse(await readFile(url, 'utf8'))
  }
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url.pathname} could not be loaded: ${response.status}`)
  return response.json()
}

/** @returns {Promise<TaskSet>} */
export const loadTaskSet = () => load('./page-load.json')

/** @returns {Promise<string[]>} for simulated typing */
export const loadWords = () => load('./words.json')

/**
 * @param {object} world
 * @param {() => number} world.now
 * @param {(time: number) => void} world.move draws the box for a frame
 * @param {(typed: any) => void} world.echo shows what was typed
 * @param {(bytes: any) => void} world.show shows what was encrypted
 * @param {Progress} world.progress
 * @param {TaskSet} world.taskSet
 * @param {Computations} [world.computations]
 */
export function worksOf({ now, move, echo, show, progress, taskSet, computations: its = computations }) {
  const short = (name, deadline, whole) => ({
    name,
    deadline,
    whole,
    // It is over sooner than any budget, and has no point.
    *preemptible(...args) { whole(...args) }
  })
  return {
    /** @type {Work} */
    box: short('box', deadlines.box, move),
    /** @type {Work} */
    input: short('input', deadlines.input, echo),
    /** @type {Work} */
    aes: {
      name: 'AES',
      deadline: deadlines.aes,
      whole: text => show(its.encrypt(text.repeat(copies), key, times, progress)),
      *preemptible(text) {
        show(yield its.encryptPreemptibly(text.repeat(copies), key, times, progress))
      }
    },
    /** @type {Work} */
    endless: {
      name: 'AES without end',
      deadline: Infinity,
      whole: () => its.encrypt(longText.repeat(copies), key, times, progress),
      preemptible: () => its.encryptPreemptibly(longText.repeat(copies), key, times, progress)
    },
    /** @type {Work[]} */
    tasks: taskSet.tasks.map(([wcet, period], index) => ({
      name: `task ${index + 1}`,
      period,
      deadline: period,
      whole: () => its.spin(wcet, now, progress),
      preemptible: () => its.spinPreemptibly(wcet, now, progress)
    }))
  }
}
