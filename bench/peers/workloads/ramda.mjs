import * as R from 'ramda'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 3, full: 4000 }

export function main(size) {
  const list = records(size)
  const summary = R.pipe(
    R.filter(R.propEq(true, 'active')),
    R.groupBy(R.prop('name')),
    R.map(
      R.applySpec({
        mean: R.pipe(R.pluck('age'), R.mean),
        cities: R.pipe(R.map(R.pathOr('none', ['address', 'city'])), R.uniq)
      })
    )
  )
  return [
    digest(summary(list)),
    digest(R.sortWith([R.descend(R.prop('age')), R.ascend(R.prop('name'))], list)),
    R.equals(list, R.clone(list)),
    R.transduce(R.compose(R.map(R.prop('age')), R.filter(R.gt(50))), R.add, 0, list),
    digest(R.over(R.lensPath([0, 'address', 'city']), R.toUpper, list.slice(0, 2))),
    R.curryN(3, (a, b, c) => a + b + c)(1)(R.__, 3)(2),
    digest(R.evolve({ age: R.inc, tags: R.map(R.toUpper) })(list[0])),
    R.reduceBy(
      (n, { score }) => n + score,
      0,
      r => r.tags.join(''),
      list
    ),
    digest(R.scan(R.add, 0, R.pluck('age', list))),
    R.countBy(R.identity, R.chain(R.prop('tags'), list)),
    R.cond([
      [R.equals(0), R.always('zero')],
      [R.T, n => `other ${n}`]
    ])(5),
    digest(R.mergeDeepRight(list[0], list[1])),
    R.tryCatch(() => {
      throw new Error('x')
    }, R.prop('message'))(),
    R.zipWith((a, b) => a * b, [1, 2, 3], [4, 5, 6]),
    R.aperture(2, [1, 2, 3]),
    digest(R.xprod([1, 2], ['a', 'b'])),
    R.invertObj({ a: 'x', b: 'y' }),
    R.memoizeWith(String, n => n + 1)(2)
  ]
}
