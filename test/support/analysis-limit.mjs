import { limits } from '../../addons/preemptify/effects-whole.mjs'

/**
 * Calls `work` with another maximum number of functions of a package that is analysed.
 *
 * @template T @param {number} functions @param {() => T} work @returns {T}
 */
export function withLimit(functions, work) {
  const before = limits.functions
  limits.functions = functions
  try {
    return work()
  } finally {
    limits.functions = before
  }
}
