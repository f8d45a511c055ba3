import { preemptify } from '../../addons/preemptify.mjs'
import { budget } from '../../rt.mjs'
import { blocksOf, encrypt, encryptBlock, expandKey } from './aes.mjs'

/**
 * The loads that compete for the thread (RT.js, section IV-D). Each exists twice: as a function that runs to
 * completion, and as a preemptible generator.
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

/** Relative deadlines, ms. Each task of the task set has its period as its deadline. */
const deadlines = { box: 10, input: 32, aes: 500 }

/** `times`: how many times a text is encrypted; `copies`: how many copies of it are joined before. */
const times = 350
const copies = 16

const key = Uint8Array.from({ length: 16 }, (_, i) => 17 * i)

/** The text of the endless load. Its encryption takes about as long as an AES job of the paper. */
const longText = 'the quick brown fox jumps over the lazy dog '.repeat(2)

/** Spins until it has consumed its execution time. */
function spin(wcet, now, progress) {
  let last = now()
  for (let left = wcet; left > 0;) {
    const time = now()
    left -= time - last
    progress.worked += time - last
    last = time
  }
}

// Written by hand, because time that other jobs used after a yield must not count. No rewriting can know
// this.
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
  // Becomes preemptible at its loops. A block takes a microsecond, so encryptBlock stays non-preemptible.
  encryptPreemptibly: preemptify(encrypt, { scope: { expandKey, blocksOf, encryptBlock } }),
  spin,
  spinPreemptibly
}

/** @param {string} file name of a file in this folder @returns {Promise<any>} */
async function load(file) {
  const url = new URL(file, import.meta.url)
  // Node's fetch does not support file: URLs.
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

/** @returns {Promise<string[]>} words for simulated typing */
export const loadWords = () => load('./words.json')

/**
 * @param {object} world
 * @param {() => number} world.now
 * @param {(time: number) => void} world.move draws the box for a frame
 * @param {(typed: any) => void} world.echo shows a typed text
 * @param {(bytes: any) => void} world.show shows encrypted bytes
 * @param {Progress} world.progress
 * @param {TaskSet} world.taskSet
 * @param {Computations} [world.computations]
 */
export function worksOf({ now, move, echo, show, progress, taskSet, computations: its = computations }) {
  const short = (name, deadline, whole) => ({
    name,
    deadline,
    whole,
    // Ends sooner than any budget, so it needs no preemption point.
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
