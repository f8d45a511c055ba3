/** How often texts of the maximum length are planned, and how often their twins are made. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { findEffects } from '../../../addons/preemptify/effects.mjs'
import { planModule } from '../../../addons/preemptify/plan.mjs'
import { rewrittenText } from '../../../addons/preemptify/print.mjs'
import { read } from '../../../addons/preemptify/read.mjs'
import { analyseScopes } from '../../../addons/preemptify/scopes.mjs'

const printing = suite('printing')

/** Rewrites a text, and counts the plans that are made again and the twins that are made. */
function printed(text, type) {
  const tree = read(text, type)
  analyseScopes(tree)
  const plans = planModule(tree)
  findEffects([{ tree, plans, text, name: 'a' }])
  tree.plans = plans
  const counts = { plans: 0, twins: 0, functions: plans.filter(({ isLong }) => isLong).length }
  const counted = (object, key, count) => {
    let { [key]: current } = object
    Object.defineProperty(object, key, {
      get: () => current,
      set(value) {
        current = value
        count()
      }
    })
  }
  counted(tree, 'plan', () => counts.plans++)
  for (const plan of plans) counted(plan, 'emitter', () => counts.twins++)
  counts.growth = rewrittenText(text, tree, 'runtime.mjs').length / text.length
  return counts
}

/** Repeats the text of a function. */
const repeated = (count, textOf) => Array.from({ length: count }, (_, i) => textOf(i)).join('')

const minified = repeated(500, i => `function a${i}(a,b){var c=a.e+b.f*2;if(c!=null&&c.g===b)return b.h=a${i + 1}(c,b),a.d(b.i);` +
  `a.k=c?a.l+1:b.m;return new a${i + 2}(c)}`)
const exported = repeated(500, i => `export function a${i}(a,b){return b.c(a${i % 7}(a,b.d(a)),"${'.'.repeat(70)}")}`)

printing('a text with room for some frames is planned once, each twin twice at most', () => {
  const { plans, twins, functions, growth } = printed(exported, 'module')
  assert.ok(growth > 3.9 && growth < 4, `growth ${growth}`)
  assert.is(plans, 0)
  assert.ok(twins <= 2 * functions, `${twins} of ${functions}`)
})

printing('a text that is too long as generators is planned once, and each twin is made once', () => {
  const { plans, twins, functions, growth } = printed(minified, 'script')
  assert.ok(growth > 3 && growth < 4, `growth ${growth}`)
  assert.is(plans, 0)
  assert.is(twins, functions)
})

printing.run()
