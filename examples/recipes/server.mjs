// Your Node server computes answers, and one expensive request delays all others. Here each request is a
// job with a deadline: the nearest deadline comes first, and a late request gets status 503.
//
// Under overload, a request that is still waiting at its deadline also gets 503, without any computation.
// Jobs can wait for a database as well: `const rows = yield db.query(text)`.
import { createServer } from 'node:http'
import { DeadlineError, budget, rt } from 'rt.mjs'

rt.configure({ round: 20 }) // ms of jobs before Node handles further events; the default of 5 suits pages

/** @param {number} limit @returns {Generator<void, string, any>} */
function* countPrimes(limit) {
  let count = 0
  for (let n = 2; n < limit; n++) {
    let isPrime = true
    for (let d = 2; isPrime && d * d <= n; d++) {
      isPrime = n % d !== 0
      if (--budget.left <= 0) yield
    }
    if (isPrime) count++
  }
  return `${count}\n`
}

export const server = createServer((request, response) => {
  const left = new AbortController()
  response.on('close', () => left.abort()) // also when the client closes the connection
  const limit = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('limit'))
  const job = rt.spawn(countPrimes, {
    deadline: limit < 10_000 ? 100 : 2000, // ms; a small request must be fast, a large one may take longer
    miss: 'abort', signal: left.signal
  }, limit)
  job.then(text => response.end(text), error => {
    response.statusCode = error instanceof DeadlineError ? 503 : 500
    response.end()
  })
})
server.listen(Number(process.env.PORT ?? 3000), () => console.log('The server listens'))
