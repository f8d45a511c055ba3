// You fetch many records and want to show the first ones before the last ones have arrived. Here a job
// parses each line of newline-delimited JSON when it arrives, and cancelling the job ends the request.
//
//   const job = rt.spawn(fetchRecords, {}, '/records.ndjson', record => show(record))
//   stop.onclick = () => job.cancel()
import { budget, rt } from 'rt.mjs'

/**
 * @param {string | URL} url
 * @param {(record: any) => void} onRecord
 * @returns {Generator<any, number, any>} the number of records
 */
export function* fetchRecords(url, onRecord) {
  /** @type {Response} */
  const response = yield fetch(url, { signal: rt.current?.signal ?? null })
  if (!response.ok || response.body === null) throw new Error(`${url}: status ${response.status}`)
  const reader = response.body.getReader(), decoder = new TextDecoder()
  let count = 0, rest = ''
  for (;;) {
    const { done, value } = yield reader.read()
    const lines = (rest + decoder.decode(value, { stream: !done })).split('\n')
    rest = done ? '' : lines.pop() ?? ''
    for (const line of lines) {
      if (--budget.left <= 0) yield
      if (line.trim() === '') continue
      onRecord(JSON.parse(line))
      count++
    }
    if (done) return count
  }
}
