import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expression, keys, known, outcome } from './page-control.mjs'
import { findBrowser, launch, within } from './process.mjs'
import { webDriver } from './webdriver.mjs'

const preferences = {
  // 0 selects a free port, which Firefox writes into the profile.
  'marionette.port': 0,
  // Console messages of pages go to standard output, uncaught errors to standard error.
  'devtools.console.stdout.content': true,
  'browser.dom.window.dump.enabled': true,
  'app.update.enabled': false,
  'app.normandy.enabled': false,
  'browser.aboutConfig.showWarning': false,
  'browser.sessionhistory.max_total_viewers': 0, // like `--disable-back-forward-cache` in Chromium
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage': 'about:blank',
  'browser.startup.page': 0,
  'datareporting.healthreport.uploadEnabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'toolkit.telemetry.enabled': false
}

/**
 * Starts Firefox and drives it through Marionette.
 *
 * @param {{ path?: string, patience?: number }} [options] `patience`: the time limit for the answer to a
 * command, ms
 * @returns {Promise<import('./run.mjs').Browser>}
 */
export async function firefox({ path = findBrowser('firefox'), patience = 90_000 } = {}) {
  if (!path) throw new Error('Firefox was not found')
  const browser = launch(path, profile => {
    const lines = Object.entries(preferences).map(([name, value]) =>
      `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
    writeFileSync(join(profile, 'user.js'), lines.join(''))
    return [
      '--headless', '--marionette', '--remote-allow-system-access', '--no-remote', '--width=1000',
      '--height=800', '--profile', profile
    ]
  })

  let problems = []
  browser.onLine(line => {
    // Errors of Firefox's own scripts have other addresses, and their console messages start with a name.
    if (/^JavaScript error: (?:(?:blob:)?http|,)/.test(line)) problems.push(line)
    if (/^console\.(?:error|assert): (?!\w+: *$)/.test(line)) problems.push(line)
  })

  let send
  let socket
  try {
    const started = Promise.race([activePort(browser), dead(browser)])
    const port = await within(started, patience, 'Firefox, starting')
    socket = connect(port, '127.0.0.1')
    send = await speak(socket, browser, patience)
    const { capabilities } = await send('WebDriver:NewSession', {
      capabilities: { alwaysMatch: { timeouts: { script: patience, pageLoad: patience, implicit: 0 } } }
    })
    const driver = await webDriver(async (command, parameters) => {
      const result = await send(`WebDriver:${command}`, parameters)
      return 'value' in result ? result.value : result
    })

    return {
      ...driver,
      kind: 'firefox',
      pid: browser.child.pid,
      name: `Firefox ${capabilities.browserVersion.replace(/\..*/, '')}`,
      async evaluate(script, ...args) {
        try {
          // Scripts in Marionette's own scope see the page through wrappers. Scripts in the page's eval do
          // not.
          return outcome(await driver.evaluate(text => window.eval(text), expression(script, args)))
        } catch (error) {
          if (!error.message.includes('blocked by CSP')) throw error
          return driver.evaluate(script, ...args)
        }
      },
      async press(key) {
        const { code = '', number = 0 } = keys[known(key)] ?? {}
        await send('Marionette:SetContext', { value: 'chrome' })
        try {
          await send('WebDriver:ExecuteScript', { script: typeKey, args: [{ key, code, keyCode: number }] })
        } finally {
          await send('Marionette:SetContext', { value: 'content' })
        }
      },
      takeProblems() {
        const taken = problems
        problems = []
        return taken
      },
      async close() {
        await send('Marionette:Quit', { flags: ['eForceQuit'] }).catch(() => {})
        await within(browser.ended, 5000, 'Firefox, closing').catch(() => {})
        socket.destroy()
        browser.stop()
      }
    }
  } catch (error) {
    socket?.destroy()
    browser.stop()
    throw error
  }
}

async function dead(browser) {
  const how = await browser.ended
  throw new Error(`Firefox ended: ${how}\n${browser.lastWords()}`)
}

async function activePort({ home, child }) {
  while (child.exitCode === null) {
    try {
      const port = Number(readFileSync(join(home, 'MarionetteActivePort'), 'utf8'))
      if (port > 0) return port
    } catch {
      // The file does not exist yet.
    }
    await sleep(50)
  }
}

// WebDriver creates keys in the process of the page, when that process is idle. Firefox creates keys of a
// real keyboard in its main process, and they reach the page with their time stamp. These keys do the same.
const typeKey = `
  const [key] = arguments
  const window = Services.wm.getMostRecentWindow('navigator:browser')
  window.gBrowser.selectedBrowser.focus()
  const processor = Cc['@mozilla.org/text-input-processor;1'].createInstance(Ci.nsITextInputProcessor)
  if (!processor.beginInputTransaction(window, () => true)) throw new Error('the window takes no input')
  const event = new window.KeyboardEvent('', key)
  processor.keydown(event)
  processor.keyup(event)
`

/**
 * Speaks Marionette's protocol. A message is its length in bytes, a colon, and JSON. The command
 * `[0, id, command, parameters]` has the answer `[1, id, error, result]`.
 */
async function speak(socket, browser, patience) {
  let last = 0
  const calls = new Map()
  let bytes = Buffer.alloc(0)
  let greeted
  const greeting = new Promise(resolve => { greeted = resolve })

  socket.on('data', part => {
    bytes = Buffer.concat([bytes, part])
    for (;;) {
      const colon = bytes.indexOf(':')
      if (colon < 0) return
      const end = colon + 1 + Number(bytes.subarray(0, colon))
      if (bytes.length < end) return
      const message = JSON.parse(bytes.subarray(colon + 1, end).toString())
      bytes = bytes.subarray(end)
      if (Array.isArray(message)) receive(message)
      else greeted()
    }
  })
  socket.on('error', () => {})
  socket.on('close', async () => {
    const error = new Error(`Firefox ended: ${await browser.ended}\n${browser.lastWords()}`)
    for (const { reject } of calls.values()) reject(error)
    calls.clear()
  })
  function receive([, id, error, result]) {
    const call = calls.get(id)
    calls.delete(id)
    if (error) call?.reject(new Error(`${call.command}: ${error.message}\n${error.stacktrace}`))
    else call?.resolve(result)
  }
  await within(greeting, patience, 'Firefox, Marionette')
  return (command, parameters = {}) => {
    const answer = new Promise((resolve, reject) => {
      calls.set(++last, { command, resolve, reject })
      const message = JSON.stringify([0, last, command, parameters])
      socket.write(`${Buffer.byteLength(message)}:${message}`)
    })
    return within(answer, patience, `Firefox, ${command}`)
  }
}
