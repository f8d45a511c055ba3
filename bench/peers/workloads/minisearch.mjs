import MiniSearch from 'minisearch'
import { digest, outcome, prose } from './inputs.mjs'

export const sizes = { small: 3, full: 1600 }

export function main(size) {
  const search = new MiniSearch({
    fields: ['title', 'body'],
    storeFields: ['title'],
    processTerm: term => (term.length > 2 ? term.toLowerCase() : null),
    searchOptions: { boost: { title: 2 }, fuzzy: 0.2, prefix: true }
  })
  search.addAll(Array.from({ length: size }, (_, id) => ({ id, title: prose(3, id + 1), body: prose(40, id + 9) })))
  search.discard(1)
  return [
    ['scheduler', 'budgt alrm', 'prior', { combineWith: 'AND', queries: ['clock', 'task'] }].map(query =>
      digest(search.search(query, { filter: ({ id }) => id % 5 > 0 }).map(({ id, score }) => [id, score.toFixed(6)]))
    ),
    search
      .autoSuggest('sche')
      .slice(0, 3)
      .map(({ suggestion }) => suggestion),
    digest(search.toJSON()),
    outcome(() => search.add({ id: 2 })),
    MiniSearch.loadJSON(JSON.stringify(search), { fields: ['title', 'body'] }).documentCount
  ]
}
