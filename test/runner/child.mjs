// Runs one test file in a process of its own and reports over file descriptor 3, synchronously: the last line
// written says where the process was when it hung or died.
import { writeSync } from 'node:fs'
import * as module from 'node:module'
import { pathToFileURL } from 'node:url'
import { resolve } from './resolve.mjs'

// Node 20 has only register(), which later versions give up for registerHooks().
if (module.registerHooks) module.registerHooks({ resolve })
else module.register('./resolve.mjs', import.meta.url)

const report = message => writeSync(3, `${JSON.stringify(message)}\n`)

const { exec, problems } = await import('./uvu.mjs')
await import(pathToFileURL(process.argv[2]).href)
const total = await exec(title => report({ title }))
report({ ...total, problems })
