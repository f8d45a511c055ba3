/** Mutex and Semaphore within one thread. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Mutex, Semaphore } from '../../sync.mjs'
import { runLockCases } from '../support/lock-cases.mjs'

runLockCases({ Mutex, Semaphore })

const threads = suite('locks of one thread')

threads('Mutex and Semaphore reject the options shared and buffer', () => {
  for (const option of ['shared', 'buffer']) {
    const message = `unknown option '${option}'; known are name`
    const refused = error => error instanceof TypeError && error.message === message
    assert.throws(() => new Mutex({ [option]: true }), refused)
    assert.throws(() => new Semaphore(1, { [option]: true }), refused)
  }
  assert.equal(['buffer' in Mutex.prototype, 'buffer' in Semaphore.prototype], [false, false])
})

threads.run()
