import yaml from 'js-yaml'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => /^load/.test(name) ? yaml.dump(records(3, which + 1)) : records(3, which + 1)

export const calls = {
  load: text => yaml.load(text),
  loadAll: text => yaml.loadAll(`---\n${text}---\na: {b: 0x1F}`),
  dump: list => yaml.dump(list),
  sorted: list => yaml.dump(list, { sortKeys: true, flowLevel: 2 })
}
