/** Tests threads that end inside locks, at each step of the protocol: no thread waits for them forever. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { forSeeds } from '../../support/seeded.mjs'
import { virtualThreads } from '../../support/virtual-threads.mjs'

const threads = await virtualThreads(3)

/** Passes a lock in a random way: lock and unlock, use, or choice. */
function* goThrough(thread, lock, random, stay) {
  const [take, give] = lock.lock ? [() => lock.lock(), () => lock.unlock()] : [() => lock.acquire(), () => lock.release()]
  const way = random.pick(['take', 'use', 'choice'])
  if (way === 'use') return yield lock.use(stay)
  if (way === 'take') yield take()
  else if ((yield thread.sync.choice([{ wait: take() }, { timeout: random.integer(0, 3) }])).index === 1) return
  yield* stay()
  give()
}

/**
 * Runs three threads with some jobs each; up to two threads end.
 *
 * @returns the number of permits lost inside
 */
function run(random) {
  const permits = random.pick([0, 1, 1, 2, 3]) // 0: a mutex
  const most = Math.max(permits, 1)
  const jobs = []
  let inside = []
  let isAbandoned = false
  let lostInside = 0
  /** @type {Int32Array} */
  let words

  const spawn = (thread, work) => threads.within(thread, () => {
    const job = thread.scheduler.spawn(work)
    job.catch(() => {})
    jobs.push({ thread, job })
  })
  function* stay(thread) {
    threads.step()
    inside.push(thread)
    assert.ok(inside.length <= most, `${inside.length} inside`)
    // With several permits, the order decides how many jobs find the lock abandoned, and which.
    if (most === 1) assert.is(thread.lock.abandoned, isAbandoned)
    for (let points = random.integer(0, 2); points > 0; points--) {
      yield thread.sync.choice([{ timeout: random.integer(0, 2) }])
      threads.step()
    }
    inside.splice(inside.indexOf(thread), 1)
    isAbandoned = false
  }

  threads.run({
    random,
    ended(thread) {
      inside = inside.filter(one => one !== thread)
      const number = Number(thread.name.split(' ')[1])
      const held = words.filter(word => word >> 1 === number).length
      lostInside += held
      if (held > 0) isAbandoned = true
    },
    phases: [() => {
      let buffer
      for (const thread of threads.all) {
        threads.within(thread, () => {
          const { SharedMutex, SharedSemaphore } = thread.shared
          thread.lock = buffer ? (permits ? SharedSemaphore : SharedMutex).from(buffer)
            : permits ? new SharedSemaphore(permits) : new SharedMutex()
          buffer = thread.lock.buffer
        })
      }
      words = new Int32Array(buffer, 40) // after the control words
      for (const thread of threads.all) {
        for (let count = random.integer(1, 3); count > 0; count--) {
          spawn(thread, function* () {
            for (let rounds = random.integer(1, 4); rounds > 0; rounds--) {
              yield* goThrough(thread, thread.lock, random, () => stay(thread))
            }
          })
        }
      }
      for (const victim of random.shuffle(threads.all).slice(0, random.integer(0, 2))) {
        victim.end = victim.accesses + random.integer(1, 100)
      }
    }, () => {
      // No thread may wait for a permit that the ended threads had.
      const thread = threads.all.find(({ isEnded }) => !isEnded)
      for (const one of threads.all) one.end = Infinity
      spawn(thread, function* () {
        if (permits === 0) return yield thread.lock.use(() => {})
        for (let i = 0; i < permits; i++) yield thread.lock.acquire()
        assert.is(thread.lock.available, 0)
        for (let i = 0; i < permits; i++) thread.lock.release()
        assert.is(thread.lock.available, permits)
      })
    }]
  })
  assert.equal([inside, words.filter(word => word >> 1 > 1).length], [[], 0])
  for (const { thread: { isEnded, host }, job } of jobs) {
    if (!isEnded) assert.equal([job.state, host.timers.filter(({ ref }) => ref), host.errors], ['done', [], []])
  }
  return lostInside
}

const kills = suite('threads ended at any access to a shared lock')

kills('threads that end inside abandon their permits, and admit no extra job', async () => {
  let lostInside = 0
  await forSeeds(1000, random => { lostInside += run(random) })
  assert.ok(lostInside > 0)
})

kills.after(() => threads.remove())
kills.run()
