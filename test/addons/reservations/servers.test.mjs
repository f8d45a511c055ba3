/**
 * Compares the schedules of reservations with schedules from the papers, computed by hand. The test
 * oracle.test.mjs checks random schedules. The papers are:
 *
 * - sporadic: Sprunt, Sha, Lehoczky 1989; Stanovich, Baker, Wang, Gonzalez Harbour 2010
 * - deferrable: Strosnider, Lehoczky, Sha 1995
 * - constant-bandwidth: Abeni, Buttazzo 1998
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, edf, extend, fp, rm } from '../../../rt.mjs'
import { at, periodic, sleep, until } from '../../../alarms.mjs'
import { Reservation } from '../../../addons/reservations.mjs'
import { Channel, Mutex, Resource, choice, nonPreemptive, par } from '../../../sync.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { assertTrace, executions } from '../../support/trace.mjs'
import { execute, virtualHost } from '../../support/virtual-host.mjs'
import { exactWorld } from '../../support/world.mjs'

/** A scheduler that reads its clock at every point, and does not rotate unless an option enables it. */
function world(options = {}) {
  const { host, scheduler, trace } = exactWorld({ round: 1, except: ['round', 'alarm'], ...options })
  host.report = error => { throw error } // an error in a callback fails the test
  return {
    host,
    scheduler,
    trace,
    /** Makes a reservation whose jobs wait when it is depleted. */
    reserve: given => new Reservation({ name: 'R', depleted: 'wait', scheduler, ...given }),
    /** Spawns a job of `ms` ms, in steps of 1 ms by default. */
    run: (name, ms, { step = 1, ...given } = /** @type {any} */ ({})) =>
      scheduler.spawn(() => execute(host, ms, step), { name, ...given }),
    /** Lets the dispatcher call `act` between two budgets. */
    when: (time, act) => at(time, act, { scheduler }),
    /** The intervals in which each job ran, by name. */
    ran: () => Object.fromEntries([...executions(trace.records)].map(([job, spans]) => [job.name, spans]))
  }
}

const untilTime = (host, time) => host.run({ until: time })

// ------------------------------------------------------------------------------------------------ sporadic

const sporadic = suite('sporadic')

sporadic('fp and rm use a sporadic server by default', () => {
  for (const policy of [fp, rm]) {
    assert.is(world({ policy }).reserve({ capacity: 1, period: 5 }).kind, 'sporadic')
  }
})

sporadic('used capacity of a sporadic server returns a period after its use began (Sprunt)', () => {
  const { host, trace, reserve, run } = world()
  const reservation = reserve({ name: 'SS', capacity: 1, period: 5 })
  for (const release of [0, 10]) run('t1', 2, { priority: 2, release })
  for (const release of [0, 14]) run('t2', 6, { priority: 1, release })
  for (const release of [1, 8]) run('request', 1, { release, reservation })
  untilTime(host, 14)
  assertTrace(trace, `
    0 release t1, release t2, start t1
    1 release request, preempt t1 by=request, start request
    2 finish request, resume t1
    3 finish t1, start t2
    6 replenish reservation=SS due=6
    8 release request, preempt t2 by=request, start request
    9 finish request, resume t2
    10 finish t2, release t1, start t1
    12 finish t1
    13 replenish reservation=SS due=13
    14 release t2, start t2`)
})

sporadic('a preempted sporadic server gets one replenishment for each use (Sprunt)', () => {
  const { host, trace, reserve, run } = world()
  const high = reserve({ name: 'H', capacity: 1, period: 5 })
  const server = reserve({ name: 'SS', capacity: 2.5, period: 10 })
  for (const release of [0, 5, 10]) run('high', 1, { release, reservation: high })
  run('t2', 6, { step: 0.5 })
  for (const release of [4.5, 8]) run('request', 1, { step: 0.5, release, reservation: server })
  untilTime(host, 14)
  assert.is(server.remaining, 0.5)
  untilTime(host, 17)
  assert.is(server.remaining, 1.5)
  untilTime(host, 18)
  assert.is(server.remaining, 2.5)
  assertTrace(trace, `
    0 release high, release t2, start high
    1 finish high, start t2
    4.5 release request, preempt t2 by=request, start request
    5 replenish reservation=H due=5, release high, preempt request by=high, start high
    6 finish high, resume request
    6.5 finish request, resume t2
    8 release request, preempt t2 by=request, start request
    9 finish request, resume t2
    10 finish t2, replenish reservation=H due=10, release high, start high
    11 finish high
    14.5 replenish reservation=SS due=14.5
    15 replenish reservation=H due=15
    18 replenish reservation=SS due=18`)
})

sporadic('a sporadic server gets its capacity back in the pieces in which it was used', () => {
  const { host, scheduler, trace, reserve } = world()
  const reservation = reserve({ capacity: 3, period: 10 })
  scheduler.spawn(function* () {
    yield* execute(host, 1)
    yield sleep(3)
    yield* execute(host, 2)
    yield until(11)
    yield* execute(host, 6)
  }, { name: 'a', reservation })
  host.run()
  // 1 ms is used from 0, and 2 ms from 4. Then 1 ms is used from 11, and 2 ms from 14.
  assertTrace(trace, `
    0 release a, start a
    1 block a on=Sleep
    4 wake a, resume a
    6 block a on=Sleep
    10 replenish reservation=R due=10
    11 wake a, resume a
    12 deplete a reservation=R
    14 replenish reservation=R due=14, wake a, resume a
    16 deplete a reservation=R
    21 replenish reservation=R due=21, wake a, resume a
    22 deplete a reservation=R
    24 replenish reservation=R due=24, wake a, resume a
    26 finish a`)
})

sporadic('a delayed sporadic server counts its period from when it had work and capacity', () => {
  const { host, reserve, run, ran } = world()
  const high = reserve({ name: 'H', capacity: 3, period: 50 })
  const low = reserve({ name: 'L', capacity: 2, period: 10, priority: -1 })
  run('high', 3, { reservation: high })
  run('low', 20, { reservation: low })
  untilTime(host, 33)
  assert.equal(ran(), { high: [[0, 3]], low: [[3, 5], [10, 12], [20, 22], [30, 32]] })
})

sporadic('capacity that returns while a sporadic server runs belongs to the same use', () => {
  const { host, trace, reserve, run } = world()
  const reservation = reserve({ capacity: 3, period: 10 })
  run('first', 2, { reservation })
  run('second', 6, { release: 9, reservation })
  // 1 ms is left at 9 and lasts until 10, when 2 ms return that were used from 0. These 3 ms return at 19.
  host.run()
  assertTrace(trace, `
    0 release first, start first
    2 finish first
    9 release second, start second
    12 deplete second reservation=R
    19 replenish reservation=R due=19, wake second, resume second
    22 finish second`)
})

sporadic('a sporadic server saves at most one capacity while it has no work', () => {
  const { host, reserve, run, ran } = world()
  const reservation = reserve({ capacity: 2, period: 5 })
  run('a', 1, { reservation })
  run('b', 9, { release: 40, reservation })
  untilTime(host, 53)
  assert.equal(ran(), { a: [[0, 1]], b: [[40, 42], [45, 47], [50, 52]] })
})

sporadic('a job that never waits gets its capacity in every period from its release', () => {
  const { host, reserve, run, ran } = world()
  run('hog', 100, { reservation: reserve({ capacity: 3, period: 7 }), release: 2 })
  run('other', 100, { priority: 5 })
  untilTime(host, 29)
  assert.equal(ran().hog, [[2, 5], [9, 12], [16, 19], [23, 26]])
})

sporadic('a sporadic server whose capacity is its period gets the whole processor', () => {
  const { host, reserve, run, ran } = world()
  run('a', 25, { reservation: reserve({ capacity: 10, period: 10 }) })
  run('other', 5)
  host.run()
  assert.equal(ran(), { a: [[0, 25]], other: [[25, 30]] })
})

sporadic('many short uses of a sporadic server return in 32 pieces, none early, none lost', () => {
  const { host, scheduler, trace, reserve } = world()
  const reservation = reserve({ capacity: 40, period: 1000 })
  scheduler.spawn(function* () {
    for (let n = 0; n < 40; n++) {
      yield until(10 * n)
      yield* execute(host, 1)
    }
  }, { name: 'a', reservation })
  untilTime(host, 999)
  assert.is(reservation.remaining, 0)
  assert.is(reservation.used, 40)
  trace.take()
  // The list has 30 pieces and the rest of the capacity. The nine pieces from 300 to 380 are merged, and
  // return when the last of them is due, at 1380. When the rest is used up, the list has room for one more.
  for (let n = 0; n < 30; n++) {
    untilTime(host, 1000 + 10 * n)
    assert.is(reservation.remaining, n + 1)
  }
  untilTime(host, 1371)
  assert.is(reservation.remaining, 30)
  untilTime(host, 1389)
  assert.is(reservation.remaining, 39)
  untilTime(host, 1390)
  assert.is(reservation.remaining, 40)
  const times = trace.records.map(({ time }) => time)
  assert.equal(times, [...Array.from({ length: 30 }, (_, n) => 1000 + 10 * n), 1372, 1390])
  assert.is(reservation.replenishments, 32)
})

sporadic('a tiny rest of a sporadic capacity returns with the next piece', () => {
  const { host, scheduler, trace, reserve } = world()
  const reservation = reserve({ capacity: 8, period: 20 })
  scheduler.spawn(function* () {
    host.advance(7.9990234375) // 8 - 8 / 8192
    yield
    host.advance(8)
  }, { name: 'a', reservation })
  host.run()
  assertTrace(trace, `
    0 release a, start a
    7.999023 deplete a reservation=R
    20 replenish reservation=R due=20, wake a, resume a
    28 finish a`)
})

sporadic.run()

// ------------------------------------------------------------------ the defects of the POSIX sporadic server

const stanovich = suite('defects of POSIX sporadic servers')

stanovich('no premature replenishment: capacity that arrived later returns later', () => {
  const { host, trace, reserve, run } = world()
  const high = reserve({ name: 'H', capacity: 6, period: 100, priority: 9 })
  const server = reserve({ name: 'S', capacity: 2, period: 10 })
  run('first', 1, { reservation: server })
  run('high', 6, { release: 6, reservation: high })
  run('second', 4, { release: 6, reservation: server })
  // 1 ms is available at 6, and 1 ms at 10. Both are used from 12, and return at 16 and 20. POSIX returns
  // both at 16.
  host.run()
  assertTrace(trace, `
    0 release first, start first
    1 finish first
    6 release high, release second, start high
    10 replenish reservation=S due=10
    12 finish high, start second
    14 deplete second reservation=S
    16 replenish reservation=S due=16, wake second, resume second
    17 deplete second reservation=S
    20 replenish reservation=S due=20, wake second, resume second
    21 finish second`)
})

