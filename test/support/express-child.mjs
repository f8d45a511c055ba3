/**
 * A server in the manner of most: an application of Express, whose requests share a package with an output
 * buffer. Each request is a job. Prints the answers to concurrent requests, and how often jobs changed places
 * inside of requests.
 *
 *   node --import '.../examples/node/register.mjs' express-child.mjs URL-OF-EXPRESS URL-OF-PACKAGE
 */
import { createServer } from 'node:http'
import { Scheduler } from '../../rt.mjs'
import { switchesOf } from './switches.mjs'

const [expressUrl, packageUrl] = process.argv.slice(2)
const { default: express } = await import(expressUrl)
const { render } = await import(packageUrl)

const app = express()
app.use((request, response, next) => {
  response.locals.items = Array.from({ length: Number(request.query.count) }, (_, i) => `${request.query.name}${i}`)
  next()
})
app.get('/list', (request, response) => {
  const work = function* () {
    const { name } = request.query
    response.send(yield scheduler.spawn(render, {}, name, response.locals.items))
  }
  scheduler.spawn(work)
})

const scheduler = new Scheduler({ slice: 0.001, budget: 1 })
const switches = switchesOf(scheduler)
const server = createServer((request, response) => { scheduler.spawn(app, {}, request, response) })
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
const { port } = /** @type {any} */ (server.address())
const answers = await Promise.all([['a', 30], ['b', 40], ['c', 20]].map(async ([name, count]) =>
  (await fetch(`http://127.0.0.1:${port}/list?name=${name}&count=${count}`)).text()))
console.log(JSON.stringify({ answers, switches: switches.count }))
server.close()
server.closeAllConnections()
