/**
 * Threads that share memory, in one process: copies of the modules, each with a virtual host. At every access
 * to shared memory other threads can run, and a thread can end.
 *
 * A turn that starts inside a turn of another thread also ends inside it. So not every order of the accesses
 * of two threads occurs. Every order treats each access as one step.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { virtualHost } from './virtual-host.mjs'

/** The modules of which each thread has a copy, in addition to addons/internal, which they import. */
const MODULES = ['rt.mjs', 'sync.mjs', 'addons/shared.mjs']

/** The value that is thrown where a thread ends. Later steps of the thread have no effect. */
const END = Symbol('end of a thread')

class VirtualThread {
  isEnded = false
  /** Whether the thread is in a turn, in which other threads may run. */
  isBusy = false
  /** The number of the access at which the thread ends. */
  end = Infinity
  accesses = 0
  /** The Web Lock that the thread holds. */
  name = ''

  constructor(rt, sync, shared) {
    this.rt = rt
    this.sync = sync
    this.shared = shared
  }
  /** Starts a new life of the thread, with the same number. */
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
  /**
   * The pending waits for memory.
   *
   * @type {{ thread: VirtualThread, words: Int32Array, at: number, told: () => void }[]}
   */
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

  /** A step of the present thread. Before the step, other threads can run, or the thread ends. */
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

  /** Runs a turn of some thread. @returns {boolean} `false` if no thread could run */
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
    process.getBuiltinModule = undefined // threads of Node detect the end of a thread in another way
    // An interval of an ended thread would keep the process alive.
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
    await new Promise(setImmediate) // now the number of the thread is known
  }
  restore()

  return {
    all,
    /** The thread that runs at present. */
    get current() { return current },
    within,
    step,
    /**
     * Starts new lives of all threads, and after each phase runs them until none can continue.
     *
     * @param {{ random: any, phases: (() => void)[], ended(thread: VirtualThread): void }} run `ended` is
     *   called before the end of a thread has any effect
     */
    run(run) {
      ({ random, ended } = run)
      waits = []
      turns = watches.map(turnOf) // threads that had ended have not been notified of these
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
