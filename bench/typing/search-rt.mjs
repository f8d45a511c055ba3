// rt.mjs by hand: the search is a generator. A new key cancels the stale search.
import { on } from '../../alarms.mjs'
import { field, show } from './page.mjs'
import { search } from './search-job.mjs'

on(field, 'input', function* find(text) {
  show(yield* search(text))
}, { before: () => field.value, excess: 'restart', deadline: 200 })
