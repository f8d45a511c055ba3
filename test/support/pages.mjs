/** The apps of test/pages: bundles of pages with the frameworks that users have. */
import { installed } from './peers.mjs'

/** @type {Promise<boolean> | undefined} */
let building

/**
 * Installs the frameworks and bundles the apps, once in a process.
 *
 * @returns {Promise<boolean>} false if the frameworks cannot be installed, unless REQUIRE_PEERS is 1
 */
export const builtPages = () => building ??= built()

async function built() {
  if (!await installed(new URL('../pages/', import.meta.url))) return false
  const { build } = await import('../pages/build.mjs')
  await build()
  return true
}
