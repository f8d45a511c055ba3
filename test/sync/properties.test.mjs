/** Random jobs that use all operations of sync.mjs, and the invariants that hold for all seeds. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, edf, fp } from '../../rt.mjs'
import { TimeoutError, after, sleep, timeout } from '../../alarms.mjs'
import { Channel, Resource, choice } from '../../sync.mjs'
import { HOSTS } from '../support/platform-host.mjs'
import { locks } from '../support/random-locks.mjs'
import { network } from '../support/random-network.mjs'
import { sections } from '../support/random-sections.mjs'
import { forSeeds, seeded } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

// Set SEEDS=10000 in the environment for the long run.

const resources = suite('random critical sections')

for (const { where, hostOf, part } of HOSTS) {
  resources(`no deadlock, one holder, one blocking section at a start or wake, on ${where}`, () => {
    return forSeeds(1500 * part, random => { sections(random, { hostOf }).run() })
  })
}

resources.run()

const meeting = suite('random locks, semaphores and barriers')

for (const { where, hostOf, part } of HOSTS) {
  meeting(`random locks exclude, inherit ranks and detect cycles, on ${where}`, () => {
    return forSeeds(1000 * part, random => { locks(random, { hostOf }).run() })
  })
}

meeting.run()

const networks = suite('random networks of channels')

for (const { where, hostOf, part } of HOSTS) {
  networks(`random networks lose no message and strand no job, on ${where}`, () => {
    return forSeeds(1000 * part, random => { network(random, { hostOf }).run() })
  })

  networks(`random networks always run alike, on ${where}`, () => forSeeds(300 * part, ({ seed }) => {
    const [once, again] = [network(seeded(seed), { hostOf }), network(seeded(seed), { hostOf })]
    once.run()
    again.run()
    assertTrace(again.text(), once.text())
  }))
}

networks.run()

const choices = suite('random choices')

/** A scheduler with random settings, on any host. */
function anyScheduler(random) {
  const host = random.pick(HOSTS).hostOf()
  const scheduler = new Scheduler({
    host,
    policy: random.pick([edf, fp]),
    budget: random.pick([1, 2, 5, 'auto']),
    slice: random.pick([1, 3, Infinity]),
    round: random.pick([1, 5, Infinity])
  })
  return { host, scheduler }
}

/** How often each of several guards was chosen, by a job whose peers are always ready. */
function taken(random, options) {
  const { host, scheduler } = anyScheduler(random)
  const ways = Array.from({ length: random.integer(2, 5) }, () => ({
    channel: new Channel(random.pick([0, 0, 1, Infinity])), isSent: random.chance(0.4)
  }))
  const counts = ways.map(() => 0)
  const peers = ways.map(({ channel, isSent }) => scheduler.spawn(function* () {
    if (!isSent && channel.size === Infinity) {
      for (let n = 0; n < 1000; n++) channel.offer(n)
      return
    }
    for (;;) {
      if (isSent) yield channel.receive()
      else yield channel.send(1)
    }
  }))
  scheduler.spawn(function* () {
    yield sleep(1) // until all peers are ready
    const guards = ways.map(({ channel, isSent }) => {
      return isSent ? { send: channel, value: 1 } : { receive: channel }
    })
    for (let n = 0; n < 1000; n++) counts[(yield choice(guards, options)).index]++
    for (const peer of peers) peer.cancel()
  })
  for (const peer of peers) peer.catch(() => {})
  host.run()
  return counts
}

choices('a fair choice takes ready guards equally often, an unfair one takes the first', () => forSeeds(40, random => {
  const counts = taken(seeded(random.seed), { fair: true })
  for (const count of counts) {
    const share = 1000 / counts.length
    assert.ok(Math.abs(count - share) <= 0.12 * share, `${counts}`)
  }
  const [first] = taken(seeded(random.seed), { fair: false })
  assert.is(first, 1000)
}))

