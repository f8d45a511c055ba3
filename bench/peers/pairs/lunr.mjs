import lunr from 'lunr'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => records(4, which + 1)

const indexOf = list => lunr(function () {
  this.field('name')
  for (const row of list) this.add(row)
})

export const calls = {
  search: list => indexOf(list).search('ada').map(({ ref }) => ref),
  wildcard: list => indexOf(list).search('gr* -tony').map(({ ref }) => ref),
  json: list => JSON.stringify(indexOf(list)).length,
  stem: list => list.map(({ name }) => lunr.stemmer(new lunr.Token(`${name}ing`, {})).toString())
}
