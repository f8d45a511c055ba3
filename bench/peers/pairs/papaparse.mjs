import Papa from 'papaparse'
import { records } from '../workloads/inputs.mjs'

const rows = which => records(8, which + 1).map(({ id, name, age }) => ({ id, name: `"${name},`, age }))
export const inputs = (name, which) => name === 'unparse' ? rows(which) : Papa.unparse(rows(which))

export const calls = {
  parse: text => Papa.parse(text).data,
  header: text => Papa.parse(text, { header: true, dynamicTyping: true }).data,
  delimiter: text => Papa.parse(text.replaceAll(',', ';')).meta,
  unparse: list => Papa.unparse(list)
}
