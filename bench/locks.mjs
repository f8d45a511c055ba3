import { fp, Scheduler } from '../rt.mjs'
import { Barrier, Mutex, nonPreemptive, Resource, Semaphore } from '../sync.mjs'
import { figure, heading, measure, printRows, ratio, synchronousHost, table } from './support.mjs'

const rounds = 5_000

heading('what locks and critical sections cost', `CPU time, ${figure(rounds)} rounds a run`)

/**
 * Describes a variant. `spawn` starts the jobs of one run on a scheduler and returns the job that ends last.
 */
function variant(name, spawn, { operations = rounds, ...options } = {}) {
  const host = synchronousHost()
  const scheduler = new Scheduler({ host, policy: fp, ...options })
  return {
    name,
    operations,
    run() {
      const job = spawn(scheduler)
      host.drain()
      if (job.state !== 'done') throw new Error(`${name}: the job is ${job.state}`)
    }
  }
}

let counter = 0
const count = () => { counter++ }
function* countOnce() {
  counter++
}
function* countAndYield() {
  counter++
  yield
}

function repeat(body) {
  return scheduler => scheduler.spawn(function* () { for (let i = 0; i < rounds; i++) yield* body() })
}

/** The lower bound for a lock: a flag and a yield. */
const flag = { isHeld: false }
const mutex = new Mutex()
const semaphore = new Semaphore(1)
const resource = new Resource()

console.log('### nobody else wants it\n')
printRows('section', 'ns per round', await measure([
  variant('a yield and a flag', repeat(function* () {
    flag.isHeld = true
    yield
    counter++
    flag.isHeld = false
  })),
  variant('mutex: lock(), unlock()', repeat(function* () {
    yield mutex.lock()
    counter++
    mutex.unlock()
  })),
  variant('mutex.use(), a function', repeat(function* () { yield mutex.use(count) })),
  variant('mutex.use(), a generator', repeat(function* () { yield mutex.use(countOnce) })),
  variant('semaphore: acquire(), release()', repeat(function* () {
    yield semaphore.acquire()
    counter++
    semaphore.release()
  })),
  variant('nonPreemptive(), a function', repeat(function* () { yield nonPreemptive(count) })),
  variant('nonPreemptive(), a generator', repeat(function* () { yield nonPreemptive(countOnce) })),
  variant('resource.use(), a function', scheduler => scheduler.spawn(function* () {
    for (let i = 0; i < rounds; i++) yield resource.use(count)
  }, { uses: [resource] }))
], { time: 60 }))

/** Runs ten jobs of equal priority. Each yield switches to another job, also while the lock is held. */
function contended(name, body) {
  return variant(name, scheduler => {
    let last
    for (let j = 0; j < 10; j++) {
      last = scheduler.spawn(function* () { for (let i = 0; i < rounds / 10; i++) yield* body() })
    }
    return last
  }, { slice: Number.MIN_VALUE, budget: 1 })
}

const barrier = new Barrier(10)

console.log('\n### ten jobs want it at the same time\n')
printRows('lock, held across a yield', 'ns per round', await measure([
  contended('two yields', function* () {
    yield
    counter++
    yield
  }),
  contended('mutex: lock(), unlock()', function* () {
    yield mutex.lock()
    counter++
    yield
    mutex.unlock()
  }),
  contended('mutex.use()', function* () {
    yield mutex.use(countAndYield)
  }),
  contended('semaphore: acquire(), release()', function* () {
    yield semaphore.acquire()
    counter++
    yield
    semaphore.release()
  }),
  contended('barrier: wait()', function* () { yield barrier.wait() })
], { time: 60 }))

const mutexes = { make: () => new Mutex(), take: lock => lock.lock(), leave: lock => lock.unlock() }
const semaphores = {
  make: () => new Semaphore(1), take: lock => lock.acquire(), leave: lock => lock.release()
}

/**
 * Builds a chain of locks. Every job holds a lock and waits for the lock of the previous job, which is less
 * eligible. The first job inherits the priority of each new job in turn. Then the locks are released,
 * starting with the first one.
 */
function chain(name, depth, { make, take, leave }) {
  const turns = Math.ceil(1000 / depth)
  function* link(lock, before) {
    if (lock !== undefined) yield take(lock)
    yield take(before)
    leave(before)
    if (lock !== undefined) leave(lock)
  }
  return variant(name, scheduler => scheduler.spawn(function* () {
    for (let turn = 0; turn < turns; turn++) {
      const locks = Array.from({ length: depth }, make)
      let last
      yield take(locks[0])
      for (let i = 1; i <= depth; i++) {
        last = scheduler.spawn(link, { priority: i }, locks[i], locks[i - 1])
        yield // until the new job waits
      }
      leave(locks[0])
      yield last
    }
  }), { operations: turns * depth })
}

console.log('\n### a chain of jobs, each of which waits for the one before, creation of the jobs included\n')
const chains = []
for (const depth of [1, 2, 4, 8, 16, 32]) {
  const variants = [chain('semaphores', depth, semaphores), chain('mutexes', depth, mutexes)]
  const rows = await measure(variants, { time: 60 })
  chains.push([figure(depth), ...rows.map(({ median }) => median), ratio(rows, 'mutexes', 'semaphores')])
}
table(['depth', 'semaphores, which lend nothing: ns per job', 'mutexes', 'ratio'], chains)

/** Spawns many jobs that only count, each with its own priority. The most eligible one ends first. */
function crowd(name, jobs, optionsOf) {
  return variant(name, scheduler => {
    let last
    for (let i = jobs; i > 0; i--) last = scheduler.spawn(count, optionsOf(i))
    return last
  }, { operations: jobs })
}

/** Spawns the jobs while the lock is held, so that all wait for it. */
function queue(name, jobs, lock) {
  const work = () => lock.use(count)
  return variant(name, scheduler => {
    let last
    scheduler.spawn(() => lock.use(function* () {
      for (let i = jobs; i > 0; i--) last = scheduler.spawn(work, { priority: i })
      yield
    }))
    return scheduler.spawn(function* () { yield last }, { priority: -1 })
  }, { operations: jobs })
}

/** Spawns jobs of equal rank, each of which waits for the previous one. Then they end one after another. */
function line(name, jobs) {
  return variant(name, scheduler => {
    const gate = new Semaphore(0)
    let last = scheduler.spawn(() => gate.acquire())
    for (let i = 1; i < jobs; i++) {
      const before = last
      last = scheduler.spawn(function* () { yield before })
    }
    scheduler.spawn(() => gate.release())
    return last
  }, { operations: jobs })
}

console.log('\n### many jobs at once, creation included\n')
const crowds = []
for (const jobs of [300, 3_000, 30_000]) {
  const rows = await measure([
    crowd('nothing', jobs, priority => ({ priority, uses: [] })),
    crowd('resource', jobs, priority => ({ priority, uses: [resource] })),
    queue('mutex', jobs, mutex),
    queue('semaphore', jobs, semaphore),
    line('line', jobs)
  ], { time: 60, passes: 5 })
  crowds.push([figure(jobs), ...rows.map(({ median }) => median)])
}
table([
  'jobs', 'alone: ns per job', 'all declare one resource', 'all wait for one mutex', 'for one semaphore',
  'each waits for the one before'
], crowds)
