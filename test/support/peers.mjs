/** Packages for tests, which are not dependencies of the project: in test/peers and test/pages. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

/** Maximum duration of an installation, ms. */
const PATIENCE = 120_000

/** Whether the exact versions of a folder are installed. @param {URL} folder */
function isInstalled(folder) {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
  return Object.entries(dependencies).every(([name, version]) => {
    const manifest = new URL(`node_modules/${name}/package.json`, folder)
    return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === version
  })
}

/**
 * Installs the packages of a folder, in one process at a time. A lock that is older than the longest
 * installation is stale.
 *
 * @param {URL} folder
 */
async function install(folder) {
  const lock = new URL('.installing/', folder)
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch {
      if (isInstalled(folder)) return
      const { mtimeMs } = statSync(lock, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
      if (Date.now() - mtimeMs > PATIENCE) rmSync(lock, { recursive: true, force: true })
      await elapse(200)
    }
  }
  try {
    if (isInstalled(folder)) return
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--silent']
    const where = { cwd: fileURLToPath(folder), timeout: PATIENCE }
    await promisify(execFile)('npm', ['install', ...options], where)
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/**
 * Installs the packages of a folder if they are missing.
 *
 * @param {URL} folder with a package.json whose dependencies have exact versions
 * @returns {Promise<boolean>} false if they cannot be installed, unless REQUIRE_PEERS is 1
 */
export async function installed(folder) {
  try {
    if (!isInstalled(folder)) await install(folder)
    return true
  } catch (error) {
    if (process.env.REQUIRE_PEERS === '1') throw error
    console.log(`left out, because ${folder.pathname} cannot be installed: ${error.message.split('\n')[0]}`)
    return false
  }
}

/**
 * Imports libraries of test/peers, and installs them first if they are missing.
 *
 * @param {...string} names
 * @returns {Promise<any[] | null>} the namespaces; null if the libraries cannot be installed, unless
 *   REQUIRE_PEERS is 1
 */
export async function importPeers(...names) {
  const folder = new URL('../peers/', import.meta.url)
  if (!await installed(folder)) return null
  const { resolve } = createRequire(new URL('package.json', folder))
  return Promise.all(names.map(name => import(pathToFileURL(resolve(name)).href)))
}
