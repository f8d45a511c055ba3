/**
 * addons/internal/threads.mjs: the identity of this thread, and the end of other threads.
 *
 * A browser fires no event when a worker is terminated, but it releases the Web Locks of that worker. So each
 * thread holds one lock as long as it lives. Node keeps the locks of a terminated thread; there, a port that
 * was transferred to the thread closes when the thread ends.
 *
 * Words:
 * - number of a thread: an integer from 2, because words of shared memory use 0 and 1 for states without a
 *   thread. In Node the number is `threadId + 2`, in other places it is random
 * - liveness lock: the name of the lock of a thread, `rt.mjs NUMBER`; '' if the thread could not get the lock
 *
 * Invariants:
 * 1. A lock that `hold` has got is held until the thread ends.
 * 2. A watch polls nothing and does not keep Node alive.
 * 3. A name that arrived from a peer passes `isLivenessLock` before a lock of that name is requested. A peer
 *    could otherwise make this thread hold a lock of the page.
 */

/**
 * Calls `ended` once when a thread has ended. If the platform does not reveal the end of a thread, `ended` is
 * never called.
 *
 * @param {number} thread the number of the thread @param {() => void} ended
 */
export function whenEnded(thread, ended) {
  const { MessageChannel, postMessageToThread } = threads() ?? {}
  if (postMessageToThread === undefined) return whenReleased(`${PROTOCOL} ${thread}`, ended)
  const { port1, port2 } = new MessageChannel()
  port1.on('close', ended).unref()
  postMessageToThread(thread - 2, { [PROTOCOL]: port2 }, [port2]).catch(() => port1.close())
}

/**
 * Calls `ended` once when no thread holds a lock, which means that the holding thread has ended.
 *
 * @param {string} livenessLock the name of the lock @param {() => void} ended
 * @param {{ signal?: AbortSignal, mayBeForeign?: boolean }} [options] `signal`: ends the watch;
 *   `mayBeForeign`: the thread may belong to another origin, whose locks are invisible here
 */
export async function whenReleased(livenessLock, ended, { signal, mayBeForeign = false } = {}) {
  const locks = globalThis.navigator?.locks
  if (locks === undefined) return
  try {
    if (mayBeForeign && !(await locks.query()).held?.some(({ name }) => name === livenessLock)) return
    await locks.request(livenessLock, { mode: 'shared', signal }, ended)
  } catch {
    // The watch was ended, or this document has no locks.
  }
}

// ---------------------------------------------------------------------------------------------- this thread

/** The prefix of the names of locks, and the first element of all messages to other threads. */
export const PROTOCOL = 'rt.mjs'

/** The number of this thread, from 2; 0 until it is known. */
let thread = 0
/** The number of this thread, from 2; 0 until `identified` is fulfilled. */
export const thisThread = () => thread

/** Ports that close when this thread ends. @type {any[]} */
const vitals = []

/**
 * Determines the number of this thread.
 *
 * @returns {Promise<void>} fulfilled when others can see the end of this thread
 */
export async function identified() {
  const { threadId = 0, postMessageToThread } = threads() ?? {}
  if (postMessageToThread !== undefined) { // asked first: a thread of Node that is terminated keeps its locks
    const { process } = /** @type {any} */ (globalThis)
    const take = (/** @type {any} */ message) => {
      if (message?.[PROTOCOL] !== undefined) vitals.push(message[PROTOCOL])
    }
    if (thread === 0) process.on('workerMessage', take)
    thread = threadId + 2
  } else if (globalThis.navigator?.locks !== undefined) {
    const livenessLock = await livenessLockOfThread()
    thread ||= livenessLock === '' ? randomThread() : Number(livenessLock.slice(PROTOCOL.length))
  } else thread ||= randomThread()
}

/** The liveness lock of this thread, once it was requested. @type {Promise<string> | undefined} */
let livenessLock

/**
 * Requests the lock of this thread.
 *
 * @returns {Promise<string>} the liveness lock of this thread; '' if there are no locks or another thread
 *   holds that lock
 */
export const livenessLockOfThread = () => livenessLock ??= new Promise(resolve => {
  const name = `${PROTOCOL} ${randomThread()}`
  hold(name, () => resolve(name), () => resolve(''))
})

/**
 * Holds a lock until this thread ends.
 *
 * @param {string} name @param {() => void} held called when this thread holds it
 * @param {() => void} [failed] called when another thread holds the lock, or this document has no locks
 */
export function hold(name, held, failed = () => {}) {
  globalThis.navigator?.locks?.request(name, { ifAvailable: true }, lock => {
    if (lock === null) return failed()
    held()
    return new Promise(() => {})
  }).catch(failed)
}

/**
 * Whether a value from a peer is the name of a lock that only `livenessLockOfThread` requests.
 *
 * @param {unknown} value
 */
export const isLivenessLock = value => typeof value === 'string' && /^rt[.]mjs \d{1,16}$/.test(value)

// ------------------------------------------------------------------------------- numbers, and Node's module

/** Returns a number for this thread if the platform provides none. */
const randomThread = () => crypto.getRandomValues(new Uint32Array(1))[0] % 0x3FFFFFFE + 2

/** Returns a unique random number for one end of a channel. @returns {number} */
export function randomId() {
  const { 0: high, 1: low } = crypto.getRandomValues(new Uint32Array(2))
  return (high & 0xFFFFF) * 2 ** 32 + low || randomId()
}

/** Node's module of threads. @returns {any} */
export const threads = () =>
  /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
