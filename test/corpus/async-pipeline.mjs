import { integers } from './inputs.mjs'

async function load(store, key) {
  await null
  if (!(key in store)) throw new RangeError(`no ${key}`)
  return store[key]
}

async function pipeline(store, keys) {
  const report = { sum: 0, missing: [], tried: 0 }
  for (const key of keys) {
    report.tried++
    try {
      let record = await load(store, key)
      while (record.next !== undefined) {
        report.sum += record.value
        record = await load(store, await record.next)
      }
      report.sum += (await record).value
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      report.missing.push(error.message)
    } finally {
      await undefined
    }
  }
  const [first, last] = await Promise.all([load(store, keys[0] ?? 0), load(store, 0)])
  return { ...report, ends: [first?.value, last?.value] }
}

function inputs(size) {
  const store = { 0: { value: 1 } }
  const next = integers(size + 1, size + 2, 2)
  for (let key = 1; key <= size; key++) {
    store[key] = { value: key, next: next[key] < key ? next[key] : undefined }
  }
  return [store, integers(size, size + 2, 3).filter((key, i) => i > 0 || key in store)]
}

export default {
  name: 'async pipeline',
  kind: 'calls',
  fn: pipeline,
  calls: { load },
  inputs,
  sizes: [0, 1, 20],
  benchSize: 1000
}