stanovich('no budget amplification: later capacity pays for overruns, and none is added', () => {
  const { host, trace, reserve, run } = world()
  const reservation = reserve({ capacity: 2, period: 10 })
  run('a', 12, { step: 3, reservation })
  // Of the 2 ms due at 10, 1 ms pays the debt and returns at 20. The other 1 ms is available at 11.
  host.run()
  assertTrace(trace, `
    0 release a, start a
    3 deplete a reservation=R
    11 replenish reservation=R due=11, wake a, resume a
    14 deplete a reservation=R
    30 replenish reservation=R due=30, wake a, resume a
    33 deplete a reservation=R
    41 replenish reservation=R due=41, wake a, resume a
    44 finish a`)
  assert.is(reservation.used, 12) // 2 ms every 10 ms, until 60
})

stanovich('no budget amplification: the remaining time never exceeds the capacity', () => {
  const { host, scheduler, reserve } = world()
  const reservation = reserve({ capacity: 4, period: 10, depleted: 'background' })
  let most = 0
  scheduler.observe(() => { most = Math.max(most, reservation.remaining) })
  scheduler.spawn(function* () {
    for (let n = 0; n < 60; n++) {
      host.advance(1 + n % 5)
      yield n % 3 === 0 ? sleep(n % 7) : undefined
    }
  }, { reservation })
  host.run()
  untilTime(host, host.time + 50)
  assert.is(most, 4)
  assert.is(reservation.remaining, 4)
})

stanovich('no unreliable isolation: depleted jobs rank after all others, at any priority', () => {
  const { host, reserve, run, ran } = world()
  const reservation = reserve({ capacity: 2, period: 10, depleted: 'background' })
  run('reserved', 6, { priority: 100, reservation })
  run('least', 4, { priority: -100 })
  run('late', 1, { priority: -1000, release: 7 })
  host.run()
  assert.equal(ran(), { reserved: [[0, 2], [6, 7], [8, 11]], least: [[2, 6]], late: [[7, 8]] })
})

stanovich.run()

// ------------------------------------------------------------------------------------ deferrable and polling

const deferrable = suite('deferrable and polling')

deferrable('a deferrable server keeps unused capacity, and can use two capacities in a row', () => {
  const { host, trace, reserve, run } = world()
  const reservation = reserve({ name: 'DS', kind: 'deferrable', capacity: 2, period: 5 })
  run('other', 30)
  run('late', 30, { release: 3, reservation })
  untilTime(host, 12)
  assertTrace(trace, `
    0 release other, start other
    3 release late, preempt other by=late, start late
    5 replenish reservation=DS due=5
    7 deplete late reservation=DS, resume other
    10 replenish reservation=DS due=10, wake late, preempt other by=late, resume late
    12 deplete late reservation=DS, resume other`)
})

deferrable('the periods of a deferrable server start at its creation and save no capacity', () => {
  const { host, reserve, run, ran } = world()
  host.advance(1)
  const reservation = reserve({ kind: 'deferrable', capacity: 2, period: 5 })
  run('a', 1, { release: 2, reservation })
  run('b', 30, { release: 14, reservation })
  untilTime(host, 25)
  assert.equal(ran(), { a: [[2, 3]], b: [[14, 18], [21, 23]] })
})

deferrable('a polling server delays work after the poll, and loses its rest without work', () => {
  const { host, trace, reserve, run } = world()
  const reservation = reserve({ name: 'PS', kind: 'polling', capacity: 2, period: 5 })
  run('first', 1, { reservation })
  run('second', 3, { release: 2, reservation })
  untilTime(host, 1)
  assert.is(reservation.remaining, 0)
  host.run()
  assertTrace(trace, `
    0 release first, start first
    1 finish first
    2 release second, deplete second reservation=PS
    5 replenish reservation=PS due=5, wake second, start second
    7 deplete second reservation=PS
    10 replenish reservation=PS due=10, wake second, resume second
    11 finish second`)
})

deferrable('a job released at the time of the poll is served by a polling server', () => {
  const { host, reserve, run, ran } = world()
  const reservation = reserve({ kind: 'polling', capacity: 2, period: 5 })
  run('a', 3, { release: 10, reservation })
  untilTime(host, 7)
  assert.equal([reservation.replenishments, reservation.remaining], [1, 0]) // no job was ready at 5
  host.run()
  assert.equal(ran(), { a: [[10, 12], [15, 16]] })
})

deferrable('a job that arrives while a poll is late is served by that poll', () => {
  const { host, reserve, run, ran } = world()
  const reservation = reserve({ kind: 'polling', capacity: 2, period: 5 })
  run('other', 12, { step: 4 })
  run('a', 1, { release: 6, reservation })
  host.run()
  // The clock is read at 4, 8 and 12. The poll of 5 is therefore processed at 8, and finds the job.
  assert.equal(ran(), { other: [[0, 8], [9, 13]], a: [[8, 9]] })
})

deferrable('a polling server treats jobs spawned in tasks of the event loop in the same way', () => {
  const { host, reserve, run, ran } = world()
  const reservation = reserve({ kind: 'polling', capacity: 2, period: 5 })
  host.after(10, () => { run('at the poll', 1, { reservation }) })
  host.after(21, () => { run('later', 1, { reservation }) })
  untilTime(host, 40)
  assert.equal(ran(), { 'at the poll': [[10, 11]], later: [[25, 26]] })
})

deferrable('a job that wakes after the poll waits, a job that joins running work does not', () => {
  const { host, scheduler, reserve, run, ran } = world({ slice: 1 })
  const reservation = reserve({ kind: 'polling', capacity: 3, period: 10 })
  scheduler.spawn(function* () {
    yield* execute(host, 1)
    yield sleep(3)
    yield* execute(host, 1)
  }, { name: 'sleeper', reservation })
  run('long', 2, { release: 20, reservation })
  run('comes', 1, { release: 21, reservation })
  host.run()
  assert.equal(ran(), { sleeper: [[0, 1], [10, 11]], long: [[20, 21], [22, 23]], comes: [[21, 22]] })
})

deferrable('a polling job that cancels itself ends, although it ran by its waiter\'s rank', () => {
  for (const depleted of ['background', 'wait']) {
    const { host, scheduler, trace, reserve } = world()
    const reservation = reserve({ name: 'PS', kind: 'polling', capacity: 6, period: 14, depleted })
    const waiting = scheduler.spawn(function* () { yield leaving }, { name: 'waiting', reservation })
    const leaving = scheduler.spawn(function* () {
      yield* execute(host, 1)
      leaving.cancel('enough')
      yield
    }, { name: 'leaving', reservation })
    waiting.catch(() => {})
    host.run()
    assert.equal([waiting.state, leaving.state, leaving.finished], ['failed', 'cancelled', 1], trace.toString())
  }
})

deferrable('a polling server without jobs does not poll, and later polls at its old times', () => {
  const { host, trace, reserve, run } = world()
  const reservation = reserve({ name: 'PS', kind: 'polling', capacity: 2, period: 10 })
  host.after(57, () => {
    run('a', 1, { release: 63, reservation })
    run('b', 1, { reservation })
  })
  host.run()
  assertTrace(trace, `
    57 release b, deplete b reservation=PS
    60 replenish reservation=PS due=60, wake b, start b
    61 finish b
    63 release a, deplete a reservation=PS
    70 replenish reservation=PS due=70, wake a, start a
    71 finish a`)
})

deferrable('deferrable and polling servers pay for an overrun in the next periods', () => {
  for (const kind of ['deferrable', 'polling']) {
    const { host, trace, reserve, run } = world()
    const reservation = reserve({ kind, capacity: 2, period: 5 })
    run('a', 10, { step: 5, reservation })
    host.run()
    // The overrun is 3 ms: 2 ms are paid at 5, and 1 ms at 10.
    assertTrace(trace, `
      0 release a, start a
      5 replenish reservation=R due=5, deplete a reservation=R
      10 replenish reservation=R due=10, wake a, resume a
      15 finish a${kind === 'deferrable' ? '\n15 replenish reservation=R due=15' : ''}`, kind)
  }
})

deferrable('a deferrable server counts all periods that pass within one budget', () => {
  const { host, reserve, run, ran } = world()
  run('a', 24, { step: 12, reservation: reserve({ kind: 'deferrable', capacity: 2, period: 5 }) })
  // The job uses 12 ms from 0, 10 ms too many. The periods from 5, 10, 15, 20 and 25 pay for them.
  host.run()
  assert.equal(ran(), { a: [[0, 12], [30, 42]] })
})

deferrable.run()

// --------------------------------------------------------------------------------------- constant bandwidth

const bandwidth = suite('constant bandwidth')

bandwidth('edf uses a constant-bandwidth server by default', () => {
  assert.is(world({ policy: edf }).reserve({ capacity: 1, period: 5 }).kind, 'constant-bandwidth')
})

/** A hard task, 4 of 7 ms, and a server of 3 of 8 ms: the example of Abeni and Buttazzo 1998. */
function hardAndSoft(here, reservation) {
  const { run } = here
  const hard = [0, 7, 14].map(release => run(`hard ${release}`, 4, { release, deadline: 7 }))
  run('J1', 4, { release: 3, reservation })
  run('J2', 3, { release: 13, reservation })
  return hard
}

bandwidth('a depleted constant-bandwidth server recharges and postpones its deadline', () => {
  const here = world({ policy: edf })
  const { host, trace, reserve } = here
  const reservation = reserve({ name: 'CBS', capacity: 3, period: 8, depleted: 'postpone' })
  const hard = hardAndSoft(here, reservation)
  host.run()
  // The deadline is 11 from 3, and 19 from 7. At 13, 2 ms are left for 6 ms. The deadline stays, because
  // 2 < 6 * 3/8. At 15 it becomes 27.
  assertTrace(trace, `
    0 release hard 0, start hard 0
    3 release J1
    4 finish hard 0, start J1
    7 deplete J1 reservation=CBS depleted=postpone, replenish reservation=CBS due=7, release hard 7
    7 preempt J1 by=hard 7, start hard 7
    11 finish hard 7, resume J1
    12 finish J1
    13 release J2, start J2
    14 release hard 14
    15 deplete J2 reservation=CBS depleted=postpone, replenish reservation=CBS due=15, preempt J2 by=hard 14
    15 start hard 14
    19 finish hard 14, resume J2
    20 finish J2`)
  assert.equal(hard.map(({ missed }) => missed), [false, false, false])
  assert.equal([reservation.used, reservation.remaining], [7, 2])
  assert.equal([reservation.depletions, reservation.replenishments], [2, 2])
})

