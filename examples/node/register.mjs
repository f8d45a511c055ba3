// Makes packages preemptible as Node loads them:
//
//   node --import ./examples/node/register.mjs app.mjs
//   node --import './examples/node/register.mjs?match=/marked/' app.mjs
//
// `match` is a regular expression: a module is rewritten if it is found in its address; by default all below node_modules are.
// From Node 22.15 on packages that are not modules (CommonJS) are rewritten too; before, they stay as they are.
import module from 'node:module'
import { isOwnModule, preemptify } from '../../addons/preemptify.mjs'

/** The run-time support, which is all that rewritten code imports. */
const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
const wanted = new RegExp(new URL(import.meta.url).searchParams.get('match') ?? '/node_modules/')
const types = { module: 'module', commonjs: 'script' }

/** @param {string} url @param {any} loaded */
function rewritten(url, loaded) {
  const { format, source } = loaded
  if (!source || !types[format] || !wanted.test(url) || isOwnModule(url)) return loaded
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source)
  try {
    return { ...loaded, source: preemptify.source(text, { type: types[format], runtime, url }) }
  } catch (error) {
    process.emitWarning(`${url} stays as it is: ${error.message}`, 'preemptify')
    return loaded
  }
}

/** For the thread that Node has for hooks. */
export const load = async (url, context, next) => rewritten(url, await next(url, context))

if (module.registerHooks) {
  module.registerHooks({ load: (url, context, next) => rewritten(url, next(url, context)) })
} else if (!import.meta.url.endsWith('#hooks')) {
  module.register(`${import.meta.url}#hooks`)
}
