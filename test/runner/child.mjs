// Runs one test file in its own process and reports through file descriptor 3. The writes are synchronous, so
// the last line shows the test in which the process hung or died.
import { writeSync } from 'node:fs'
import * as module from 'node:module'
import { pathToFileURL } from 'node:url'
import { resolve } from './resolve.mjs'

// Node 20 has only register(). Later versions deprecate it in favour of registerHooks().
if (module.registerHooks) module.registerHooks({ resolve })
else module.register('./resolve.mjs', import.meta.url)

const report = message => writeSync(3, `${JSON.stringify(message)}\n`)

const { exec, problems } = await import('./uvu.mjs')
await import(pathToFileURL(process.argv[2]).href)
const total = await exec(title => report({ title }))
const { user, system } = process.cpuUsage()
report({ ...total, problems, cpu: (user + system) / 1000 })
