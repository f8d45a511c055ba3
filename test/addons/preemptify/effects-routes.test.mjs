/** The claims of functions that pass an object to a function by one route of the language. `s!` is an exclusive claim. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { analysed, shown, titleOf } from '../../support/effects-watch.mjs'
import { LATER_ROUTES, routes } from '../../support/random-routes.mjs'

const engine = suite('preemptify.effects routes')

const HEAD = `const object = { n: 0 }; export function reset() { object.n = 0 }
  function each(list, fn) { for (let i = 0; i < list.length; i++) fn(list[i]) } function pause() { for (;;); }
  const change = o => { o.n++; pause() }; const look = o => { pause(); return o.n }`
/** The routes of a value to a function. */
const all = (f, value) => routes({ t: 'T', f, o: value, inner: (g, o) => `;${g}(${o})` }).map(route => route())
/** The plans of a function `work` with one route, and of the functions in it. */
function plansOn(route) {
  const { units: [{ plans }] } = analysed({ a: `${HEAD}\nexport function work() {\n${route}\nfor (;;);\n}` })
  return plans.filter(plan => titleOf(plan) !== 'reset' && !plan.isOnce)
}
/** The claims of these functions. */
const claimsOn = route => plansOn(route).map(shown).join(' ')

engine('an object that takes any route to a write is claimed exclusively', () => {
  for (const route of all('change', 'object')) assert.match(claimsOn(route), /object!|all!/, route)
})

engine('an object that takes any route to a read is claimed', () => {
  for (const route of all('look', 'object')) assert.match(claimsOn(route), /object|all!/, route)
})

engine('an object is claimed exclusively for a function that took any route and writes', () => {
  for (const route of all('(h => { h(object) })', 'change')) assert.match(claimsOn(route), /object!|all!/, route)
})

engine('an object that takes a route to a write in a later stay is claimed in that stay', () => {
  const isObject = ({ location: { isContested, aliases }, isExclusive }) =>
    isExclusive && isContested && aliases.some(({ name }) => name === 'object')
  for (const route of LATER_ROUTES) {
    const later = plansOn(route).filter(plan => titleOf(plan) !== 'work')
    assert.ok(later.some(({ claims, claimsAll }) => claimsAll || claims.some(isObject)), route)
  }
})

engine('a property may be an accessor with a computed name although others have this name', () => {
  const other = "const one = { get g() { return 1 } }; const two = { o: { i: object }, get [String('g')]() { return this.o.i } }"
  assert.match(claimsOn(`${other}\nchange(two.g)`), /object!/)
})

engine('an argument of a method that the engine calls elsewhere leaves with an unknown receiver', () => {
  const other = 'const list = { [Symbol.iterator]() { return this }, next() { return { done: true } } }\nfor (const x of list);'
  assert.match(claimsOn(`${other}\nglobalThis.receiver.return(object)`), /object!/)
})

engine('most routes to a read need a shared claim only', () => {
  const exclusive = all('look', 'object').filter(route => claimsOn(route).includes('object!'))
  assert.ok(exclusive.length < 50, `${exclusive.length}:\n${exclusive.join('\n\n')}`)
})

engine.run()