bandwidth('with `depleted: \'wait\'`, a constant-bandwidth server recharges at its deadline', () => {
  const here = world({ policy: edf })
  const { host, trace, reserve } = here
  hardAndSoft(here, reserve({ name: 'CBS', capacity: 3, period: 8, depleted: 'wait' }))
  host.run()
  assertTrace(trace, `
    0 release hard 0, start hard 0
    3 release J1
    4 finish hard 0, start J1
    7 release hard 7, deplete J1 reservation=CBS, start hard 7
    11 finish hard 7, replenish reservation=CBS due=11, wake J1, resume J1
    12 finish J1
    13 release J2, start J2
    14 release hard 14
    15 deplete J2 reservation=CBS, start hard 14
    19 finish hard 14, replenish reservation=CBS due=19, wake J2, resume J2
    20 finish J2`)
})

bandwidth('a depleted constant-bandwidth server in the background ranks after all jobs', () => {
  const { host, trace, reserve, run } = world({ policy: edf })
  const reservation = reserve({ capacity: 2, period: 6, depleted: 'background' })
  run('served', 7, { deadline: 5, reservation })
  run('lax', 4)
  host.run()
  assertTrace(trace, `
    0 release served, release lax, start served
    2 deplete served reservation=R depleted=background, preempt served by=lax, start lax
    6 finish lax, miss served, replenish reservation=R due=6, resume served
    8 deplete served reservation=R depleted=background
    11 finish served`)
  assert.is(reservation.used, 4)
})

bandwidth('the old deadline stays while the bandwidth allows the remaining capacity', () => {
  // 1 of 2 ms is left until 8, at a bandwidth of 1/4. From 4 on, the rest exceeds what the bandwidth allows.
  for (const [release, deadline, runs] of /** @type {[number, number, any][]} */ ([
    [3, 8, { sooner: [[3, 4]], second: [[4, 5], [8, 9]], later: [[5, 6]] }],
    [3.5, 8, { sooner: [[3.5, 4.5]], second: [[4.5, 5.5], [8, 9]], later: [[5.5, 6.5]] }],
    [4, 12, { sooner: [[4, 5]], second: [[5, 7]], later: [[7, 8]] }],
    [6, 14, { sooner: [[6, 7]], second: [[7, 9]], later: [[9, 10]] }]
  ])) {
    const { host, reserve, run, ran } = world({ policy: edf })
    const reservation = reserve({ capacity: 2, period: 8 })
    run('first', 1, { reservation })
    run('second', 2, { release, reservation })
    run('sooner', 1, { release, deadline: deadline - release - 0.25 })
    run('later', 1, { release, deadline: deadline - release + 0.25 })
    host.run()
    assert.equal(ran(), { first: [[0, 1]], ...runs })
  }
})

bandwidth('a constant-bandwidth server ranks by its deadline, then by priority', () => {
  const { host, scheduler, reserve, run, ran } = world({ policy: edf })
  const tenth = reserve({ name: 'tenth', capacity: 2, period: 10, priority: 3 })
  run('served', 2, { deadline: 100, reservation: tenth })
  run('sooner', 1, { deadline: 9 })
  run('later', 1, { deadline: 11 })
  run('more important', 1, { deadline: 10, priority: 4 })
  run('less important', 1, { deadline: 10, priority: 2 })
  host.run()
  assert.equal(ran(), {
    served: [[2, 4]],
    sooner: [[0, 1]],
    later: [[5, 6]],
    'more important': [[1, 2]],
    'less important': [[4, 5]]
  })
  assert.is(scheduler.stats().misses, 0)
})

bandwidth('a constant-bandwidth server pays for an overrun with several periods', () => {
  const { host, trace, reserve, run } = world({ policy: edf })
  run('a', 6, { step: 5, reservation: reserve({ capacity: 2, period: 6 }) })
  // The overrun is 3 ms. 2 ms are paid at 6, when the deadline becomes 12, and 1 ms at 12.
  host.run()
  assertTrace(trace, `
    0 release a, start a
    5 deplete a reservation=R
    6 replenish reservation=R due=6
    12 replenish reservation=R due=12, wake a, resume a
    13 finish a`)
})

bandwidth('a constant-bandwidth server recharges over several passed periods in one step', () => {
  const { host, reserve, run, ran } = world({ policy: edf })
  run('a', 40, { step: 20, reservation: reserve({ capacity: 2, period: 6 }) })
  // 20 ms at this bandwidth take 60 ms.
  host.run()
  assert.equal(ran(), { a: [[0, 20], [60, 80]] })
})

bandwidth('with `depleted: \'postpone\'`, an overrun postpones the deadline several times', () => {
  const { host, reserve, run, ran } = world({ policy: edf })
  const reservation = reserve({ capacity: 2, period: 6, depleted: 'postpone' })
  run('a', 6, { step: 5, reservation })
  run('before 18', 1, { release: 5, deadline: 12.5 })
  run('after 18', 1, { release: 5, deadline: 13.5 })
  host.run()
  // 5 ms are used by 5: the deadline becomes 6, 12, and then 18 with 1 ms left.
  assert.equal(ran(), { a: [[0, 5], [6, 7]], 'before 18': [[5, 6]], 'after 18': [[7, 8]] })
  assert.is(reservation.replenishments, 3)
  assert.is(reservation.depletions, 2)
})

bandwidth.run()

// ---------------------------------------------------------------------------------------- rank and rotation

const standing = suite('rank')

standing('reservations rank by rate under fp, above all jobs without a reservation', () => {
  const { host, reserve, run, ran } = world()
  const slow = reserve({ name: 'slow', capacity: 5, period: 100 })
  const fast = reserve({ name: 'fast', capacity: 2, period: 50, depleted: 'background' })
  run('plain', 1, { priority: 1000 })
  run('slow', 2, { reservation: slow })
  run('fast', 3, { priority: -5, reservation: fast })
  host.run()
  assert.equal(ran(), { plain: [[4, 5]], slow: [[2, 4]], fast: [[0, 2], [5, 6]] })
})

standing('reservations rank by their own priority, which can be negative', () => {
  const { host, reserve, run, ran } = world()
  const slow = reserve({ name: 'slow', capacity: 5, period: 100, priority: 1 })
  const least = reserve({ name: 'least', capacity: 5, period: 10, priority: -1 })
  const fast = reserve({ name: 'fast', capacity: 5, period: 20 })
  run('plain', 1, { priority: 1000 })
  run('least', 1, { reservation: least })
  run('fast', 1, { reservation: fast })
  run('slow', 1, { reservation: slow })
  host.run()
  assert.equal(ran(), { plain: [[3, 4]], least: [[2, 3]], fast: [[1, 2]], slow: [[0, 1]] })
})

standing('reservations rank above all other jobs under rm', () => {
  const { host, reserve, run, ran } = world({ policy: rm })
  run('plain', 1, { priority: 1000 })
  run('reserved', 1, { reservation: reserve({ capacity: 5, period: 1000 }) })
  host.run()
  assert.equal(ran(), { plain: [[1, 2]], reserved: [[0, 1]] })
})

standing('equal jobs of one reservation rotate, are depleted together and wake together', () => {
  const { host, trace, reserve, run } = world({ slice: 1 })
  const reservation = reserve({ capacity: 4, period: 8 })
  run('a', 3, { reservation })
  run('b', 3, { reservation })
  run('other', 3)
  host.run()
  assertTrace(trace, `
    0 release a, release b, release other, start a
    1 preempt a by=b, start b
    2 preempt b by=a, resume a
    3 preempt a by=b, resume b
    4 deplete a reservation=R, deplete b reservation=R, start other
    7 finish other
    8 replenish reservation=R due=8, wake a, wake b, resume a
    9 finish a, resume b
    10 finish b`)
})

standing('jobs in the background rank by their own priority, which can change there', () => {
  const { host, reserve, run, ran, when } = world({ slice: 1 })
  const reservation = reserve({ capacity: 2, period: 100, depleted: 'background' })
  const a = run('a', 4, { priority: 1, reservation })
  run('b', 4, { priority: 5, reservation })
  run('other', 1)
  when(4, () => { a.priority = 9 })
  host.run()
  assert.equal(ran(), { a: [[4, 8]], b: [[0, 2], [3, 4], [8, 9]], other: [[2, 3]] })
})

standing('jobs of one reservation rank among each other by their own keys', () => {
  for (const [policy, urgent, lax] of [[fp, { priority: 2 }, { priority: 1 }], [edf, { deadline: 30 }, { deadline: 40 }]]) {
    for (const depleted of ['wait', 'background']) {
      const { host, reserve, run, ran, when } = world({ policy, slice: 1 })
      const reservation = reserve({ capacity: 5, period: 20, depleted })
      const last = run('last', 2, { ...lax, reservation })
      run('first', 3, { ...urgent, reservation })
      run('second', 2, { ...urgent, reservation })
      run('late', 2, { ...urgent, deadline: 27, reservation, release: 3 })
      // The keys can also change while the jobs are depleted.
      when(5, () => { Object.assign(last, policy === fp ? { priority: 3 } : { deadline: 1 }) })
      host.run()
      const start = depleted === 'wait' ? 20 : 5
      assert.equal(ran(), {
        first: [[0, 1], [2, 3], [start + 2, start + 3]], second: [[1, 2], [3, 4]],
        late: [[4, 5], [start + 3, start + 4]], last: [[start, start + 2]]
      })
    }
  }
})

standing('the first jobs of equal reservations rotate', () => {
  const { host, reserve, run, ran } = world({ slice: 1 })
  const first = reserve({ name: 'first', capacity: 8, period: 20 })
  const second = reserve({ name: 'second', capacity: 8, period: 20 })
  run('urgent', 2, { priority: 5, reservation: first })
  run('lax', 2, { priority: 1, reservation: first })
  run('other', 3, { priority: 3, reservation: second })
  host.run()
  assert.equal(ran(), { urgent: [[0, 1], [2, 3]], other: [[1, 2], [4, 5], [6, 7]], lax: [[3, 4], [5, 6]] })
})

standing('jobs in the background rank by their rates under rm', () => {
  const { host, scheduler, reserve, ran } = world({ policy: rm })
  const reservation = /** @type {any} */ (reserve({ capacity: 1, period: 100, depleted: 'background' }))
  const periods = { first: 1, slow: 50, quick: 5, middle: 20 }
  for (const [name, period] of Object.entries(periods)) {
    new Task(() => execute(host, 1), { name, period, scheduler, reservation }).release()
  }
  host.run()
  assert.equal(ran(), { first: [[0, 1]], quick: [[1, 2]], middle: [[2, 3]], slow: [[3, 4]] })
})

