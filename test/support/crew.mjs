import { Scheduler } from '../../rt.mjs'
import { Workers } from '../../addons/workers.mjs'
import { endpoints } from '../fixtures/channels/fakes.mjs'

/**
 * Workers in this thread, all on the clock of one host. Each message takes time.
 *
 * @param {any} world @param {Record<string, any>} works
 * @param {any} [options] the options of Workers, and: `delay`: the duration of a message, ms; `heard`: called
 *   with every message before it arrives
 * @returns {{ workers: Workers, sites: { scheduler: Scheduler, kill(isToldAtOnce?: boolean): void, log: any[]
 *   }[] }}
 */
export function crewOf({ host }, works, { delay = 1, heard = () => {}, ...options } = {}) {
  const sites = []
  const make = () => {
    const scheduler = new Scheduler({ host, budget: 1 })
    const { a, b, log } = endpoints('postMessage, addEventListener', { clock: host, delay })
    const kill = (isToldAtOnce = false) => {
      if (a.isDead) return
      a.isDead = b.isDead = true
      scheduler.pause()
      if (isToldAtOnce) a.happen('close')
      else host.after(0, () => a.happen('close'))
    }
    for (const end of [a, b]) {
      const { postMessage } = end
      end.postMessage = (message, transfer) => {
        postMessage(message, transfer)
        heard(message, site)
      }
    }
    a.terminate = () => kill()
    const site = { scheduler, kill, log }
    sites.push(site)
    Workers.serve(works, { endpoint: b, scheduler })
    return a
  }
  return { workers: new Workers(make, { size: 2, ...options }), sites }
}
