// Runs the tests of scheduler.test.mjs in an engine that has AsyncContext.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import '../../support/async-context.mjs'
import { Scheduler, extend } from '../../../rt.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'
import './scheduler.test.mjs'

const context = suite('an engine with AsyncContext')

context('the caller is known after the await of a foreign promise', async () => {
  const host = virtualHost()
  const core = new Scheduler({ host })
  let caller
  const job = core.spawn(async () => {
    await Promise.resolve()
    caller = extend.tasks.callerOf(core)
  })
  await host.drain()
  assert.is(caller, job)
})

context.run()
