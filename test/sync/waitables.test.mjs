/** Tests of the common parts of waitables, `{ signal }`, `catch` and `finally`, and of handles in `using`. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AsyncEvent, after, at, events, every, frames, on, periodic, sleep, timeout, until } from '../../alarms.mjs'
import { adopt } from '../../addons/adopt.mjs'
import { IoReservation, Reservation, interrupt, loop } from '../../addons/reservations.mjs'
import { Ring, SharedMutex, SharedSemaphore } from '../../addons/shared.mjs'
import { Workers } from '../../addons/workers.mjs'
import { Barrier, Channel, Mutex, Semaphore, choice, par, race } from '../../sync.mjs'
import { endpoints } from '../fixtures/channels/fakes.mjs'
import { abortListeners, exactWorld } from '../support/world.mjs'

/** Never settles. */
function* forever() {
  yield sleep(Infinity)
}

/**
 * Waits that last until they are aborted. Each function sets up a wait and returns a function that starts it.
 *
 * @type {Record<string, (here: any) => (options: any) => any>}
 */
const WAITS = {
  sleep: () => options => sleep(Infinity, options),
  until: () => options => until(Infinity, options),
  timeout: () => options => timeout(Infinity, new Promise(() => {}), options),
  'events().receive': () => {
    const queue = events(new EventTarget(), 'ping')
    return ({ signal }) => queue.receive({ signal })
  },
  'Channel.send': () => {
    const channel = new Channel()
    return ({ signal }) => channel.send(1, { signal })
  },
  'Channel.receive': () => {
    const channel = new Channel()
    return ({ signal }) => channel.receive({ signal })
  },
  'Channel.forEach': () => {
    const channel = new Channel()
    return options => channel.forEach(() => {}, options)
  },
  'Mutex.lock': ({ scheduler }) => {
    const mutex = taken(new Mutex(), scheduler)
    return ({ signal }) => mutex.lock({ signal })
  },
  'Mutex.use': ({ scheduler }) => {
    const mutex = taken(new Mutex(), scheduler)
    return options => mutex.use(() => {}, options)
  },
  'Semaphore.acquire': () => {
    const semaphore = new Semaphore(0)
    return ({ signal }) => semaphore.acquire({ signal })
  },
  'Semaphore.use': () => {
    const semaphore = new Semaphore(0)
    return options => semaphore.use(() => {}, options)
  },
  'Barrier.wait': () => {
    const barrier = new Barrier(5)
    return ({ signal }) => barrier.wait({ signal })
  },
  choice: () => {
    const channel = new Channel()
    return options => choice([{ receive: channel }], options)
  },
  'choice with an action': () => {
    const channel = new Channel()
    return options => choice([{ receive: channel, action: () => {} }], options)
  },
  par: () => options => par(forever, () => 1, options),
  race: () => options => race(forever, forever, options),
  'Ring.receive': () => {
    const ring = new Ring(2)
    return ({ signal }) => ring.receive({ signal })
  },
  'SharedMutex.lock': ({ scheduler }) => {
    const mutex = taken(new SharedMutex(), scheduler)
    return ({ signal }) => mutex.lock({ signal })
  },
  'SharedSemaphore.acquire': () => {
    const semaphore = new SharedSemaphore(0)
    return ({ signal }) => semaphore.acquire({ signal })
  },
  'Workers.ready': ({ scheduler }) => {
    const workers = new Workers(() => endpoints('postMessage, addEventListener').a, { size: 1, limit: 1 })
    workers.spawn('work', { scheduler }).catch(() => {})
    return ({ signal }) => workers.ready({ signal })
  }
}

/**
 * A mutex that a job holds.
 * @param {any} mutex
 * @param {any} scheduler
 */
function taken(mutex, scheduler) {
  scheduler.spawn(() => mutex.use(forever), { name: 'holder' })
  return mutex
}

/**
 * A world in which the function that makes the wait `name` is set up.
 * @param {string} name
 */
async function setUp(name) {
  const here = exactWorld({ except: ['round'] })
  const make = WAITS[name](here)
  await here.host.drain()
  const controller = new AbortController()
  const options = { signal: controller.signal, scheduler: here.scheduler }
  return { ...here, controller, options, make }
}

const waits = suite('every waitable')