standing('jobs of two reservations with equal priority rotate', () => {
  const { host, reserve, run, ran } = world({ slice: 1 })
  run('a', 2, { reservation: reserve({ capacity: 4, period: 8 }) })
  run('b', 2, { reservation: reserve({ capacity: 4, period: 8 }) })
  host.run()
  assert.equal(ran(), { a: [[0, 1], [2, 3]], b: [[1, 2], [3, 4]] })
})

standing('the reservation of a task serves all its jobs, and a spawn can override it', () => {
  const { host, scheduler, reserve } = world()
  const own = reserve({ capacity: 5, period: 10 })
  const given = reserve({ capacity: 5, period: 10 })
  const task = new Task(() => execute(host, 1), { scheduler, reservation: /** @type {any} */ (own) })
  task.release()
  task.release()
  scheduler.spawn(task, { reservation: given })
  host.run()
  assert.equal([own.used, given.used], [2, 1])
})

standing('the jobs of periodic are charged to their reservation', () => {
  const { host, scheduler, reserve, run, ran } = world()
  const reservation = /** @type {any} */ (reserve({ capacity: 2, period: 10 }))
  periodic(function* tick() { yield* execute(host, 2) }, { period: 10, phase: 3, reservation, scheduler })
  run('hog', 100, { priority: 9 })
  untilTime(host, 29)
  assert.equal(ran().hog, [[0, 3], [5, 13], [15, 23]])
  assert.is(reservation.used, 6)
})

standing('async jobs are charged, depleted and replenished', async () => {
  const { host, scheduler, trace, reserve } = world()
  const reservation = reserve({ capacity: 2, period: 6 })
  scheduler.spawn(async () => {
    const job = scheduler.current
    for (let n = 0; n < 3; n++) {
      await job.yield()
      host.advance(1)
    }
  }, { name: 'a', reservation })
  await host.drain()
  assertTrace(trace, `
    0 release a, start a
    2 deplete a reservation=R
    6 replenish reservation=R due=6, wake a, resume a
    7 finish a`)
})

standing.run()

// ------------------------------------------------------------------------------------------------- the clock

const budgets = suite('enforcement')

budgets('the capacity is tested at each budget, and later capacity pays for the excess', () => {
  const { host, trace, reserve, run } = world({ budget: 4 })
  run('a', 12, { reservation: reserve({ capacity: 2, period: 10 }) })
  host.run()
  assertTrace(trace, `
    0 release a, start a
    4 deplete a reservation=R
    20 replenish reservation=R due=20, wake a, resume a
    24 deplete a reservation=R
    40 replenish reservation=R due=40, wake a, resume a
    44 finish a`)
})

budgets('all periods within a long budget pay for that budget', () => {
  const { host, reserve, run, ran } = world()
  run('a', 14, { step: 7, reservation: reserve({ capacity: 2, period: 10 }) })
  run('other', 30, { priority: 9 })
  // The use of 7 ms takes the amounts due at 0, 10 and 20, and half of the amount due at 30. The other half
  // follows at 31.
  host.run()
  assert.equal(ran(), { a: [[0, 7], [31, 38]], other: [[7, 31], [38, 44]] })
})

budgets('a budget of years is paid by as many periods, without a loop over each period', () => {
  // Polls and periods occur every 10 ms.
  for (const [kind, ms] of Object.entries({ sporadic: 1e11, deferrable: 1e4, polling: 1e4 })) {
    const { host, reserve, run, ran } = world()
    run('a', ms + 1, { step: ms, reservation: reserve({ kind, capacity: 1, period: 10 }) })
    host.run()
    assert.equal(ran().a, [[0, ms], [10 * ms, 10 * ms + 1]], kind)
  }
})

budgets('execution in the background is not charged', () => {
  const { host, reserve, run } = world()
  const reservation = reserve({ capacity: 2, period: 10, depleted: 'background' })
  run('a', 9, { reservation })
  host.run()
  assert.equal([reservation.used, reservation.remaining], [2, 0])
  untilTime(host, 10)
  assert.is(reservation.remaining, 2)
})

budgets('used, remaining, depletions and replenishments count the use of a reservation', () => {
  const { host, reserve, run, when } = world()
  const reservation = reserve({ capacity: 3, period: 10 })
  const seen = []
  const look = () => {
    const { used, remaining, depletions, replenishments } = reservation
    seen.push([host.time, used, remaining, depletions, replenishments])
  }
  for (const time of [0, 1, 2, 3, 7, 10, 11, 13, 20]) when(time, look)
  run('a', 2, { reservation })
  run('b', 3, { release: 7, reservation })
  // 2 ms used from 0 return at 10; 1 ms used from 7 returns at 17; 2 ms used from 10 return at 20. The alarms
  // of `look` precede these replenishments.
  host.run()
  assert.equal(seen, [
    [0, 0, 3, 0, 0], [1, 1, 2, 0, 0], [2, 2, 1, 0, 0], [3, 2, 1, 0, 0], [7, 2, 1, 0, 0], [10, 3, 0, 1, 0],
    [11, 4, 1, 1, 1], [13, 5, 0, 2, 1], [20, 5, 1, 2, 2]
  ])
})

budgets('an observer of the depletion at the end of a job can cancel the job', () => {
  const { host, scheduler, reserve, run } = world()
  const job = run('a', 1, { reservation: reserve({ capacity: 1, period: 10, depleted: 'background' }) })
  scheduler.observe(({ type }) => { if (type === 'deplete') assert.is(job.cancel(), true) })
  host.run()
  assert.is(job.state, 'cancelled')
})

/** Releases a job that waits for `first` to end before it starts, and lends its rank until then. */
function releaseAfter(first, scheduler, work, options) {
  const turns = new extend.WaitQueue(first, () => turns.shift()?.wake([]))
  class Turn extends extend.Waitable {
    enter() { turns.push(this) }
  }
  return extend.spawn(scheduler, work, options, [], () => new Turn())
}

budgets('a reservation that lent more than its capacity before its first job recovers', () => {
  const { host, scheduler, reserve, ran } = world({ policy: edf })
  const work = () => execute(host, 2, 2)
  const first = scheduler.spawn(work, { name: 'first', priority: -1 })
  releaseAfter(first, scheduler, work, { name: 'next', reservation: reserve({ capacity: 1, period: 10 }) })
  host.run()
  assert.equal(ran(), { first: [[0, 2]], next: [[12, 14]] })
})

budgets('a waiting job lends the capacity left at its release, not at its spawn', () => {
  const { host, scheduler, reserve, ran } = world()
  const reservation = reserve({ capacity: 2, period: 10 })
  const work = () => execute(host, 3)
  const first = scheduler.spawn(work, { name: 'first', reservation })
  releaseAfter(first, scheduler, work, { name: 'next', release: 3, reservation })
  host.run()
  assert.equal(ran(), { first: [[0, 2], [10, 11]], next: [[11, 12], [20, 22]] })
})

budgets('after the page was suspended, servers do not make up for unused time', () => {
  for (const [policy, kinds] of /** @type {[any, string[]][]} */ ([
    [fp, ['sporadic', 'deferrable', 'polling']], [edf, ['constant-bandwidth']]
  ])) {
    for (const kind of kinds) {
      const { host, reserve, run } = world({ policy })
      const quick = reserve({ name: 'quick', kind, capacity: 5, period: 10 })
      const slow = reserve({ name: 'slow', kind, capacity: 4, period: 16 })
      const jobs = [run('quick', 9999, { reservation: quick }), run('slow', 9999, { reservation: slow })]
      host.after(22, () => { host.advance(1000) })
      untilTime(host, 1024)
      const before = jobs.map(({ cost }) => cost)
      untilTime(host, 1024 + 800)
      const costs = jobs.map(({ cost }, index) => cost - before[index])
      // Each job gets its promised time in 800 ms, with a tolerance of one period.
      assert.ok(Math.abs(costs[0] - 400) <= 5 && Math.abs(costs[1] - 200) <= 4, `${kind}: ${costs}`)
    }
  }
})

budgets('fractions of ms and readings of a coarse clock are charged exactly', () => {
  const exact = world()
  const tenth = exact.reserve({ capacity: 0.3, period: 1 })
  const job = exact.run('a', 100, { step: 0.1, reservation: tenth })
  untilTime(exact.host, 9.95)
  assert.ok(Math.abs(job.cost - 3) < 1e-9, `${job.cost}`)
  const host = virtualHost({ resolution: 1 })
  const scheduler = new Scheduler({ host, policy: fp, slice: Infinity, round: 1, budget: 1 })
  const reservation = new Reservation({ capacity: 3, period: 10, depleted: 'wait', scheduler })
  const coarse = scheduler.spawn(() => execute(host, 1000, 0.25), { reservation })
  scheduler.spawn(() => execute(host, 1000, 0.25))
  untilTime(host, 999)
  assert.ok(Math.abs(coarse.cost - 300) <= 3, `${coarse.cost}`)
})

budgets('a paused scheduler neither charges nor replenishes, and continues after resume', () => {
  const { host, scheduler, reserve, run } = world()
  const reservation = reserve({ capacity: 2, period: 10 })
  const job = run('a', 9, { reservation })
  untilTime(host, 4)
  scheduler.pause()
  untilTime(host, 16)
  assert.equal([job.state, reservation.used, reservation.replenishments], ['depleted', 2, 0])
  scheduler.resume()
  untilTime(host, 17)
  assert.equal([reservation.used, reservation.replenishments], [4, 1])
})

budgets('a debt shows as a remaining capacity of 0', () => {
  for (const [policy, kinds] of /** @type {[any, string[]][]} */ ([
    [fp, ['sporadic', 'deferrable', 'polling']], [edf, ['constant-bandwidth']]
  ])) {
    for (const kind of kinds) {
      const { host, reserve, run } = world({ policy })
      const reservation = reserve({ kind, capacity: 2, period: 10 })
      run('a', 5, { step: 5, reservation })
      host.run()
      assert.equal([reservation.remaining, reservation.used, reservation.depletions], [0, 5, 1], kind)
    }
  }
})

