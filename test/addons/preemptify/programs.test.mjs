import { inspect, isDeepStrictEqual } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { budget } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { budgets } from '../../fixtures/preemptify/both-ways.mjs'
import { evaluateLogged, functionsOf, outcomeOf, randomProgram } from '../../fixtures/preemptify/random-source.mjs'
import { driveAsync } from '../../support/drive.mjs'
import { forSeeds, seeded } from '../../support/seeded.mjs'

/** Evaluates a program whose functions log their effects. */
function load(program) {
  const { result, ...logged } = evaluateLogged(program.source, `{ functions: ${functionsOf(program)}, evaluate: $source => eval($source) }`)
  return { ...logged, ...result }
}

/** Calls the first function, and returns its result or error and its effects. */
const outcome = ({ effects }, run) => outcomeOf(effects, () => run(3, 0))

/** Loads a program with all of its functions rewritten. */
function rewrite(program, { byEvaluate, budgeted }) {
  const loaded = load(program)
  const { log, steps, functions, evaluate } = loaded
  const around = byEvaluate ? { evaluate } : { scope: { log, steps } }
  const [first] = program.names
  if (program.isClass) {
    const Program = preemptify(functions.constructor, { methods: program.names, budgeted, ...around })
    const object = new Program()
    return { loaded, work: (...args) => object[first](...args) }
  }
  const calls = Object.fromEntries(program.names.map(name => [name, undefined]))
  for (const name of program.names) calls[name] = preemptify(functions[name], { calls, budgeted, ...around })
  return { loaded, work: calls[first] }
}

const programs = suite('random programs')

/** Compares a program with its rewritten form under every budget. */
async function checkProgram(random) {
  const program = randomProgram(random)
  const original = load(program)
  const expected = await outcome(original, (...args) => original.functions[program.names[0]](...args))
  const byEvaluate = random.chance(0.3)
  for (const [budgeted, limits] of [[true, budgets], [false, [1]]]) {
    const { loaded, work } = rewrite(program, { byEvaluate, budgeted })
    for (const limit of limits) {
      const actual = await outcome(loaded, (...args) => driveAsync(work(...args), { limit }))
      const conditions = { budgeted, limit, byEvaluate }
      assert.ok(isDeepStrictEqual(actual, expected), difference(program, conditions, actual, expected))
    }
  }
}

programs('rewritten programs have the native results, errors and effects', () => {
  return forSeeds(300, checkProgram)
})

function difference({ source }, { budgeted, limit, byEvaluate }, actual, expected) {
  const at = expected.effects.findIndex((effect, i) => !isDeepStrictEqual(effect, actual.effects[i]))
  const around = effects => effects.slice(Math.max(at - 5, 0), at + 5)
  const show = ({ effects, ...rest }) => inspect({ ...rest, effects: around(effects) })
  const conditions = `${budgeted ? `budget ${limit}` : 'budgeted: false'}${byEvaluate ? ', by evaluate' : ''}`
  return `${conditions}, effect ${at} is the first that differs\nrewritten ${show(actual)}\n` +
    `original  ${show(expected)}\n${source}`
}

/** Returns the number of effects at each yield and at the end of a run; calls `onEffect` after each effect. */
async function pauses({ loaded, work }, limit, onEffect = () => {}) {
  const { effects } = loaded
  const counts = []
  effects.length = 0
  const push = effects.push
  effects.push = value => {
    push.call(effects, value)
    onEffect(effects.length)
  }
  try {
    await driveAsync(work(3, 0), { limit, onPoint: () => { counts.push(effects.length) } })
  } catch {}
  return [...counts, effects.length]
}

// With `budgeted: false` every point yields, which shows the positions of the points.
programs('a program yields at the next point after its budget is set to 0', () => {
  return forSeeds(300, async random => {
    const program = randomProgram(random)
    if (program.isAsync) return // effects during an await have no budget to end
    const byEvaluate = random.chance(0.3)
    const points = await pauses(rewrite(program, { byEvaluate, budgeted: false }), 1)
    const most = points.at(-1)
    for (let i = 0; i < 8 && most > 0; i++) {
      const effect = random.integer(1, most)
      const counted = rewrite(program, { byEvaluate, budgeted: true })
      // The scheduler ends a budget in the same way.
      const cut = await pauses(counted, 2 ** 30, count => { if (count === effect) budget.left = 0 })
      const next = list => list.find(count => count >= effect)
      assert.ok(next(cut) <= next(points),
        `at effect ${effect} the next point is at ${next(points)}, taken at ${next(cut)}\n${program.source}`)
    }
  })
})

programs('a seed determines the program, and the seeds give programs of all kinds', () => {
  const sources = Array.from({ length: 300 }, (_, i) => randomProgram(seeded(i + 1)).source)
  assert.is(randomProgram(seeded(7)).source, sources[6])
  const all = sources.join('\n')
  for (const part of [
    'for (let', 'for (var', 'while (', 'do {', ' of ', ' in {', 'for await', 'switch', 'try', 'finally',
    'continue label', 'break label', 'break block', 'await ', 'list.push', 'function*',
    'first(', 'this.main(',
    'depth + 1', "'use strict'"
  ]) assert.ok(all.includes(part), part)
})

programs.run()
