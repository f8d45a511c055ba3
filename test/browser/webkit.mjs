import { createServer } from 'node:net'
import { until } from './page-control.mjs'
import { findBrowser, launch, within } from './process.mjs'
import { webDriver } from './webdriver.mjs'

/** HTTP methods and paths of WebDriver commands, relative to the session. */
const commands = {
  NewSession: ['POST', ''],
  DeleteSession: ['DELETE', ''],
  Navigate: ['POST', '/url'],
  ExecuteScript: ['POST', '/execute/sync'],
  PerformActions: ['POST', '/actions'],
  TakeScreenshot: ['GET', '/screenshot'],
  GetWindowRect: ['GET', '/window/rect'],
  SetWindowRect: ['POST', '/window/rect'],
  GetWindowHandle: ['GET', '/window'],
  NewWindow: ['POST', '/window/new'],
  SwitchToWindow: ['POST', '/window'],
  CloseWindow: ['DELETE', '/window']
}

/**
 * Starts WebKitGTK's MiniBrowser on a separate display and drives it through WebDriver.
 *
 * @param {{ path?: string, patience?: number }} [options] `path`: the path of WebKitWebDriver; `patience`:
 *   the time limit for an answer, ms
 * @returns {Promise<import('./run.mjs').Browser>}
 */
export async function webkit({ path = findBrowser('webkit'), patience = 90_000 } = {}) {
  if (!path) throw new Error('WebKitWebDriver was not found')
  const display = launch('Xvfb', () => ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], { pipes: 1 })
  let browser
  let session = ''
  try {
    const number = await within(Promise.race([
      new Promise(resolve => display.child.stdio[3].once('data', text => resolve(String(text).trim()))),
      display.ended.then(how => { throw new Error(`Xvfb ended: ${how}\n${display.lastWords()}`) })
    ]), patience, 'Xvfb, starting')
    const port = await freePort()
    browser = launch(path, () => [`--port=${port}`], {
      env: {
        DISPLAY: `:${number}`, GDK_BACKEND: 'x11', LIBGL_ALWAYS_SOFTWARE: '1', NO_AT_BRIDGE: '1',
        // The pages are part of this repository, and a sandbox is not possible for root.
        WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1'
      }
    })
    const ended = browser.ended.then(how => { throw new Error(`WebKit ended: ${how}\n${browser.lastWords()}`) })
    ended.catch(() => {})
    const send = async (command, parameters = {}) => {
      const [method, rest] = commands[command]
      const body = method === 'POST' ? JSON.stringify(parameters) : undefined
      const answer = fetch(`http://127.0.0.1:${port}/session${session}${rest}`, { method, body })
        .then(response => response.json())
      const { value } = await within(Promise.race([answer, ended]), patience, `WebKit, ${command}`)
      if (value?.error) throw new Error(`${command}: ${value.message || value.error}`)
      return value
    }
    await within(Promise.race([answers(port), ended]), patience, 'WebKit, starting')
    const { sessionId, capabilities } = await send('NewSession', {
      capabilities: { alwaysMatch: { timeouts: { script: patience, pageLoad: patience, implicit: 0 } } }
    })
    session = `/${sessionId}`
    const driver = await webDriver(send)
    await driver.resize(1000, 800)

    // The driver has no access to consoles, so problems.js records the problems in the page.
    const collect = () => driver.evaluate('globalThis.takeProblems?.() ?? []')
    const isThere = () => !globalThis.isLeft && document.readyState === 'complete'
    let earlier = []
    let isAsked = true
    return {
      ...driver,
      // MiniBrowser does not show the tabs that a driver opens, so a tab cannot hide another tab.
      hide: undefined,
      show: undefined,
      kind: 'webkit',
      pid: browser.child.pid,
      name: `WebKitGTK ${capabilities.browserVersion.replace(/\.\d+$/, '')}`,
      async open(url) {
        earlier.push(...await collect())
        await driver.evaluate('globalThis.isLeft = true')
        await driver.open(url)
        isAsked = false
      },
      async evaluate(script, ...args) {
        // The driver may have reported the load of the page too early. Suites are not queried, because they
        // would see timers of the driver.
        if (!isAsked) await until(driver, isThere)
        isAsked = true
        return driver.evaluate(script, ...args)
      },
      async takeProblems() {
        const taken = [...earlier, ...await collect()]
        earlier = []
        return taken
      },
      async close() {
        await send('DeleteSession').catch(() => {})
        browser.stop()
        // An immediate kill would leave the lock file of the display.
        display.child.kill()
        await within(display.ended, 5000, 'Xvfb, closing').catch(() => {})
        display.stop()
      }
    }
  } catch (error) {
    browser?.stop()
    display.stop()
    throw error
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

async function answers(port) {
  for (;;) {
    try {
      return await fetch(`http://127.0.0.1:${port}/status`)
    } catch {
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}