budgets('the parameters of a reservation can be read', () => {
  const { scheduler, reserve } = world()
  const reservation = reserve({ capacity: 2, period: 8, kind: 'deferrable', depleted: 'background' })
  const { name, kind, depleted, capacity, period, priority, utilization } = reservation
  assert.equal({ name, kind, depleted, capacity, period, priority, utilization }, {
    name: 'R',
    kind: 'deferrable',
    depleted: 'background',
    capacity: 2,
    period: 8,
    priority: 1 / 8,
    utilization: 1 / 4
  })
  assert.is(reservation.scheduler, scheduler)
  const plain = new Reservation({ capacity: 1, period: 2, scheduler })
  assert.equal([plain.name, plain.depleted], ['reservation', 'background'])
})

budgets.run()

// ----------------------------------------------------------------------------------- waits, ends and cancels

const life = suite('jobs with a reservation')

life('a job woken in the middle of another budget counts as work from then on', () => {
  const { host, scheduler, trace, reserve } = world()
  const channel = new Channel()
  const reservation = reserve({ capacity: 2, period: 10 })
  scheduler.spawn(function* () {
    yield channel.receive()
    yield* execute(host, 3)
  }, { name: 'receiver', reservation })
  scheduler.spawn(function* () {
    host.advance(3)
    channel.offer('go')
    host.advance(2)
    yield
    yield* execute(host, 1)
  }, { name: 'sender' })
  host.run()
  assertTrace(trace, `
    0 release receiver, release sender, start receiver, block receiver on=channel.receive(), start sender
    3 wake receiver
    5 preempt sender by=receiver, resume receiver
    7 deplete receiver reservation=R, resume sender
    8 finish sender
    13 replenish reservation=R due=13, wake receiver, resume receiver
    14 finish receiver`)
})

life('a job released while its reservation is depleted waits without starting', () => {
  const { host, trace, reserve, run, when } = world()
  const reservation = reserve({ capacity: 1, period: 5 })
  run('first', 1, { reservation })
  run('second', 1, { release: 2, reservation })
  const third = run('third', 1, { release: 3, reservation })
  when(4, () => {
    assert.is(third.state, 'depleted')
    third.catch(() => {})
    third.cancel('no')
  })
  host.run()
  assertTrace(trace, `
    0 release first, start first
    1 finish first
    2 release second, deplete second reservation=R
    3 release third, deplete third reservation=R
    4 wake third, cancel third error=no
    5 replenish reservation=R due=5, wake second, start second
    6 finish second`)
})

life('a job cancelled while depleted leaves its reservation, so that its finally runs', () => {
  const { host, scheduler, trace, reserve, run, when } = world()
  const reservation = reserve({ capacity: 1, period: 1000 })
  const job = scheduler.spawn(function* () {
    try {
      yield* execute(host, 5)
    } finally {
      yield
      yield* execute(host, 2)
    }
  }, { name: 'a', priority: 1, reservation })
  job.catch(() => {})
  run('other', 4, { release: 2 })
  when(3, () => { job.cancel('stop') })
  host.run()
  assertTrace(trace, `
    0 release a, start a
    1 deplete a reservation=R
    2 release other, start other
    3 wake a, preempt other by=a, resume a
    5 cancel a error=stop, resume other
    8 finish other`)
  assert.is(reservation.used, 1)
})

life('a job cancelled right after its depletion is not reported as woken', () => {
  const { host, trace, reserve, run, when } = world()
  const job = run('a', 5, { reservation: reserve({ capacity: 2, period: 10 }) })
  job.catch(() => {})
  when(2, () => { job.cancel('stop') })
  host.run()
  assertTrace(trace, `
    0 release a, start a
    2 cancel a error=stop`)
})

life('a job cancelled in the background continues by its own priority', () => {
  const { host, scheduler, reserve, run, ran, when } = world()
  const reservation = reserve({ capacity: 1, period: 1000, depleted: 'background' })
  const job = scheduler.spawn(function* () {
    try {
      yield* execute(host, 9)
    } finally {
      yield
      yield* execute(host, 2)
    }
  }, { name: 'a', priority: 1, reservation })
  job.catch(() => {})
  run('other', 4)
  when(3, () => { job.cancel('stop') })
  host.run()
  assert.equal(ran(), { a: [[0, 1], [3, 5]], other: [[1, 3], [5, 7]] })
})

life('a job that runs by its waiter\'s rank is not reported as woken by a replenishment', () => {
  const { host, scheduler, trace, reserve, run } = world()
  const mutex = new Mutex()
  const holds = ms => () => mutex.use(() => execute(host, ms))
  scheduler.spawn(holds(4), { name: 'a', reservation: reserve({ capacity: 2, period: 10 }) })
  scheduler.spawn(holds(1), { name: 'b', release: 8 })
  run('c', 3, { priority: 1, release: 9 })
  host.run()
  assertTrace(trace, `
    0 release a, start a
    2 deplete a reservation=R
    8 release b, start b, wake a, block b on=mutex, resume a
    9 release c, preempt a by=c, start c
    11 replenish reservation=R due=11, preempt c by=a, resume a
    12 wake b, finish a, resume c
    13 finish c, resume b
    14 finish b`)
})

life('jobs that cancel themselves are charged for their use', () => {
  const { host, scheduler, reserve, run, ran } = world()
  const reservation = reserve({ capacity: 2, period: 10 })
  for (const name of ['a', 'b', 'c', 'd']) {
    const job = scheduler.spawn(function* () {
      host.advance(1)
      job.cancel()
      yield
    }, { name, reservation })
    job.catch(() => {})
  }
  run('other', 3)
  host.run()
  assert.equal(ran(), { a: [[0, 1]], b: [[1, 2]], other: [[2, 5]], c: [[10, 11]], d: [[11, 12]] })
})

life('a job cancelled before its release uses no capacity', () => {
  const { host, reserve, run } = world()
  const reservation = reserve({ capacity: 1, period: 5 })
  const job = run('a', 1, { release: 50, reservation })
  job.catch(() => {})
  job.cancel('no')
  run('b', 1, { reservation })
  host.run()
  assert.equal([host.time, reservation.used, reservation.depletions], [1, 1, 1])
})

life('a depleted job misses its own deadline', () => {
  const { host, reserve, run } = world()
  const job = run('a', 3, { deadline: 4, miss: 'abort', reservation: reserve({ capacity: 2, period: 10 }) })
  let error
  job.catch(reason => { error = reason })
  host.run()
  return Promise.resolve().then(() => {
    assert.is(error.name, 'DeadlineError')
    assert.is(job.missed, true)
  })
})

life('a reservation of another scheduler is rejected, and nothing changes', () => {
  const here = world()
  const other = world()
  const reservation = here.reserve({ name: 'mine', capacity: 1, period: 5 })
  const before = other.scheduler.stats()
  const act = () => other.run('a', 1, { reservation })
  assert.throws(act, error => error instanceof TypeError &&
    error.message === 'reservation must be of the scheduler of its jobs, but mine is not')
  assert.equal(other.scheduler.stats(), before)
  other.host.run()
  assert.is(other.host.time, 0)
})

life('a reservation made for another policy is rejected until that policy returns', () => {
  const { host, scheduler, reserve, run } = world()
  const reservation = reserve({ name: 'mine', capacity: 1, period: 5 })
  scheduler.configure({ policy: edf })
  assert.throws(() => run('a', 1, { reservation }), error => error instanceof TypeError &&
    error.message === 'reservation must be made for the policy edf, but mine was made under fp')
  assert.is(scheduler.stats().jobs, 0)
  scheduler.configure({ policy: fp })
  run('a', 1, { reservation })
  host.run()
  assert.is(reservation.used, 1)
})

life('a kind that does not fit the policy throws a TypeError', () => {
  const byPriority = "'sporadic' or 'deferrable' or 'polling'"
  const wrong = [
    [fp, 'constant-bandwidth', `kind must be ${byPriority} under fp, got "constant-bandwidth"`],
    [rm, 'constant-bandwidth', `kind must be ${byPriority} under rm, got "constant-bandwidth"`],
    [edf, 'sporadic', "kind must be 'constant-bandwidth' under edf, got \"sporadic\""],
    [edf, 'deferrable', "kind must be 'constant-bandwidth' under edf, got \"deferrable\""],
    [edf, 'polling', "kind must be 'constant-bandwidth' under edf, got \"polling\""]
  ]
  for (const [policy, kind, message] of wrong) {
    assert.throws(() => world({ policy }).reserve({ kind, capacity: 1, period: 5 }),
      error => error instanceof TypeError && error.message === message)
  }
})

life('a policy is recognised by its compare function, not by its name', () => {
  for (const [policy, kind, unknown] of [[fp, 'sporadic', 'constant-bandwidth'], [edf, 'constant-bandwidth', 'sporadic']]) {
    const { reserve } = world({ policy: { ...policy, name: 'mine' } })
    assert.is(reserve({ capacity: 1, period: 5 }).kind, kind)
    assert.throws(() => reserve({ kind: unknown, capacity: 1, period: 5 }), TypeError)
  }
  // A policy with a custom compare function can have all kinds.
  for (const policy of [fp, rm, edf]) {
    const own = { ...policy, compare: (a, b) => policy.compare(a, b) }
    for (const kind of ['sporadic', 'deferrable', 'polling', 'constant-bandwidth']) {
      assert.is(world({ policy: own }).reserve({ kind, capacity: 1, period: 5 }).kind, kind)
    }
  }
})

life('an idle reservation does not keep Node alive, a depleted one with work does', () => {
  for (const [policy, kinds] of /** @type {[any, string[]][]} */ ([
    [fp, ['sporadic', 'deferrable', 'polling']], [edf, ['constant-bandwidth']]
  ])) {
    for (const kind of kinds) {
      const { host, scheduler, reserve, run } = world({ policy })
      const reservation = reserve({ kind, capacity: 2, period: 10 })
      assert.equal(host.timers, [], kind)
      const job = run('a', 3, { reservation })
      untilTime(host, 5)
      assert.is(job.state, 'depleted')
      assert.equal(host.timers, [{ time: 10, ref: true }], kind)
      host.run()
      assert.is(host.time, 11, kind)
      assert.ok(host.timers.every(({ ref }) => !ref), kind)
      assert.is(scheduler.stats().misses, 0)
    }
  }
})

life('jobs in the background keep Node alive until they end', () => {
  const { host, reserve, run } = world()
  run('a', 3, { reservation: reserve({ capacity: 2, period: 10, depleted: 'background' }) })
  host.run()
  assert.is(host.time, 3)
})

life('idle() does not wait for a replenishment', async () => {
  const { host, scheduler, reserve, run } = world()
  run('a', 2, { reservation: reserve({ capacity: 2, period: 10 }) })
  let idle = false
  scheduler.idle().then(() => { idle = true })
  await host.drain({ until: 3 })
  assert.ok(idle)
})

life.run()

// ------------------------------------------------------------------------- critical sections and inheritance

