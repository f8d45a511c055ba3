// Random programs of listeners, timers, frames and edits have the same effects in the plain and the adopted page.
// SEEDS=10000 runs more programs.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { adopt } from '../../../addons/adopt.mjs'
import { editablePage } from '../../support/editable-page.mjs'
import { playEdits, randomEdits } from '../../support/page-edits-program.mjs'
import { rewritten } from '../../support/rewritten.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const { namespace: twins } = await rewritten(new URL('../../support/page-edits-program.mjs', import.meta.url))

/** Plays a program and returns its effects. */
function effectsOf(program, play, options) {
  const page = editablePage()
  const scheduler = new Scheduler({ host: page.window.host, ...options })
  const equal = { deadline: Infinity }
  const rules = { timer: equal, frame: equal, event: equal }
  const adoption = options ? adopt(page.window, { scheduler, rules, warn: false }) : null
  const effects = play(page, program)
  page.host.run({ until: 500 })
  adoption?.release()
  return effects()
}

const programs = suite('random programs with edits')

for (const budget of [1, 2, 7]) {
  programs(`programs have the effects of the plain page at a budget of ${budget}`, async () => {
    await forSeeds(300, random => {
      const program = randomEdits(random)
      assert.is(effectsOf(program, twins.playEdits, { budget }), effectsOf(program, playEdits, null))
    })
  })
}

programs.run()
