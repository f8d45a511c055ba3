import MiniSearch from 'minisearch'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => records(8, which + 1)

function indexOf(list) {
  const index = new MiniSearch({ fields: ['name', 'tags'], storeFields: ['age'] })
  index.addAll(list)
  return index
}

export const calls = {
  search: list => indexOf(list).search('ada').map(({ id, score }) => [id, score]),
  fuzzy: list => indexOf(list).search('grase', { fuzzy: 0.3, prefix: true }).map(({ id }) => id),
  suggest: list => indexOf(list).autoSuggest('le').map(({ suggestion }) => suggestion),
  json: list => JSON.stringify(indexOf(list)).length
}