const sections = suite('critical sections')

/** Spawns a job with a section of 4 ms and a capacity of 2 ms, then 2 ms more. */
function sectionOnCredit({ host, scheduler, run }, reservation, section, more = {}) {
  scheduler.spawn(function* () {
    yield section(() => execute(host, 4))
    yield* execute(host, 2)
  }, { name: 'reserved', reservation, ...more })
  run('other', 2, { release: 1 })
}

for (const [name, of] of /** @type {[string, () => any][]} */ ([
  ['nonPreemptive', () => ({ section: nonPreemptive, more: {} })],
  ['Resource.use', () => {
    const resource = new Resource()
    return { section: body => resource.use(body), more: { uses: [resource] } }
  }]
])) {
  sections(`${name}: a section finishes beyond the capacity, and the replenishments pay`, () => {
    const here = world()
    const { section, more } = of()
    const reservation = here.reserve({ capacity: 2, period: 10 })
    sectionOnCredit(here, reservation, section, more)
    here.host.run()
    // 4 ms are the capacity of two periods.
    assertTrace(here.trace, `
      0 release reserved, start reserved
      1 release other
      4 deplete reserved reservation=R, start other
      6 finish other
      20 replenish reservation=R due=20, wake reserved, resume reserved
      22 finish reserved`)
    assert.equal([reservation.used, reservation.depletions], [6, 2])
  })

  sections(`${name}: a section finishes beyond the capacity, and continues in the background`, () => {
    const here = world()
    const { section, more } = of()
    const reservation = here.reserve({ capacity: 2, period: 10, depleted: 'background' })
    sectionOnCredit(here, reservation, section, more)
    here.host.run()
    assertTrace(here.trace, `
      0 release reserved, start reserved
      1 release other
      2 deplete reserved reservation=R depleted=background
      4 preempt reserved by=other, start other
      6 finish other, resume reserved
      8 finish reserved`)
    assert.is(reservation.used, 4)
    untilTime(here.host, 19)
    assert.is(reservation.remaining, 0)
    untilTime(here.host, 20)
    assert.is(reservation.remaining, 2)
  })
}

sections('a job that ranks higher since the postponement waits for the end of the section', () => {
  const { host, scheduler, trace, reserve, run } = world({ policy: edf })
  const reservation = reserve({ capacity: 2, period: 6, depleted: 'postpone' })
  scheduler.spawn(function* () {
    yield nonPreemptive(() => execute(host, 4))
    yield* execute(host, 2)
  }, { name: 'reserved', reservation })
  run('other', 2, { release: 1, deadline: 8 })
  host.run()
  assertTrace(trace, `
    0 release reserved, start reserved
    1 release other
    2 deplete reserved reservation=R depleted=postpone, replenish reservation=R due=2
    4 deplete reserved reservation=R depleted=postpone, replenish reservation=R due=4
    4 preempt reserved by=other, start other
    6 finish other, resume reserved
    8 deplete reserved reservation=R depleted=postpone, replenish reservation=R due=8, finish reserved`)
})

sections('a depleted mutex holder without waiters stops', () => {
  const { host, scheduler, reserve, run, ran } = world()
  const mutex = new Mutex()
  const reservation = reserve({ capacity: 2, period: 10 })
  scheduler.spawn(() => mutex.use(() => execute(host, 4)), { name: 'holder', reservation })
  run('other', 1)
  host.run()
  assert.equal(ran(), { holder: [[0, 2], [10, 12]], other: [[2, 3]] })
})

sections('a depleted mutex holder runs by the rank of its waiter, into debt', () => {
  const { host, scheduler, trace, reserve, run } = world()
  const mutex = new Mutex()
  const reservation = reserve({ capacity: 2, period: 10 })
  scheduler.spawn(function* () {
    yield mutex.use(() => execute(host, 4))
    yield
    yield* execute(host, 1)
  }, { name: 'holder', reservation })
  scheduler.spawn(() => mutex.use(() => execute(host, 1)), { name: 'waiter', priority: 3, release: 3 })
  run('rival', 3, { priority: 2, release: 4 })
  host.run()
  // The debt is 2 of the 4 ms. The amount due at 10 pays for it, and returns at 20.
  assertTrace(trace, `
    0 release holder, start holder
    2 deplete holder reservation=R
    3 release waiter, start waiter, wake holder, block waiter on=mutex, resume holder
    4 release rival
    5 wake waiter, deplete holder reservation=R, resume waiter
    6 finish waiter, start rival
    9 finish rival
    20 replenish reservation=R due=20, wake holder, resume holder
    21 finish holder`)
  assert.is(reservation.used, 5)
})

sections('a mutex holder in the background runs by the rank of its waiter', () => {
  const { host, scheduler, reserve, run, ran } = world()
  const mutex = new Mutex()
  const reservation = reserve({ capacity: 2, period: 10, depleted: 'background' })
  const holder = scheduler.spawn(() => mutex.use(() => execute(host, 4)), { name: 'holder', reservation })
  scheduler.spawn(() => mutex.use(() => execute(host, 1)), { name: 'waiter', priority: 3, release: 4 })
  run('rival', 5, { priority: 2, release: 3 })
  host.run()
  // 0-2 by the reservation, 2-3 in the background, 4-5 by the waiter's rank. The first and the last are
  // charged.
  const { waiter, rival } = ran()
  assert.equal({ waiter, rival }, { waiter: [[5, 6]], rival: [[3, 4], [6, 10]] })
  assert.equal([holder.cost, holder.finished, reservation.used], [4, 5, 3])
})

sections('a mutex holder runs above plain jobs if its waiter has a reservation', () => {
  const { host, scheduler, reserve, run, ran } = world()
  const mutex = new Mutex()
  const reservation = reserve({ capacity: 5, period: 10 })
  scheduler.spawn(() => mutex.use(() => execute(host, 3)), { name: 'holder', priority: -1 })
  scheduler.spawn(() => mutex.use(() => execute(host, 1)), { name: 'waiter', release: 1, reservation })
  run('rival', 2, { priority: 9, release: 1 })
  host.run()
  assert.equal(ran(), { holder: [[0, 3]], waiter: [[3, 4]], rival: [[4, 6]] })
})

sections('both reservations are charged when a depleted holder runs for a reserved waiter', () => {
  const { host, scheduler, reserve, run, ran } = world()
  const mutex = new Mutex()
  const debtor = reserve({ name: 'debtor', capacity: 2, period: 10 })
  const lender = reserve({ name: 'lender', capacity: 4, period: 20 })
  scheduler.spawn(() => mutex.use(() => execute(host, 4)), { name: 'holder', reservation: debtor })
  const one = () => mutex.use(() => execute(host, 1))
  scheduler.spawn(one, { name: 'waiter', release: 3, reservation: lender })
  run('rival', 5, { priority: 9 })
  host.run()
  assert.equal(ran(), { holder: [[0, 2], [3, 5]], waiter: [[5, 6]], rival: [[2, 3], [6, 10]] })
  assert.equal([debtor.used, lender.used, lender.remaining], [4, 3, 1])
  // The amount due at 10 pays the debt of the debtor. The lender gets its capacity back by 26.
  untilTime(host, 19)
  assert.equal([debtor.remaining, lender.remaining], [0, 1])
  untilTime(host, 26)
  assert.equal([debtor.remaining, lender.remaining], [2, 4])
})

sections('two depleted jobs of one reservation, a mutex holder and its waiter, both wait', () => {
  const { host, scheduler, reserve, ran } = world({ slice: 1 })
  const mutex = new Mutex()
  const reservation = reserve({ capacity: 2, period: 10 })
  scheduler.spawn(() => mutex.use(() => execute(host, 3)), { name: 'holder', reservation })
  scheduler.spawn(() => mutex.use(() => execute(host, 1)), { name: 'waiter', reservation, release: 1 })
  host.run()
  assert.equal(ran(), { holder: [[0, 2], [10, 11]], waiter: [[11, 12]] })
})

for (const policy of [fp, edf]) {
  for (const way of ['a job', 'a lock']) {
    sections(`inheritance, ${policy.name}: a reservation lends at most its capacity to ${way}`, () => {
      const { host, scheduler, reserve, run } = world({ policy })
      const lender = reserve({ name: 'lender', capacity: 2, period: 10 })
      const victim = reserve({ name: 'victim', capacity: 10, period: 20 })
      const mutex = new Mutex()
      const long = scheduler.spawn(() => mutex.use(() => execute(host, 100)), { name: 'long' })
      scheduler.spawn(function* () {
        yield way === 'a job' ? long : mutex.lock()
      }, { name: 'waiter', release: 1, reservation: lender })
      const job = run('victim', 100, { release: 1, reservation: victim })
      untilTime(host, 21)
      assert.is(job.cost, 10)
      // The capacities from 1 and from 11, as far as they are used. No other reservation pays.
      assert.ok(lender.used >= 2 && lender.used <= 5, `${lender.used}`)
    })
  }
}

for (const [kind, capacity] of /** @type {[any, number][]} */ ([
  ['sporadic', 2], ['deferrable', 2], ['constant-bandwidth', 2], ['polling', 9]
])) {
  const how = kind === 'polling' ? 'the wait itself takes the capacity' : 'the budget in which its job waits uses it up'
  sections(`a ${kind} reservation lends nothing to a mutex holder after ${how}`, () => {
    const { host, scheduler, reserve, run, ran } = world({ policy: kind === 'constant-bandwidth' ? edf : fp })
    const lender = reserve({ kind, capacity, period: 20, depleted: 'background' })
    const mutex = new Mutex()
    scheduler.spawn(() => mutex.use(() => execute(host, 12)), { name: 'low', deadline: 500 })
    scheduler.spawn(function* () {
      yield sleep(20)
      yield* execute(host, 2)
      host.advance(1)
      yield mutex.lock()
    }, { name: 'lender', reservation: lender, deadline: 300 })
    run('HIGH', 8, { release: 25, priority: 5, deadline: 100 })
    run('hog', 11, { release: 1, priority: 5, deadline: 100 })
    untilTime(host, 60)
    // `low` runs for 1 ms more while no other job is ready; then HIGH runs as soon as it is released.
    assert.equal(ran().HIGH, [[25, 33]])
    assert.is(lender.used, 3)
  })
}

sections.run()

const families = suite('jobs of one reservation that wait for each other')

