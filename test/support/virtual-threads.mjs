/**
 * Threads that share memory, in one process: copies of the modules, each with a virtual host. At every access to shared
 * memory others may go on, and a thread may end.
 *
 * A turn of a thread that begins inside another's ends inside it, so of three accesses of one thread and two of another
 * not every order is met; what no order can do without is that each of them is one step.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { virtualHost } from './virtual-host.mjs'

/** The modules that each thread has a copy of, with addons/internal, which they import. */
const MODULES = ['rt.mjs', 'sync.mjs', 'addons/shared.mjs']

/** What is thrown where a thread ends: nothing that it does after that counts. */
const END = Symbol('end of a thread')

class VirtualThread {
  isEnded = false
  /** Whether it is in a turn, maybe in the midst of which others go on. */
  isBusy = false
  /** The access at which it ends. */
  end = Infinity
  accesses = 0
  /** The Web Lock that it holds. */
  name = ''

  constructor(rt, sync, shared) {
    this.rt = rt
    this.sync = sync
    this.shared = shared
  }
  /** A new life of the same number. */
  begin() {
    Object.assign(this, { isEnded: false, isBusy: false, end: Infinity, accesses: 0, host: virtualHost() })
    this.scheduler = new this.rt.Scheduler({ host: this.host, budget: 1 })
  }
}

/** @param {number} count */
export async function virtualThreads(count) {
  const folder = mkdtempSync(join(tmpdir(), 'threads-'))
  const { getBuiltinModule } = process
  const real = { navigator: Object.getOwnPropertyDescriptor(globalThis, 'navigator'), setInterval, ...Object.getOwnPropertyDescriptors(Atomics) }
  /** @type {VirtualThread[]} */
  const all = []
  /** @type {VirtualThread | null} */
  let current = null
  /** What waits for memory, for the end of a thread, or for its turn. @type {{ thread: VirtualThread, words: Int32Array, at: number, told: () => void }[]} */
  let waits = []
  /** @type {{ thread: VirtualThread, name: string, told: () => void }[]} */
  let watches = []
  /** @type {{ thread: VirtualThread, act: () => void }[]} */
  let turns = []
  let random
  let ended

  /** @param {VirtualThread} thread @param {() => void} act */
  function within(thread, act) {
    const outer = current
    current = thread
    thread.isBusy = true
    try {
      act()
    } catch (error) {
      if (error !== END) throw error
    } finally {
      current = outer
      thread.isBusy = false
    }
  }

  const turnOf = watch => ({
    thread: watch.thread,
    act() {
      watches = watches.filter(one => one !== watch)
      watch.told()
    }
  })

  /** A step of the thread that has its turn: before it others may go on, or it ends. */
  function step() {
    const thread = current
    if (thread === null) return
    if (random.chance(0.1)) go()
    if (!thread.isEnded && ++thread.accesses === thread.end) {
      thread.isEnded = true
      ended(thread)
      waits = waits.filter(wait => wait.thread !== thread)
      turns.push(...watches.filter(({ name }) => name === thread.name).map(turnOf))
    }
    if (thread.isEnded) throw END
  }

  /** Someone goes on. @returns {boolean} whether anybody could */
  function go() {
    turns = turns.filter(({ thread }) => !thread.isEnded)
    const ready = turns.filter(({ thread }) => !thread.isBusy)
    for (const thread of all) {
      const { host, isBusy, isEnded } = thread
      if (!isBusy && !isEnded && (host.posts > 0 || host.timers.some(({ ref }) => ref))) {
        ready.push({ thread, act: () => host.run({ turns: 1 }) })
      }
    }
    if (ready.length === 0) return false
    const turn = random.pick(ready)
    turns = turns.filter(one => one !== turn)
    within(turn.thread, turn.act)
    return true
  }

  const locks = {
    request(name, options, act) {
      const thread = current
      if (options.ifAvailable) {
        thread.name = name
        act({})
      } else {
        const watch = { thread, name, told: act }
        watches.push(watch)
        if (!all.some(one => one.name === name && !one.isEnded)) turns.push(turnOf(watch))
      }
      return new Promise(() => {})
    }
  }
  function pretend() {
    for (const key of ['load', 'store', 'add', 'compareExchange']) {
      Atomics[key] = (...values) => {
        step()
        return real[key].value(...values)
      }
    }
    Atomics.notify = (words, at) => {
      step()
      const told = waits.filter(wait => wait.words.buffer === words.buffer && wait.at === at)
      waits = waits.filter(wait => !told.includes(wait))
      turns.push(...told.map(wait => ({ thread: wait.thread, act: () => wait.told() })))
      return told.length
    }
    Atomics.waitAsync = (words, at, seen) => {
      step()
      if (words[at] !== seen) return { async: false, value: 'not-equal' }
      const wait = { thread: current, words, at, told: () => {} }
      waits.push(wait)
      return { async: true, value: { then(told) { wait.told = told } } }
    }
    Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true })
    process.getBuiltinModule = undefined // threads of Node have another way to see each other's end
    // Of an ended thread it would keep the process alive.
    globalThis.setInterval = () => 0
  }
  function restore() {
    for (const key of Object.keys(real)) if (key in Atomics) Object.defineProperty(Atomics, key, real[key])
    if (real.navigator === undefined) delete globalThis.navigator
    else Object.defineProperty(globalThis, 'navigator', real.navigator)
    globalThis.setInterval = real.setInterval
    process.getBuiltinModule = getBuiltinModule
  }

  for (let i = 0; i < count; i++) {
    const copy = join(folder, String(i))
    for (const name of [...MODULES, 'addons/internal']) {
      cpSync(new URL(`../../${name}`, import.meta.url), join(copy, name), { recursive: true })
    }
    const modules = await Promise.all(MODULES.map(file => import(String(pathToFileURL(join(copy, file))))))
    all.push(new VirtualThread(...modules))
  }
  pretend()
  for (const thread of all) {
    current = thread
    new thread.shared.SharedMutex()
    current = null
    await new Promise(setImmediate) // its number is known
  }
  restore()

  return {
    all,
    /** The thread whose turn it is. */
    get current() { return current },
    within,
    step,
    /**
     * Has threads begin anew, and after each of the phases go on until none can.
     *
     * @param {{ random: any, phases: (() => void)[], ended(thread: VirtualThread): void }} run `ended` is told before anything
     *   follows from it
     */
    run(run) {
      ({ random, ended } = run)
      waits = []
      turns = watches.map(turnOf) // which those that had ended have not been told
      pretend()
      try {
        for (const thread of all) thread.begin()
        for (const phase of [() => {}, ...run.phases]) {
          phase()
          for (let i = 0; go(); i++) if (i > 1e5) throw new Error('threads that never come to an end')
        }
      } finally {
        restore()
      }
    },
    remove: () => rmSync(folder, { recursive: true })
  }
}
