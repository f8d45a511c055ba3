import { spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const names = {
  chromium: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  firefox: ['firefox-esr', 'firefox'],
  webkit: ['WebKitWebDriver']
}
const alive = new Set()

process.on('exit', () => {
  for (const browser of alive) browser.stop()
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

/**
 * Finds a browser by the variable CHROMIUM, FIREFOX or WEBKIT, or in PATH.
 *
 * @param {'chromium' | 'firefox' | 'webkit'} kind
 * @returns {string | undefined} the path of the browser; for WebKit, of its driver
 */
export function findBrowser(kind) {
  const named = process.env[kind.toUpperCase()]
  if (named) return named
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names[kind]) {
      const path = join(directory, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // This directory does not contain it. Try the next one.
      }
    }
  }
}

/**
 * Starts a browser with a fresh profile, which is also its home directory. `stop()` and the end of this
 * process end all processes of the browser and delete the profile.
 *
 * @param {string} path
 * @param {(profile: string) => string[]} args returns the arguments for the directory of the profile
 * @param {{ pipes?: number, env?: Record<string, string> }} [options] the number of pipes in addition to the
 *   standard streams, and additional environment variables
 */
export function launch(path, args, { pipes = 0, env = {} } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'rt-browser-'))
  const child = spawn(path, args(home), {
    // A separate process group, because a browser has many processes.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...Array(pipes).fill('pipe')],
    env: {
      ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, XDG_DATA_HOME: home,
      XDG_RUNTIME_DIR: home, MOZ_CRASHREPORTER_DISABLE: '1', ...env
    }
  })
  let output = ''
  const lines = []
  const listeners = new Set()
  const hear = text => {
    const parts = (output + text).split('\n')
    output = parts.pop()
    for (const line of parts) {
      lines.push(line)
      if (lines.length > 200) lines.shift()
      for (const listener of listeners) listener(line)
    }
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)

  const ended = new Promise(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`))
  })
  const browser = {
    home,
    child,
    ended,
    onLine: listener => listeners.add(listener),
    lastWords: () => lines.slice(-20).join('\n'),
    stop() {
      alive.delete(browser)
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch {
        // The browser has already ended or never started.
      }
      try {
        rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
      } catch {
        // Processes of the browser may still write while they end. The directory is then left behind.
      }
    }
  }
  alive.add(browser)
  return browser
}

/**
 * Settles like `promise`, or rejects after `ms` with an error that contains `what`.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {string} what the name of the operation
 * @returns {Promise<T>}
 */
export function within(promise, ms, what) {
  let timer
  const late = new Promise((resolve, reject) => {
    // Only the operation itself keeps this process alive.
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms / 1000} s`)), ms).unref()
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