for (const depleted of /** @type {const} */ (['wait', 'background', 'postpone'])) {
  families(`a child and its parent wake after the server's deadline (${depleted})`, () => {
    const { host, scheduler, trace, reserve, run } = world({ policy: edf })
    const reservation = reserve({ capacity: 2, period: 5, depleted })
    scheduler.spawn(function* () {
      yield par(
        () => execute(host, 1),
        function* () {
          yield sleep(9)
          yield* execute(host, 1)
        })
    }, { name: 'parent', reservation })
    run('other', 9, { deadline: 60 })
    host.run()
    const ends = trace.records.filter(({ type }) => type === 'finish').map(({ time, job }) => [time, job.name])
    assert.equal(ends.filter(([, name]) => name === 'parent' || name === 'other'), [[10, 'other'], [11, 'parent']])
  })
}

families('a ready job of a used-up reservation runs by the rank of a job that waits for it', () => {
  const { host, scheduler, ran } = world({ policy: fp })
  const reservation = new Reservation({ scheduler, capacity: 3, period: 20, kind: 'deferrable', depleted: 'background' })
  scheduler.spawn(() => execute(host, 4), { name: 'first', priority: 2, reservation })
  const second = scheduler.spawn(() => execute(host, 2), { name: 'second', priority: 1, reservation })
  scheduler.spawn(function* () { yield second }, { name: 'waits', priority: 5 })
  scheduler.spawn(() => execute(host, 5), { name: 'between', priority: 3 })
  host.run()
  assert.equal(ran(), { first: [[0, 3], [10, 11]], second: [[3, 5]], between: [[5, 10]], waits: [] })
})

families('a job whose waiter has stopped waiting ranks after earlier deadlines again', () => {
  const { host, scheduler, reserve, run, ran } = world({ policy: edf })
  const reservation = reserve({ capacity: 4, period: 10 })
  const soonest = reserve({ name: 'soonest', capacity: 1, period: 5 })
  const channel = new Channel()
  const later = run('later', 1, { deadline: 50, reservation })
  const waits = scheduler.spawn(function* () {
    yield choice([{ wait: later }, { receive: channel }])
  }, { name: 'waits', deadline: 30, reservation })
  scheduler.observe(({ type, job }) => {
    if (type !== 'block' || job !== waits) return
    scheduler.spawn(() => {
      run('earlier', 1, { deadline: 20, reservation })
      channel.offer('no need to wait')
    }, { name: 'wakes', reservation: soonest })
  })
  host.run()
  assert.equal(ran(), { waits: [], wakes: [], earlier: [[0, 1]], later: [[1, 2]] })
})

families.run()

// -------------------------------------------------------------------------------------------------- resizing

const resizing = suite('resize')

/** The intervals until `end` of an endless job, whose reservation is resized at `time`. */
function resized(given, time, change, end, { policy = fp, ...more } = /** @type {any} */ ({})) {
  const { host, reserve, run, ran, when } = world({ policy })
  const reservation = reserve(given)
  run('a', 1000, { reservation, ...more })
  run('other', 1000)
  when(time, () => { reservation.resize(change) })
  untilTime(host, end)
  return ran().a
}

resizing('sporadic: added capacity is available immediately', () => {
  const small = { capacity: 2, period: 10 }
  // The reservation is depleted: 3 ms more from 5 on, which return at 15.
  const atOnce = [[0, 2], [5, 8], [10, 12], [15, 18], [20, 22], [25, 28]]
  assert.equal(resized(small, 5, { capacity: 5 }, 29), atOnce)
  // The job runs: one use of 4 ms.
  assert.equal(resized(small, 1, { capacity: 4 }, 19), [[0, 4], [10, 14]])
  // The job has not started.
  assert.equal(resized(small, 1, { capacity: 4 }, 19, { release: 3 }), [[3, 7], [13, 17]])
})

resizing('sporadic: a smaller capacity removes the amounts that would return last', () => {
  const large = { capacity: 6, period: 10 }
  // 3 ms are used. 2 of the remaining 3 ms stay, and return one period after their use began.
  assert.equal(resized(large, 3, { capacity: 2 }, 29), [[0, 5], [13, 15], [23, 25]])
  assert.equal(resized(large, 7, { capacity: 2 }, 29), [[0, 6], [10, 12], [20, 22]])
  assert.equal(resized(large, 3, { capacity: 4 }, 29), [[0, 6], [10, 11], [13, 16], [20, 21], [23, 26]])
})

resizing('sporadic: another period moves the pending replenishments by the difference', () => {
  const given = { capacity: 2, period: 10 }
  assert.equal(resized(given, 5, { period: 20 }, 59), [[0, 2], [20, 22], [40, 42]])
  assert.equal(resized(given, 3, { period: 4 }, 15), [[0, 2], [4, 6], [8, 10], [12, 14]])
  // With a period of 4, the capacity would have returned already at 4.
  assert.equal(resized(given, 5, { period: 4 }, 16), [[0, 2], [5, 7], [9, 11], [13, 15]])
})

resizing('deferrable: the capacity changes immediately, the period from its present start', () => {
  const given = { kind: 'deferrable', capacity: 2, period: 5 }
  assert.equal(resized(given, 8, { capacity: 4 }, 20), [[0, 2], [5, 7], [8, 14], [15, 19]])
  assert.equal(resized({ ...given, capacity: 4 }, 2, { capacity: 1 }, 14), [[0, 3], [5, 6], [10, 11]])
  assert.equal(resized(given, 8, { period: 8 }, 28), [[0, 2], [5, 7], [13, 15], [21, 23]])
  assert.equal(resized(given, 8, { period: 4 }, 20), [[0, 2], [5, 7], [9, 11], [13, 15], [17, 19]])
})

resizing('polling: added capacity is available only while there is work', () => {
  const given = { kind: 'polling', capacity: 2, period: 10 }
  assert.equal(resized(given, 5, { capacity: 4 }, 25), [[0, 2], [5, 7], [10, 14], [20, 24]])
  // No job is ready at 5, so the added capacity is lost, as at a poll without work.
  assert.equal(resized(given, 5, { capacity: 4 }, 25, { release: 6 }), [[10, 14], [20, 24]])
})

resizing('constant bandwidth: until the old deadline, the new bandwidth limits the use', () => {
  const given = { capacity: 2, period: 8 }
  const edfToo = { policy: edf }
  // The capacity grows by 2 ms, but at 6 at most 2 * 4/8 are available.
  assert.equal(resized(given, 3, { capacity: 4 }, 13, edfToo), [[0, 2], [3, 5], [8, 12]])
  assert.equal(resized(given, 6, { capacity: 4 }, 13, edfToo), [[0, 2], [6, 7], [8, 12]])
  // Until 16, 4 * 8/16 and 12 * 4/16 give 5 ms, of which 4 are used at 4.
  assert.equal(resized({ capacity: 8, period: 16 }, 4, { capacity: 4 }, 25, edfToo), [[0, 5], [16, 20]])
  // A longer period starts at the old deadline, because other jobs were admitted with that deadline.
  assert.equal(resized(given, 3, { period: 16 }, 39, edfToo), [[0, 2], [8, 10], [24, 26]])
})

for (const depleted of ['wait', 'background']) {
  resizing(`a capacity of 0 stops the jobs, and a larger one resumes them (${depleted})`, () => {
    const { host, trace, reserve, run, when } = world()
    const reservation = reserve({ capacity: 4, period: 10, depleted })
    const job = run('a', 5, { reservation })
    run('late', 1, { release: 2, reservation })
    when(1, () => { reservation.resize({ capacity: 0 }) })
    when(3, () => {
      assert.is(job.state, 'depleted')
      assert.equal([reservation.remaining, reservation.capacity, reservation.utilization], [0, 0, 0])
      assert.equal(host.timers.filter(({ ref }) => ref).length, 0)
    })
    when(6, () => { reservation.resize({ capacity: 5 }) })
    untilTime(host, 12)
    assertTrace(trace, `
      0 release a, start a
      1 deplete a reservation=R
      2 release late, deplete late reservation=R
      6 wake a, wake late, resume a
      10 finish a, start late
      ${depleted === 'background' ? '11 deplete late reservation=R depleted=background' : ''}
      11 finish late`)
  })
}

resizing('a reservation with a capacity of 0 does not keep Node alive', () => {
  for (const [policy, kinds] of /** @type {[any, string[]][]} */ ([
    [fp, ['sporadic', 'deferrable', 'polling']], [edf, ['constant-bandwidth']]
  ])) {
    for (const kind of kinds) {
      for (const [capacity, depleted] of [[0, 'wait'], [0, 'background'], [3, 'wait']]) {
        const { host, reserve, run, when } = world({ policy })
        const reservation = reserve({ kind, capacity, period: 10, depleted })
        const job = run('a', 5, { reservation })
        when(2, () => { reservation.resize({ capacity: 0 }) })
        assert.is(host.run(), 2)
        assert.is(job.state, 'depleted')
        assert.equal(host.timers, [], kind)
      }
    }
  }
})

resizing('jobs of a reservation that starts with a capacity of 0 start when it grows', () => {
  for (const [policy, kinds] of /** @type {[any, string[]][]} */ ([
    [fp, ['sporadic', 'deferrable', 'polling']], [edf, ['constant-bandwidth']]
  ])) {
    for (const kind of kinds) {
      const { host, reserve, run, ran, when } = world({ policy })
      const reservation = reserve({ kind, capacity: 0, period: 10 })
      run('a', 3, { reservation })
      run('other', 40)
      when(3, () => { reservation.resize({ capacity: 2 }) })
      untilTime(host, 30)
      // Deferrable and polling servers have periods from 0. The others start theirs when they have work and
      // capacity.
      const expected = kind === 'deferrable' || kind === 'polling' ? [[3, 5], [10, 11]] : [[3, 5], [13, 14]]
      assert.equal(ran().a, expected, kind)
    }
  }
})

resizing('a capacity of 0 stops a job in the background', () => {
  for (const kind of ['sporadic', 'deferrable', 'polling', 'constant-bandwidth']) {
    const { host, reserve, run, ran, when } = world({ policy: kind === 'constant-bandwidth' ? edf : fp })
    const reservation = reserve({ kind, capacity: 1, period: 20, depleted: 'background' })
    run('a', 9, { reservation })
    when(3, () => { reservation.resize({ capacity: 0 }) })
    untilTime(host, 30)
    assert.equal(ran().a, [[0, 3]], kind)
  }
})

resizing('an observer of a replenishment can resize without losing or doubling it', () => {
  for (const kind of ['sporadic', 'deferrable', 'polling', 'constant-bandwidth']) {
    const { host, scheduler, reserve, run, ran } = world({ policy: kind === 'constant-bandwidth' ? edf : fp })
    const reservation = reserve({ kind, capacity: 1, period: 12, depleted: 'wait' })
    run('a', 9, { reservation })
    const stop = scheduler.observe(({ type }) => {
      if (type !== 'replenish') return
      stop()
      reservation.resize({ capacity: 2, period: 8 })
    })
    untilTime(host, 24)
    const [first, second, third] = ran().a
    assert.equal([first, second], [[0, 1], [12, second[1]]], kind)
    assert.ok(second[1] <= 14 && third[0] >= 20 && third[0] < 24 && third[1] - third[0] <= 2, `${kind} ${ran().a}`)
  }
})

