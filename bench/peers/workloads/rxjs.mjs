import {
  Observable,
  Subject,
  catchError,
  combineLatest,
  concatMap,
  debounce,
  distinctUntilChanged,
  filter,
  from,
  groupBy,
  map,
  merge,
  mergeMap,
  of,
  range,
  reduce,
  scan,
  share,
  switchMap,
  take,
  takeWhile,
  tap,
  throwError,
  toArray,
  zip
} from 'rxjs'
import { digest } from './inputs.mjs'

export const sizes = { small: 5, full: 100000 }

export function main(size) {
  const log = []
  const see = name => ({
    next: value => log.push([name, value]),
    error: error => log.push([name, String(error)]),
    complete: () => log.push([name])
  })
  range(1, size)
    .pipe(
      filter(x => x % 3),
      map(x => x * 2),
      scan((sum, x) => (sum + x) % 1013),
      distinctUntilChanged(),
      reduce((a, b) => a ^ b)
    )
    .subscribe(see('reduce'))
  range(1, size)
    .pipe(
      groupBy(x => x % 7),
      mergeMap(group =>
        group.pipe(
          toArray(),
          map(list => [group.key, list.length])
        )
      )
    )
    .subscribe(see('group'))
  range(1, Math.ceil(size / 10))
    .pipe(
      concatMap(x => of(x, -x).pipe(tap(() => {}))),
      switchMap(x => from([x, x + 1])),
      takeWhile(x => x < size / 20),
      toArray()
    )
    .subscribe(list => log.push(digest(list)))
  zip(from('abc'), range(1, 10)).subscribe(see('zip'))
  const subject = new Subject()
  const shared = subject.pipe(share())
  combineLatest([shared, shared.pipe(map(x => x * x))])
    .pipe(take(size))
    .subscribe(([a, b]) => {
      log.length < 5000 && log.push(a + b)
    })
  for (let i = 0; i < size / 4; i++) subject.next(i)
  merge(of(1), throwError(() => new RangeError('late')).pipe(catchError(error => of(error.message)))).subscribe(
    see('merge')
  )
  new Observable(observer => {
    for (let i = 0; i < 3; i++) observer.next(i)
    throw new Error('from the producer')
  })
    .pipe(debounce(() => of(0)))
    .subscribe(see('throws'))
  return [digest(log), log.length]
}
