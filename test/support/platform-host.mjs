/**
 * The module's own host, `makeHost` of rt.mjs, over a platform whose time moves only when a test moves it: what pages
 * and Node run, pacing included, with the interface of the virtual host.
 */
import { readFileSync } from 'node:fs'
import { virtualHost } from './virtual-host.mjs'

// `defaultHost` makes one for each thread; a test wants one for each program.
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
 * @param {Options & { platform?: Platform }} [options] `frame`: by default that of a display with 60 Hz; timers are in
 *   whole ms
 * @returns {VirtualHost}
 */
export function platformHost({ platform = 'node', frame = 1000 / 60, ...options } = {}) {
  const host = virtualHost({ frame, delay: WHOLE, ...options })
  const own = host.after
  const globals = { ...timers(host), ...EXTRAS[platform](host, frame) }
  for (const name of ['inputPending', 'frame']) Reflect.deleteProperty(host, name)
  const made = makeHost(globals)
  // Schedulers say whether a timer keeps the process alive. What tests set is no timer of the page.
  const after = (/** @type {number} */ ms, /** @type {() => void} */ fn, /** @type {any} */ options) =>
    options === undefined ? own(ms, fn) : made.after(ms, fn, options)
  // There, what is left until a frame may not be worth a round, so the next one waits for it.
  const turn = host.turn + (platform === 'firefox' ? frame : 0)
  // One is that of the round. Where an alarm ends in turns of the event loop, one that was set anew leaves its last behind.
  return Object.assign(host, made, { after, turn, mostPosts: platform === 'node' ? 1 : Infinity })
}

/** What setTimeout keeps of a delay. (That Node makes 1 of 0 is left out: it would shift whole schedules.) */
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
    // However late it comes, a frame is told the time at which it was to be drawn.
    /** @param {(time: number) => void} fn */
    requestAnimationFrame: fn => ({ cancel: frame(() => fn(Math.floor(host.time / interval + 1e-9) * interval)) }),
    /** @param {{ cancel: () => void }} request */
    cancelAnimationFrame: request => request.cancel(),
    AbortController
  }
}

/** What each has beside clock and timers. @type {Record<Platform, (host: VirtualHost, interval: number) => object>} */
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
 * Every host that whole schedules and random programs run on, how many of the seeds, and how long, in ms, a turn takes at
 * least where many timers are awaited: those that end in turns take a thousand of them where time stands still.
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

/** Those on which the processor is never idle while a job is ready: Firefox has rounds wait for frames. */
export const WORK_CONSERVING = HOSTS.filter(({ where }) => !where.endsWith('firefox'))
