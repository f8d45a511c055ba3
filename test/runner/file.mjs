import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const child = fileURLToPath(new URL('./child.mjs', import.meta.url))
const living = new Set()

// Each child leads its own process group, so that its child processes end with it. Ctrl-C in a terminal
// therefore does not reach the group.
const stop = group => {
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}
process.on('exit', () => living.forEach(stop))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

/**
 * Runs one test file. It passes only if every suite ran, no hook threw, no test was skipped, no rejection
 * went unhandled, and the process exited by itself with code 0.
 *
 * @param {string} file absolute path
 * @param {{ timeout?: number, grace?: number, command?: string[] }} [options] `timeout`, `grace`: the time
 *   limits for the tests and for the exit, ms. `command`: a program that runs Node, with its first arguments
 * @returns {Promise<{ passed: number, failed: number, skipped: number, problems: string[], output: string,
 *   ms: number, cpu: number }>} `ms`, `cpu`: the elapsed time, and the processor time of the process, ms
 */
export function runFile(file, { timeout = 600_000, grace = 30_000, command = [] } = {}) {
  return new Promise(resolve => {
    const begin = performance.now()
    const [program, ...rest] = [...command, process.execPath, child, file]
    const run = spawn(program, rest, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: process.stdout.isTTY ? { FORCE_COLOR: '1', ...process.env } : process.env
    })
    living.add(run.pid)

    let output = ''
    let reports = ''
    const problems = []
    let result = { passed: 0, failed: 0, skipped: 0, cpu: NaN }
    let title = ''
    let ended = false
    const where = () => title ? `in ${JSON.stringify(title)}` : 'before its first test'

    let timer = setTimeout(() => {
      problems.push(`timed out after ${timeout / 1000} s ${where()}`)
      stop(run.pid)
    }, timeout)

    const hear = message => {
      if ('title' in message) {
        title = message.title
        return
      }
      ended = true
      result = message
      problems.push(...message.problems)
      clearTimeout(timer)
      timer = setTimeout(() => {
        problems.push(`did not end within ${grace / 1000} s of its last test: something is left open`)
        stop(run.pid)
      }, grace)
    }

    run.stdout.on('data', text => { output += text })
    run.stderr.on('data', text => { output += text })
    run.stdio[3].on('data', text => {
      const lines = (reports + text).split('\n')
      reports = lines.pop()
      for (const line of lines) hear(JSON.parse(line))
    })

    run.on('exit', () => {
      clearTimeout(timer)
      // Child processes of the test can keep the pipes open.
      stop(run.pid)
      living.delete(run.pid)
    })
    run.on('close', (code, signal) => {
      const how = signal ? `signal ${signal}` : `exit code ${code}`
      if (!problems.length || code > 0) {
        if (!ended) problems.push(`the process ended ${where()} with ${how}`)
        else if (code !== 0) problems.push(`the process ended after its tests with ${how}`)
      }
      const { passed, failed, skipped, cpu } = result
      resolve({
        passed,
        failed: failed + problems.length,
        skipped,
        problems,
        output: output.trim(),
        ms: performance.now() - begin,
        cpu
      })
    })
  })
}
