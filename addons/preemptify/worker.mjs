/**
 * addons/preemptify/worker.mjs: the worker that compiles the imports of a page.
 *
 * The worker keeps all modules that it has compiled. The page fetches texts and resolves specifiers, because
 * the import map and the Content-Security-Policy are the page's.
 */

import { moduleHost } from './blobs.mjs'
import { compileModule, serveBy } from './load.mjs'
import { forEach } from './primordials.mjs'
import { connect } from './remote.mjs'

const call = connect(globalThis, {
  compile: compileModule,
  forget: blobs => { forEach(blobs, moduleHost().forget) }
})
serveBy({
  get: url => call('get', url),
  resolve: (specifiers, base) => call('resolve', specifiers, base),
  namesOf: url => call('namesOf', url)
})
call('start')
