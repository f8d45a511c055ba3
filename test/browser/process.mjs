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
 * @param {'chromium' | 'firefox' | 'webkit'} kind
 * @returns {string | undefined} the path of the browser, of WebKit that of its driver: from the variable CHROMIUM,
 *   FIREFOX or WEBKIT, or along PATH
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
        // Not here: the next one may be.
      }
    }
  }
}

/**
 * Starts a browser with a fresh profile, which is also its home. Processes and profile are gone after
 * `stop()`, and when this process ends.
 *
 * @param {string} path
 * @param {(profile: string) => string[]} args given the profile's directory
 * @param {{ pipes?: number, env?: Record<string, string> }} [options] how many pipes the browser gets beside its
 *   output, and what it gets in its environment
 */
export function launch(path, args, { pipes = 0, env = {} } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'rt-browser-'))
  const child = spawn(path, args(home), {
    // A group of its own: a browser is many processes.
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
        // It has ended already, or never started.
      }
      try {
        rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
      } catch {
        // Its last processes may still be writing while they die: better a directory too many than a browser.
      }
    }
  }
  alive.add(browser)
  return browser
}

/**
 * Settles as `promise` does, or rejects after `ms` naming what was waited for.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {string} what
 * @returns {Promise<T>}
 */
export function within(promise, ms, what) {
  let timer
  const late = new Promise((resolve, reject) => {
    // What it watches keeps this process alive; nothing else should.
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms / 1000} s`)), ms).unref()
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
