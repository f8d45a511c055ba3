/**
 * addons/preemptify/own.mjs: which modules are part of rt.mjs, and its version.
 *
 * These modules must not be rewritten or loaded twice, because a second copy of rt.mjs has its own scheduler.
 */

import { lastIndexOf, matches, slice, startsWith } from './primordials.mjs'

/** The version of the package; a test compares it with package.json. */
export const version = '1.0.0-rc.0'

const ADDONS = 'adopt|connect|deadlock|internal|preemptify|reservations|schedulable|scheduler|shared|workers'
const OWN = /* @__PURE__ */ new RegExp(
  `^(?:(?:rt|alarms|sync)\\.mjs|addons/(?:${ADDONS})(?:\\.mjs|/[\\w./-]+\\.mjs))(?:[?#]|$)`)

/**
 * Whether a URL is the URL of a module of this package: rt.mjs, alarms.mjs, sync.mjs or an addon.
 *
 * @param {string} url an absolute URL
 * @returns {boolean}
 *
 * @example
 * console.log(isOwnModule('https://example.com/rt.mjs')) // → false
 */
export function isOwnModule(url) {
  const here = `${import.meta.url}` // undefined in a bundle that is a script
  const end = lastIndexOf(here, 'addons/preemptify/')
  return end > 0 && startsWith(url, slice(here, 0, end)) && matches(OWN, slice(url, end))
}
