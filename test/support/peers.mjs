/** The libraries of test/peers, which are not dependencies of the project. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const folder = new URL('../peers/', import.meta.url)
const { dependencies } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const lock = new URL('.installing/', folder)
/** Maximum duration of an installation, ms. */
const PATIENCE = 120_000

/** Whether the exact versions are installed. */
const isInstalled = () => Object.entries(dependencies).every(([name, version]) => {
  const manifest = new URL(`node_modules/${name}/package.json`, folder)
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === version
})

/**
 * Installs the libraries, in one process at a time. A lock that is older than the longest installation is
 * stale.
 */
async function install() {
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch {
      if (isInstalled()) return
      const { mtimeMs } = statSync(lock, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
      if (Date.now() - mtimeMs > PATIENCE) rmSync(lock, { recursive: true, force: true })
      await elapse(200)
    }
  }
  try {
    if (isInstalled()) return
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--silent']
    await promisify(execFile)('npm', ['install', ...options], { cwd: fileURLToPath(folder), timeout: PATIENCE })
  } finally {
    rmSync(lock, { recursive: true, force: true })
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
  try {
    if (!isInstalled()) await install()
  } catch (error) {
    if (process.env.REQUIRE_PEERS === '1') throw error
    console.log(`left out, because ${names.join(' and ')} cannot be installed: ${error.message.split('\n')[0]}`)
    return null
  }
  const { resolve } = createRequire(new URL('package.json', folder))
  return Promise.all(names.map(name => import(pathToFileURL(resolve(name)).href)))
}