for (const name of Object.keys(WAITS)) {
  waits(`${name}: aborting the signal fails the wait of a job with its reason`, async () => {
    const { host, scheduler, controller, options, make } = await setUp(name)
    const job = scheduler.spawn(function* () {
      try {
        yield make(options)
      } catch (reason) {
        return ['caught', reason]
      }
    })
    await host.drain()
    assert.is(job.state, 'waiting')
    controller.abort('reason')
    const outcome = job.then(result => result)
    await host.drain()
    assert.equal(await outcome, ['caught', 'reason'])
    assert.is(abortListeners(controller.signal), 0)
    assert.equal(host.errors, [])
  })

  waits(`${name}: outside jobs, catch receives the reason and finally runs`, async () => {
    const { host, controller, options, make } = await setUp(name)
    const log = []
    const wait = make(options)
    const caught = wait.catch(reason => log.push(['catch', reason]))
    const ended = wait.finally(() => log.push(['finally'])).catch(reason => log.push(['after finally', reason]))
    await host.drain()
    assert.equal(log, [])
    controller.abort('reason')
    await host.drain()
    await Promise.all([caught, ended])
    assert.equal(log.map(([kind]) => kind).sort(), ['after finally', 'catch', 'finally'])
    assert.ok(log.every(([, reason]) => reason === undefined || reason === 'reason'))
    assert.is(abortListeners(controller.signal), 0)
  })

  waits(`${name}: an aborted signal fails the wait immediately`, async () => {
    const { host, scheduler, make } = await setUp(name)
    const signal = AbortSignal.abort('before')
    const job = scheduler.spawn(function* () { yield make({ signal, scheduler }) })
    const outcome = job.catch(reason => reason)
    const outside = make({ signal, scheduler }).catch(reason => reason)
    await host.drain()
    assert.equal([await outcome, await outside], ['before', 'before'])
  })

  waits(`${name}: a job cancelled during the wait leaves no listener on the signal`, async () => {
    const { host, scheduler, controller, options, make } = await setUp(name)
    const job = scheduler.spawn(function* () { yield make(options) })
    await host.drain()
    job.cancel('cancelled')
    const outcome = job.catch(reason => reason)
    await host.drain()
    assert.is(await outcome, 'cancelled')
    assert.is(abortListeners(controller.signal), 0)
  })
}

waits.run()

// `using` needs separate source text, because only Node 24 and later can parse it.
const text = `
  export async function held(mutex) {
    {
      using held = await mutex.lock()
      if (!mutex.locked) return 'not locked'
    }
    return mutex.locked
  }
  export function handle(make) {
    using handle = make()
    return handle
  }
  export async function later(make) {
    await using handle = make()
    return handle
  }`
/** The same functions for engines without `using`. */
const byHand = {
  async held(mutex) {
    const held = await mutex.lock()
    if (!mutex.locked) return 'not locked'
    held[/** @type {any} */ (Symbol).dispose]()
    return mutex.locked
  },
  handle(make) {
    const handle = make()
    handle[/** @type {any} */ (Symbol).dispose]()
    return handle
  },
  async later(make) {
    const handle = make()
    await handle[/** @type {any} */ (Symbol).asyncDispose]()
    return handle
  }
}
const bySyntax = await import(`data:text/javascript,${encodeURIComponent(text)}`).catch(error => {
  if (!(error instanceof SyntaxError)) throw error
})
const using = bySyntax ?? byHand
const test = suite(`using (${using === byHand ? 'by hand' : 'by syntax'})`)

test('using held = await mutex.lock() unlocks the mutex at the end of its block', async () => {
  const mutex = new Mutex()
  assert.is(await using.held(mutex), false)
  const held = await mutex.lock()
  assert.is(mutex.locked, true)
  held.unlock()
})

/** @type {Record<string, (here: any) => any>} */
const HANDLES = {
  after: ({ scheduler }) => after(5, () => {}, { scheduler }),
  at: ({ scheduler }) => at(5, () => {}, { scheduler }),
  every: ({ scheduler }) => every(5, () => {}, { scheduler }),
  periodic: ({ scheduler }) => periodic(function* () {}, { period: 5, phase: 5, scheduler }),
  frames: ({ scheduler }) => frames(function* () {}, { scheduler }),
  on: ({ scheduler }) => on(new EventTarget(), 'ping', function* () {}, { scheduler }),
  events: () => events(new EventTarget(), 'ping'),
  handle: ({ scheduler }) => new AsyncEvent({ scheduler }).handle(function* () {}),
  loop: ({ scheduler }) => loop(forever, { capacity: 1, period: 5, scheduler }),
  interrupt: ({ scheduler }) => interrupt(new EventTarget(), 'ping', function* () {}, { capacity: 1, period: 5, scheduler }),
  Reservation: ({ scheduler }) => new Reservation({ capacity: 1, period: 5, scheduler }),
  IoReservation: ({ scheduler }) => new IoReservation({ utilization: 0.1, scheduler }),
  adopt: ({ scheduler }) => adopt({ setTimeout, clearTimeout }, { scheduler }),
  Job: ({ scheduler }) => scheduler.spawn(forever)
}
for (const [name, make] of Object.entries(HANDLES)) {
  test(`using: the handle of ${name} is cancelled at the end of its block`, () => {
    const handle = using.handle(() => make(exactWorld({ host: { frame: 16 } })))
    handle.catch?.(() => {})
    assert.is(handle.cancel(), false)
  })
}

test('await using: Workers are closed at the end of their block', async () => {
  const make = () => new Workers(() => endpoints('postMessage, addEventListener').a, { size: 1 })
  const workers = await using.later(make)
  assert.throws(() => workers.run.work(), /the workers have been closed/)
})

test.run()
