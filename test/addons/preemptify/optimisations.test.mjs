import { inspect, isDeepStrictEqual } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { corpus } from '../../corpus/index.mjs'
import { evaluateLogged, functionsOf, randomProgram } from '../../fixtures/preemptify/random-source.mjs'
import { driveAsync, preemptible } from '../../support/drive.mjs'
import { internals } from '../../support/phases.mjs'
import { forSeeds } from '../../support/seeded.mjs'

// Optimisations do not change effects: without each of them, the results, the errors and the effects equal those of
// the original, and no preemption point is missing.

const limits = [1, 7, 2 ** 30]

/** Makes an instance of rt.mjs without some optimisations. */
function without(names) {
  const { preemptify, budget, optimisations } = internals('preemptify', 'budget', 'optimisations')
  for (const name of names) optimisations[name] = false
  return { preemptify, budget }
}

const all = Object.keys(internals('optimisations').optimisations)
const left = { ...Object.fromEntries(all.map(name => [name, [name]])), all }

async function outcome(run, args, effects = []) {
  effects.length = 0
  try {
    return { result: await run(...args), args, effects: [...effects] }
  } catch (error) {
    return { error: `${error}`, args, effects: [...effects] }
  }
}

const corpora = suite('without an optimisation')

corpora('the optimisations are chunk, frame, inlineCache, handed and lift', () =>
  assert.equal(all, ['chunk', 'frame', 'inlineCache', 'handed', 'lift']))

for (const [name, names] of Object.entries(left)) {
  const { preemptify, budget } = without(names)

  corpora(`without ${name} the corpus has its native effects`, async () => {
    for (const entry of corpus) {
      const work = preemptible(entry, undefined, preemptify)
      const size = entry.sizes[0]
      const expected = await outcome(entry.fn, entry.inputs(size))
      for (const limit of limits) {
        const actual = await outcome((...args) => driveAsync(work(...args), { limit, budget }), entry.inputs(size))
        assert.ok(isDeepStrictEqual(actual, expected), `${entry.name}, budget ${limit}: ${inspect(actual, { depth: 1 })}`)
      }
    }
  })

  corpora(`without ${name} random programs have their native effects`, () => forSeeds(60, async random => {
    const program = randomProgram(random)
    if (program.isClass) return
    const load = () => evaluateLogged(program.source, functionsOf(program))
    const [first] = program.names
    const original = load()
    const expected = await outcome(original.result[first], [3, 0], original.effects)
    const { effects, result: functions, log, steps } = load()
    const calls = Object.fromEntries(program.names.map(name => [name, undefined]))
    for (const name of program.names) calls[name] = preemptify(functions[name], { calls, scope: { log, steps } })
    for (const limit of limits) {
      const actual = await outcome((...args) => driveAsync(calls[first](...args), { limit, budget }), [3, 0], effects)
      assert.ok(isDeepStrictEqual(actual, expected), `budget ${limit}: ${inspect(actual)}\n${inspect(expected)}\n${program.source}`)
    }
  }))

  corpora(`without ${name} each round and each call has a point`, async () => {
    const fn = function count(n, pass) {
      if (n < 1) return pass.count
      for (let i = 0; i < n; i++) pass.count++
      return count(n - 1, pass)
    }
    for (const limit of limits) {
      let spent = 0
      const pass = { count: 0 }
      const work = preemptify(fn)(9, pass)
      await driveAsync(work, { limit, budget, onPoint: points => { spent += points } })
      assert.is(pass.count, 45)
      assert.ok(spent >= 45 + 10, `budget ${limit}: ${spent} points`)
    }
  })
}

corpora.run()