choices('choices on both sides commit to the same message, never to their own', () => forSeeds(300, random => {
  const { host, scheduler } = anyScheduler(random)
  const channels = Array.from({ length: random.integer(1, 5) }, () => new Channel())
  const sent = []
  const received = []
  const parties = random.integer(2, 6)
  for (let party = 0; party < parties; party++) {
    scheduler.spawn(function* () {
      for (let n = 0; n < 20; n++) {
        const message = { party, n }
        const both = random.shuffle(channels).slice(0, random.integer(1, 3))
          .flatMap(channel => random.shuffle([{ send: channel, value: message }, { receive: channel }]))
        const { index, value } = yield choice(both, { fair: random.chance(0.5) })
        if (both[index].send) sent.push(message)
        else {
          assert.is.not(value.party, party)
          received.push(value)
        }
      }
    }, { name: `party ${party}`, priority: random.integer(0, 1) })
  }
  host.run()
  assert.is(host.errors.length, 0, String(host.errors))
  assert.is(sent.length, received.length)
  for (const message of received) assert.is(sent.filter(other => other === message).length, 1)
  assert.is(new Set(received).size, received.length)
  // No ended job is left in a queue.
  for (const job of [scheduler.spawn(() => {}), scheduler.spawn(() => {})]) assert.is(job.state, 'ready')
}))

choices('a timeout at the time of the message: both sides agree on one outcome', () => {
  return forSeeds(400, random => {
    const { host, scheduler } = anyScheduler(random)
    const channel = new Channel()
    const at = random.integer(1, 5)
    const log = { sent: 0, received: 0, timeouts: 0 }
    const waits = (waitable, guard) =>
      random.chance(0.5) ? timeout(at, waitable) : choice([guard, { timeout: at }])
    const parameters = () => ({ priority: random.integer(0, 2), deadline: random.integer(1, 9) })
    const tell = (job, what) => job.then(
      value => { value?.index === 1 ? log.timeouts++ : log[what]++ },
      error => {
        assert.instance(error, TimeoutError)
        log.timeouts++
      })
    const receiver = scheduler.spawn(() => waits(channel.receive(), { receive: channel }), parameters())
    const arrives = random.pick(['job', 'alarm', 'event', 'rival'])
    const told = [tell(receiver, 'received')]
    const offers = () => { if (channel.offer('message')) log.sent++ }
    if (arrives === 'alarm') after(at, offers, { scheduler })
    else if (arrives === 'event') host.after(at, offers)
    else {
      const send = arrives === 'rival'
        ? () => waits(channel.send(1), { send: channel, value: 1 })
        : () => timeout(0, channel.send(1))
      told.push(tell(scheduler.spawn(send, { release: at, ...parameters() }), 'sent'))
    }
    return host.drain().then(() => Promise.all(told)).then(() => {
      assert.is(log.sent, log.received)
      assert.is(channel.poll(), undefined)
      assert.is(channel.offer('nobody'), false)
    })
  })
})

choices.run()

const found = suite('faults found by random communication')

for (const [way, takes] of [
  ['a choice with an action', (channel, work) => choice([{ receive: channel, action: work }])],
  ['forEach', (channel, work) => channel.forEach(work)]
]) {
  found(`${way}: a job cancelled after a message arrived still starts its work`, () => {
    const host = virtualHost()
    const scheduler = new Scheduler({ host, budget: 1 })
    const channel = new Channel()
    const log = []
    const job = scheduler.spawn(() => takes(channel, function* (message) {
      log.push(message)
      yield
      log.push('not reached')
    }))
    job.catch(() => {})
    host.run()
    assert.is(channel.offer('message'), true)
    job.cancel()
    host.run()
    assert.equal([log, job.state], [['message'], 'cancelled'])
  })
}

found('a section that fails ends at a preemption point, and no second section blocks', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, policy: fp, slice: Infinity, round: Infinity, budget: 1 })
  const resource = new Resource()
  const work = function* (ms) {
    for (; ms > 0; ms--) {
      yield
      host.advance(1)
    }
  }
  scheduler.spawn(function* () {
    try {
      yield resource.use(function* () {
        yield* work(2)
        throw new Error('inside')
      })
    } catch {}
    yield* resource.use(() => work(3))
  }, { priority: 1, uses: [resource] })
  const high = scheduler.spawn(() => work(1), { priority: 2, release: 1, uses: [resource] })
  host.run()
  assert.equal([high.started, host.errors], [2, []])
})

found.run()