resizing('without capacity, `depleted: \'postpone\'` does not postpone the deadline', () => {
  for (const capacity of [0, 1e-7]) {
    const { host, reserve, run, ran, when } = world({ policy: edf })
    const reservation = reserve({ capacity, period: 10, depleted: 'postpone' })
    run('a', 3, { reservation })
    when(3, () => { reservation.resize({ capacity: 3 }) })
    untilTime(host, 30)
    assert.equal(ran().a, [[3, 6]], `capacity ${capacity}`)
  }
})

resizing('a job that waits while the capacity becomes 0 stops when it wakes', () => {
  const { host, scheduler, trace, reserve, when } = world()
  const reservation = reserve({ capacity: 2, period: 10 })
  scheduler.spawn(function* () {
    yield sleep(3)
    yield* execute(host, 1)
  }, { name: 'a', reservation })
  when(1, () => { reservation.resize({ capacity: 0 }) })
  when(5, () => { reservation.resize({ capacity: 1 }) })
  host.run()
  assertTrace(trace, `
    0 release a, start a, block a on=Sleep
    3 wake a, deplete a reservation=R
    5 wake a, resume a
    6 finish a`)
})

resizing('a job can resize its own reservation in the middle of a budget', () => {
  const { host, scheduler, reserve, run, ran } = world()
  const reservation = reserve({ capacity: 4, period: 10 })
  scheduler.spawn(function* () {
    host.advance(1)
    reservation.resize({ capacity: 0 })
    host.advance(1)
    yield
    host.advance(1)
  }, { name: 'a', reservation })
  run('other', 3)
  host.after(7, () => { reservation.resize({ capacity: 3 }) })
  host.run()
  assert.equal(ran(), { a: [[0, 2], [7, 8]], other: [[2, 5]] })
})

resizing('shrinking and growing a reservation does not grant its capacity twice', () => {
  for (const less of [0, 1]) {
    for (const [policy, kinds] of /** @type {[any, string[]][]} */ ([
      [fp, ['sporadic', 'deferrable', 'polling']], [edf, ['constant-bandwidth']]
    ])) {
      for (const kind of kinds) {
        const { host, reserve, run, when } = world({ policy })
        const reservation = reserve({ kind, capacity: 4, period: 20 })
        const job = run('a', 100, { reservation })
        run('other', 100)
        for (const time of [5, 9, 13]) {
          when(time, () => { reservation.resize({ capacity: less }) })
          when(time + 1, () => { reservation.resize({ capacity: 4 }) })
        }
        untilTime(host, 19)
        assert.is(job.cost, 4, `${kind}, ${less} for a while`)
      }
    }
  }
})

resizing('a reservation that was off has the capacity of an idle one when it is on again', () => {
  for (const [policy, kind] of [[fp, 'sporadic'], [fp, 'deferrable'], [edf, 'constant-bandwidth']]) {
    for (const used of [0, 2, 5]) {
      for (const change of [{}, { period: 1 }, { capacity: 3 }]) {
        const { host, scheduler, reserve, run, when } = world({ policy })
        const reservation = reserve({ kind, capacity: 5, period: 100 })
        if (used > 0) run('a', used, { reservation })
        when(10, () => { reservation.resize({ ...change, capacity: 0 }) })
        when(250, () => { reservation.resize({ capacity: 5, period: 100 }) })
        untilTime(host, 251)
        const late = run('late', 9, { reservation })
        untilTime(host, 299)
        assert.is(late.cost, 5, `${kind}, of which ${used} were used, ${JSON.stringify(change)}`)
        assert.equal(host.errors, [])
        scheduler.pause()
      }
    }
  }
})

/**
 * Runs jobs in a reservation that is resized at random times, with a constant or a changing utilization. At
 * times the capacity is 0.
 *
 * @returns `most`: the maximum use in any window beyond the sum of the utilizations in force. While the
 *   capacity is 0, the previous utilization counts, because used capacity still returns. `largest`: the
 *   largest capacity. `after` and `due`: the use after the last resize, and the minimum expected
 */
function resizedAtRandom(random, kind, isConstant) {
  const policy = kind === 'constant-bandwidth' ? edf : fp
  const { host, scheduler, reserve, ran, when } = world({ policy })
  const utilization = random.pick([0.05, 0.2, 0.6])
  const draw = () => {
    const period = random.pick([10, 20, 40, 100])
    return { capacity: period * (isConstant ? utilization : random.pick([0.02, 0.2, 0.6])), period }
  }
  let inForce = draw()
  let largest = inForce.capacity
  const reservation = reserve({ kind, ...inForce })
  const isBusy = random.chance(0.5)
  for (const name of ['a', 'b']) {
    scheduler.spawn(function* () {
      for (;;) {
        yield* execute(host, random.pick([0.25, 1, 4]), 0.125)
        if (!isBusy) yield sleep(random.pick([0, 1, 7, 60]))
      }
    }, { name, reservation })
  }
  const rates = [{ from: 0, rate: inForce.capacity / inForce.period }]
  const gap = random.pick([1, 5, 30])
  let time = 0
  for (let count = random.integer(1, 60); count > 0; count--) {
    time += random.integer(1, 2 * gap)
    const next = count > 1 && random.chance(0.2) ? { capacity: 0 } : random.chance(0.5) ? inForce : draw()
    if (next.capacity > 0) {
      inForce = /** @type {any} */ (next)
      largest = Math.max(largest, next.capacity)
      rates.push({ from: time, rate: inForce.capacity / inForce.period })
    }
    when(time, () => { reservation.resize(next) })
  }
  const { capacity, period } = inForce
  const end = time + 10 * period + 500
  untilTime(host, end)
  assert.equal(host.errors, [])
  const spans = Object.values(ran()).flat().sort(([a], [b]) => a - b)
  let excess = 0
  let most = 0
  let last = 0
  const pass = (until, isRunning) => {
    for (const [index, { rate }] of rates.entries()) {
      const to = Math.min(until, rates[index + 1]?.from ?? Infinity)
      if (to <= last) continue
      excess = Math.max(0, excess + (to - last) * ((isRunning ? 1 : 0) - rate))
      most = Math.max(most, excess)
      last = to
    }
  }
  for (const [start, finish] of spans) {
    pass(start, false)
    pass(finish, true)
  }
  const after = spans.reduce((sum, [start, finish]) => sum + Math.max(0, finish - Math.max(start, time)), 0)
  return { most, largest, isBusy, after, due: (end - time) * capacity / period - 4 * largest }
}

for (const kind of ['sporadic', 'deferrable', 'polling', 'constant-bandwidth']) {
  for (const isConstant of [true, false]) {
    const which = isConstant ? 'at one utilization' : 'at several'
    resizing(`${kind}: random resizes ${which} keep the limit in each window, and the promise`, () => {
      return forSeeds(150, random => {
        const { most, largest, isBusy, after, due } = resizedAtRandom(random, kind, isConstant)
        // A capacity can be used at the end of a period, or before the utilization falls, and the next one
        // right after it. In addition, the last budget can exceed the capacity.
        const bound = (kind === 'sporadic' && isConstant ? 1 : 2) * largest + 0.25
        assert.ok(most <= bound + 1e-6, `${most} more than the utilization, and not ${bound}`)
        if (isBusy) assert.ok(after >= due - 0.25, `${after} after the last change, where ${due} were due`)
      })
    })
  }
}

resizing('constant bandwidth: a server that takes over another\'s share meets its deadline', () => {
  const { host, scheduler, reserve, run, when } = world({ policy: edf })
  const less = reserve({ name: 'less', capacity: 8, period: 16 })
  const more = reserve({ name: 'more', capacity: 8, period: 16 })
  run('a', 100, { reservation: less })
  // 4 * 8/16 and 12 * 12/16.
  const job = run('b', 11, { reservation: more, deadline: 16 })
  when(4, () => {
    less.resize({ capacity: 4 })
    more.resize({ capacity: 12 })
  })
  host.run({ until: 20 })
  assert.is(job.missed, false)
  scheduler.pause()
})

resizing('the default priority follows the period, an explicit priority does not', () => {
  const { host, reserve, run, ran, when } = world()
  const a = reserve({ name: 'a', capacity: 4, period: 20 })
  const b = reserve({ name: 'b', capacity: 4, period: 40 })
  const c = reserve({ name: 'c', capacity: 4, period: 30, priority: 0 })
  run('a', 3, { reservation: a })
  run('b', 3, { reservation: b })
  run('c', 3, { reservation: c })
  when(1, () => { b.resize({ period: 10 }) })
  when(2, () => { c.resize({ period: 15, capacity: 5 }) })
  when(3, () => { c.resize({ priority: 1 }) })
  host.run()
  assert.equal([a.priority, b.priority, c.priority], [1 / 20, 1 / 10, 1])
  assert.equal(ran(), { a: [[0, 1], [7, 9]], b: [[1, 3], [6, 7]], c: [[3, 6]] })
})

resizing('resize returns the reservation, and keeps missing parameters', () => {
  const { reserve } = world()
  const reservation = reserve({ capacity: 2, period: 10 })
  assert.is(reservation.resize({}), reservation)
  assert.equal([reservation.capacity, reservation.period, reservation.priority], [2, 10, 1 / 10])
  reservation.resize({ capacity: undefined, period: undefined, priority: undefined })
  assert.equal([reservation.capacity, reservation.period, reservation.priority], [2, 10, 1 / 10])
})

resizing('a rejected resize changes nothing', () => {
  const { host, reserve, run, ran, when } = world()
  const reservation = reserve({ name: 'R', capacity: 2, period: 10 })
  run('a', 4, { reservation })
  run('other', 40)
  when(1, () => {
    for (const change of [
      { capacity: 11 }, { capacity: 4, period: 3 }, { period: 0 }, { capacity: -1 }, { capacity: '3' },
      { capacity: 4, priority: NaN }, { period: Infinity }
    ]) assert.throws(() => reservation.resize(/** @type {any} */ (change)))
    assert.equal([reservation.capacity, reservation.period, reservation.remaining], [2, 10, 1])
  })
  untilTime(host, 20)
  assert.equal(ran().a, [[0, 2], [10, 12]])
})

resizing.run()
