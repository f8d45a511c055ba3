import Fuse from 'fuse.js'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => records(8, which + 1)

export const calls = {
  search: list => new Fuse(list, { keys: ['name', 'address.city'] }).search('Ada').map(({ item }) => item.id),
  weights: list => new Fuse(list, { keys: [{ name: 'name', weight: 2 }, 'tags'], includeScore: true }).search('gr'),
  extended: list => new Fuse(list, { keys: ['name'], useExtendedSearch: true }).search("'ada | ^Gr"),
  index: list => Fuse.createIndex(['name'], list).toJSON()
}
