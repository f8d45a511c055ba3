import { setMaxListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, fp } from '../rt.mjs'
import { adopt } from '../alarms.mjs'
import * as plain from './support/page-cases.mjs'
import { play, randomPage } from './support/page-program.mjs'
import { rewritten } from './support/rewritten.mjs'
import { forSeeds } from './support/seeded.mjs'
import { virtualHost } from './support/virtual-host.mjs'
import { virtualPage } from './support/virtual-page.mjs'

const { namespace: twins } = await rewritten(new URL('./support/page-cases.mjs', import.meta.url))

setMaxListeners(0) // of signals

/** A page, and a scheduler that is suspended at every point unless the options say otherwise. */
function pageOf(options = {}) {
  const host = virtualHost({ frame: 16.3 })
  const window = virtualPage(host)
  const scheduler = new Scheduler({ host: window.host, budget: 1, ...options })
  return { host, window, scheduler, log: [] }
}

const ways = {
  'by itself': [plain, null],
  adopted: [plain, {}],
  'adopted, with twins': [twins, { budget: 'auto' }],
  'suspended at every point': [twins, { budget: 1 }]
}

const cases = suite('what a page does, adopted or not')

for (const [way, [scripts, options]] of Object.entries(ways)) {
  for (const [title, { log: expected, errors = '', run }] of Object.entries({ ...scripts.pageCases, ...scripts.windowCases })) {
    cases(`${title}: ${way}`, () => {
      const { host, window, scheduler, log } = pageOf(options ?? {})
      const adoption = options && adopt(window, { scheduler, warn: false })
      const { port1: target, port2 } = new window.MessageChannel()
      run({ window, log: text => log.push(text), source: () => ({ target, type: 'message', fire: () => port2.postMessage(null) }) })
      host.run({ until: 200 })
      assert.is(log.join(' '), expected)
      assert.is(window.errors.map(({ message }) => message).join(), errors.replace(', ', ','))
      adoption?.release()
    })
  }
}

cases('of random programs, where all standings are equal', async () => {
  const { namespace } = await rewritten(new URL('./support/page-program.mjs', import.meta.url))
  const equal = { deadline: Infinity }
  const rules = { timer: equal, frame: equal, event: equal }
  const logOf = (program, play, options) => {
    const { host, window, scheduler, log } = pageOf(options ?? {})
    const adoption = options && adopt(window, { scheduler, rules, warn: false })
    play(window, program, text => log.push(text))
    host.run({ until: 500 })
    adoption?.release()
    return [...log, ...window.errors].join('\n')
  }
  await forSeeds(300, random => {
    for (const suspends of [false, true]) {
      const program = randomPage(random, { suspends })
      const expected = logOf(program, play, null)
      assert.is(logOf(program, play, {}), expected)
      assert.is(logOf(program, namespace.play, { budget: suspends ? random.integer(1, 4) : 'auto' }), expected)
    }
  })
})

cases.run()
