/**
 * The default host of rt.mjs, `makeHost`, over a platform whose time moves only when a test moves it. It runs
 * the code of pages and of Node, including the pacing, and has the interface of the virtual host.
 */
import { readFileSync } from 'node:fs'
import { virtualHost } from './virtual-host.mjs'

// `defaultHost` makes one host for each thread, but a test needs one for each program.
const text = readFileSync(new URL('../../rt.mjs', import.meta.url), 'utf8')
const copy = `data:text/javascript,${encodeURIComponent(`${text}\nexport { makeHost }`)}`
/** @type {{ makeHost: (platform: object) => import('../../rt.mjs').Host }} */
export const { makeHost } = await import(copy)

/** @typedef {ReturnType<typeof virtualHost>} VirtualHost */
/** @typedef {import('./virtual-host.mjs').VirtualHostOptions} Options */
/** @typedef {'node' | 'worker' | 'chromium' | 'firefox'} Platform */

/** @type {Platform[]} */
export const PLATFORMS = ['node', 'worker', 'chromium', 'firefox']

/**
 * @param {Options & { platform?: Platform }} [options] `frame`: default 1000 / 60, as for a display with 60
 *   Hz. Timers are in integer ms
 * @returns {VirtualHost}
 */
export function platformHost({ platform = 'node', frame = 1000 / 60, ...options } = {}) {
  const host = virtualHost({ frame, delay: WHOLE, ...options })
  const own = host.after
  const globals = { ...timers(host), ...EXTRAS[platform](host, frame) }
  for (const name of ['inputPending', 'frame']) Reflect.deleteProperty(host, name)
  const made = makeHost(globals)
  // Schedulers pass `options` to `after`. A call without options is a timer of the test, not of the page.
  const after = (/** @type {number} */ ms, /** @type {() => void} */ fn, /** @type {any} */ options) =>
    options === undefined ? own(ms, fn) : made.after(ms, fn, options)
  // In Firefox, the next round waits for the frame if the time before the frame is too short.
  const turn = host.turn + (platform === 'firefox' ? frame : 0)
  // One post is for the round. On other platforms an alarm that is set again can leave its last post behind.
  return Object.assign(host, made, { after, turn, mostPosts: platform === 'node' ? 1 : Infinity })
}

/** The delay of setTimeout. (Node also changes 0 to 1, which is left out: it would shift whole schedules.) */
export const WHOLE = Math.ceil

/** @param {VirtualHost} host */
function timers({ now, after }) {
  return {
    performance: { now, timeOrigin: 0 },
    /** @param {() => void} fn @param {number} ms */
    setTimeout(fn, ms) {
      const timer = {
        cancel: after(ms, fn),
        unref() {
          timer.cancel()
          timer.cancel = after(ms, fn, { ref: false })
        }
      }
      return timer
    },
    /** @param {{ cancel: () => void } | undefined} timer */
    clearTimeout: timer => timer?.cancel()
  }
}

/** @param {VirtualHost} host */
const channels = ({ post }) => ({
  MessageChannel: class {
    port1 = { onmessage() {} }
    port2 = { postMessage: () => post(() => this.port1.onmessage()) }
  }
})

/** @param {VirtualHost} host @param {number} interval ms between two frames */
function page(host, interval) {
  const { frame } = host
  return {
    ...channels(host),
    document: {
      get visibilityState() { return host.isHidden ? 'hidden' : 'visible' },
      addEventListener() {}
    },
    // A frame gets the time at which it was due, even if it is late.
    /** @param {(time: number) => void} fn */
    requestAnimationFrame: fn => ({ cancel: frame(() => fn(Math.floor(host.time / interval + 1e-9) * interval)) }),
    /** @param {{ cancel: () => void }} request */
    cancelAnimationFrame: request => request.cancel(),
    AbortController
  }
}

/**
 * The additional globals of each platform.
 *
 * @type {Record<Platform, (host: VirtualHost, interval: number) => object>}
 */
const EXTRAS = {
  node: ({ post }) => ({ setImmediate: post }),
  worker: channels,
  chromium(host, interval) {
    const { inputPending } = host
    return { ...page(host, interval), navigator: { scheduling: { isInputPending: inputPending } } }
  },
  firefox(host, interval) {
    const { post } = host
    return {
      ...page(host, interval),
      navigator: {},
      scheduler: {
        /** @param {() => void} fn @returns {Promise<void>} */
        postTask: fn => new Promise(resolve => { post(() => resolve(fn())) })
      }
    }
  }
}

/** @typedef {(options?: Options) => VirtualHost} HostOf */

/**
 * The hosts for whole schedules and random programs. `part`: the part of the seeds to run. `leastTurn`: the
 * minimum duration of a turn if a program awaits many timers, ms. Timers that end in turns would otherwise
 * take thousands of turns while time stands still.
 *
 * @type {{ where: string, hostOf: HostOf, part: number, leastTurn: number }[]}
 */
export const HOSTS = [
  { where: 'a virtual host', hostOf: virtualHost, part: 1, leastTurn: 0 },
  ...PLATFORMS.map(platform => ({
    where: `the default host in ${platform}`,
    hostOf: (/** @type {Options} */ options = {}) => platformHost({ platform, ...options }),
    part: platform === 'node' ? 1 / 4 : 1 / 10,
    leastTurn: platform === 'node' ? 0 : 1 / 16
  }))
]

/** The hosts that never idle while a job is ready. In Firefox, rounds wait for frames. */
export const WORK_CONSERVING = HOSTS.filter(({ where }) => !where.endsWith('firefox'))
