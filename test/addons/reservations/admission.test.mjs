/** Tests which reservations and tasks are admitted: equation 1, the edf bound, exact tests of tasks. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, edf, fp, rm, extend } from '../../../rt.mjs'
import { schedulable } from '../../../addons/schedulable.mjs'
import { at } from '../../../alarms.mjs'
import {
  AdmissionError, IoReservation, Reservation, admit, interrupt, loop
} from '../../../addons/reservations.mjs'
import { Resource } from '../../../sync.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { execute } from '../../support/virtual-host.mjs'
import { exactWorld } from '../../support/world.mjs'

function world(policy = fp) {
  const { host, scheduler } = exactWorld({ policy, round: 1 })
  host.report = error => { throw error }
  let made = 0
  return {
    host,
    scheduler,
    /** Makes a reservation of `capacity` ms in 100 ms. */
    reserve: (capacity, more = {}) =>
      new Reservation({ capacity, period: 100, name: `R${++made}`, scheduler, ...more }),
    io: (utilization, more = {}) =>
      new IoReservation({ utilization, name: `I/O ${++made}`, scheduler, ...more }),
    admit: (set, more = {}) => admit(set, { scheduler, ...more })
  }
}

/** @param {() => any} act @returns {any} the AdmissionError */
function refusal(act) {
  try {
    act()
  } catch (error) {
    if (error instanceof AdmissionError) return error
    throw error
  }
  throw new Error('this was admitted')
}

function near(actual, expected) {
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`)
}

/** n (2^(1/n) - 1) */
const LIU_LAYLAND = { 1: 1, 2: 0.8284271247461903, 3: 0.7797631496846196, 4: 0.7568284600108841 }

// ------------------------------------------------------------------------------- before anything is admitted

const before = suite('before the first admit')

before('before admit, only a sum above 100 % is rejected', () => {
  for (const policy of [edf, fp, rm]) {
    const { reserve, io } = world(policy)
    reserve(50)
    reserve(25)
    io(0.25)
    const error = refusal(() => reserve(1, { name: 'one too many' }))
    assert.is(error.name, 'AdmissionError')
    assert.is(error.test, undefined)
    near(error.utilization, 1.01)
    near(error.demand, 1.01)
    assert.equal([error.bound, error.share, error.sums.test], [1, 1, 'utilization'])
    assert.is(error.message, 'R1, R2, I/O 3, one too many ask for 101 % of the processor, more than 100 % ' +
      `(utilization, ${policy.name}, share 1)`)
    refusal(() => io(0.01))
  }
})

before('rounding errors of many small reservations do not cause a rejection', () => {
  for (const policy of [edf, fp]) {
    // 9 times 1/9 is 1.0000000000000002 here.
    for (const count of [9, 10, 39]) {
      const { reserve } = world(policy)
      for (let n = 0; n < count; n++) reserve(1, { period: count })
      refusal(() => reserve(1e-3))
    }
  }
})

before('each scheduler has its own processor time', () => {
  world().reserve(100)
  world().reserve(100)
})

before('after a change of the policy, earlier reservations do not count', () => {
  const { scheduler, reserve } = world()
  reserve(100)
  scheduler.configure({ policy: edf })
  reserve(100)
  refusal(() => reserve(1))
  scheduler.configure({ policy: edf })
  refusal(() => reserve(1))
})

before('reservations with a capacity of 0 take no processor time', () => {
  const { reserve, io } = world()
  const off = reserve(0)
  io(0)
  reserve(100)
  refusal(() => off.resize({ capacity: 1 }))
  assert.is(off.capacity, 0)
})

before.run()

// ------------------------------------------------------------------------------------------------ equation 1

const equation = suite('equation 1, by fixed priority')

equation('reservations are admitted up to the bound of Liu and Layland for their number', () => {
  for (const [capacities, more] of [[[100], 0.1], [[40, 42], 1], [[40, 20, 17], 1], [[20, 20, 20, 15], 1]]) {
    for (const policy of [fp, rm]) {
      const { reserve, admit } = world(policy)
      const [first, ...rest] = capacities.map(capacity => reserve(capacity))
      const bound = LIU_LAYLAND[capacities.length]
      const utilization = capacities.reduce((sum, capacity) => sum + capacity / 100, 0)
      const sums = admit([first, ...rest])
      near(sums.utilization, utilization)
      near(sums.demand, utilization)
      near(sums.bound, bound)
      assert.equal([sums.share, sums.test], [1, 'equation 1'])
      if (rest.length > 0) {
        const error = refusal(() => first.resize({ capacity: capacities[0] + more }))
        near(error.demand, utilization + more / 100)
        near(error.bound, bound)
        assert.is(error.sums.test, 'equation 1')
      }
    }
  }
})

equation('a further reservation lowers the bound', () => {
  const { reserve, admit } = world()
  admit([reserve(40), reserve(38)])
  // 0.78 is below the bound for two reservations, and above the bound for three.
  const error = refusal(() => reserve(1, { name: 'the third' }))
  near(error.demand, 0.79)
  near(error.bound, LIU_LAYLAND[3])
  assert.match(error.message, /the third/)
  assert.match(error.message, '79 %')
  assert.match(error.message, '77.98 %')
})

equation('Qduino, Table VI: 40, 20 and 10 of 100 ms leave less than 5 % for I/O', () => {
  const { reserve, io, admit } = world()
  admit([reserve(40), reserve(20), reserve(10)])
  // (2 - U) U is 0.0784 for 0.04, and 0.0975 for 0.05. 0.0798 are left.
  const error = refusal(() => io(0.05))
  near(error.utilization, 0.75)
  near(error.demand, 0.7975)
  near(error.bound, LIU_LAYLAND[3])
  const small = io(0.04)
  near(admit([]).demand, 0.7784)
  refusal(() => small.resize({ utilization: 0.05 }))
  assert.is(small.utilization, 0.04)
})

equation('an I/O reservation alone can have the whole processor', () => {
  const { io, admit } = world()
  const sums = admit([io(1)])
  near(sums.demand, 1)
  near(sums.bound, 1)
  near(admit([world().io(0.5)], { scheduler: undefined }).demand, 0.75)
})

equation('equation 1 counts deferrable reservations like I/O, but not polling ones', () => {
  const { reserve, admit } = world()
  admit([reserve(30, { kind: 'deferrable' })])
  near(admit([]).demand, 1.7 * 0.3)
  near(admit([]).utilization, 0.3)
  // 0.51 + 0.32 exceeds the bound for two reservations; 0.51 + 0.31 does not.
  refusal(() => reserve(32, { kind: 'polling' }))
  reserve(31, { kind: 'polling' })
  near(admit([]).demand, 0.82)
  const { reserve: another, admit: admitToo } = world()
  admitToo([])
  refusal(() => {
    another(30, { kind: 'deferrable' })
    another(30, { kind: 'deferrable' })
  })
})

equation('a reservation with a capacity of 0 does not count in n of equation 1', () => {
  const { reserve, admit } = world()
  admit([reserve(40), reserve(42)])
  const off = reserve(0)
  near(admit([]).bound, LIU_LAYLAND[2])
  refusal(() => off.resize({ capacity: 1 }))
})

equation('equal priorities with different periods use the test of schedulable', () => {
  for (const periods of [[100, 50], [50, 100]]) {
    const { reserve, admit } = world()
    for (const period of periods) reserve(10, { period, priority: 1 })
    assert.is(admit([]).test, 'schedulable')
  }
})

equation('priorities that are not rate monotonic use response times instead of equation 1', () => {
  const { scheduler, admit } = world()
  const long = new Reservation({ capacity: 4, period: 100, priority: 2, name: 'long', scheduler })
  admit([long])
  // The short reservation could be delayed for its whole period.
  refusal(() => new Reservation({ capacity: 1, period: 4, priority: 1, name: 'short', scheduler }))
  new Reservation({ capacity: 1, period: 5, priority: 1, name: 'less short', scheduler })
  const { scheduler: other, admit: admitToo } = world()
  const first = new Reservation({ capacity: 4, period: 100, name: 'long', scheduler: other })
  admitToo([first, new Reservation({ capacity: 1, period: 4, name: 'short', scheduler: other })])
  refusal(() => first.resize({ priority: 1 }))
  assert.is(first.priority, 1 / 100)
})

equation.run()

// --------------------------------------------------------------------------------------------- the edf bound

const bound = suite('the bound under edf')

bound('under edf, utilizations including I/O add up to 1', () => {
  const { reserve, io, admit } = world(edf)
  const sums = admit([reserve(50), reserve(30), io(0.2)])
  near(sums.utilization, 1)
  near(sums.demand, 1)
  assert.equal([sums.bound, sums.share, sums.test], [1, 1, 'utilization'])
  near(refusal(() => reserve(0.1)).demand, 1.001)
})

bound('under edf, I/O takes its share of each interval from tasks with early deadlines', () => {
  const { io, admit } = world(edf)
  const task = { wcet: 2, period: 8, deadline: 4 }
  // 2 ms within 4 ms: half of the processor.
  const sums = admit([io(0.5), task])
  near(sums.utilization, 0.75)
  assert.is(sums.test, 'schedulable')
  const { io: another, admit: admitToo } = world(edf)
  const error = refusal(() => admitToo([another(0.51), task]))
  near(error.utilization, 0.76)
})

bound('under edf, I/O, reservations and tasks can share the whole processor', () => {
  const { reserve, io, admit } = world(edf)
  const sums = admit([io(0.1), reserve(2, { period: 10 }), { wcet: 7, period: 10 }])
  near(sums.utilization, 1)
  assert.is(sums.test, 'schedulable')
  refusal(() => reserve(0.1))
})

bound('I/O with the whole processor leaves no time for a task', () => {
  const { io, admit } = world(edf)
  const shared = io(1)
  refusal(() => admit([shared, { wcet: 1e-9, period: 10 }])) // too small to change the sums
})

bound.run()

// ----------------------------------------------------------------------------------------------------- tasks

const tasks = suite('tasks are admitted by an exact test')

tasks('under fp, harmonic tasks can use the whole processor', () => {
  const { scheduler, admit } = world()
  const half = { name: 'half', wcet: 1, period: 2, priority: 2 }
  const quarter = new Task(() => {}, { name: 'quarter', wcet: 2, period: 4, priority: 1, scheduler })
  const sums = admit([half, quarter])
  assert.equal([sums.utilization, sums.test], [1, 'schedulable'])
})

tasks('under fp, response times decide, even below the utilization bound', () => {
  const { admit } = world()
  const high = { name: 'high', wcet: 2, period: 10, deadline: 10, priority: 2 }
  // 3 + 2 = 5
  admit([high, { name: 'low', wcet: 3, period: 20, deadline: 5, priority: 1 }])
  const { admit: admitToo } = world()
  const low = { name: 'low', wcet: 3, period: 20, deadline: 4.9, priority: 1 }
  const error = refusal(() => admitToo([high, low]))
  assert.is(error.sums.test, 'schedulable')
  near(error.utilization, 0.35)
  assert.is(error.message, 'high, low cannot all be served in time (schedulable, fp, share 1)')
})

tasks('under rm, tasks rank by rate, and their priorities are ignored', () => {
  const set = [{ wcet: 3, period: 100, priority: 9 }, { wcet: 1, period: 3, priority: 1 }]
  world(rm).admit(set)
  refusal(() => world(fp).admit(set))
})

tasks('under edf, the processor demand decides', () => {
  const { admit } = world(edf)
  admit([{ wcet: 2, period: 4, deadline: 2 }, { wcet: 2, period: 4, deadline: 4 }])
  const { admit: admitToo } = world(edf)
  refusal(() => admitToo([{ wcet: 2, period: 4, deadline: 2 }, { wcet: 2, period: 4, deadline: 3.9 }]))
  near(refusal(() => admitToo([{ wcet: 3, period: 4 }, { wcet: 2, period: 4 }])).utilization, 1.25)
})

tasks('under fp, reservations rank above all tasks', () => {
  const task = { wcet: 3, period: 20, deadline: 5, priority: 1000 }
  const { reserve, admit } = world()
  admit([reserve(2, { period: 10 }), task])
  const { reserve: another, admit: admitToo } = world()
  refusal(() => admitToo([another(2.1, { period: 10 }), task]))
})

tasks('a share below 1 lengthens the execution times of tasks', () => {
  const set = [{ wcet: 2, period: 10, priority: 2 }, { wcet: 2, period: 5, deadline: 5, priority: 1 }]
  // 4 ms of work take 5 ms at a share of 0.8.
  world().admit(set, { share: 0.8 })
  refusal(() => world().admit(set, { share: 0.79 }))
})

tasks('a shared resource lets a less urgent task block a more urgent one', () => {
  const resource = new Resource()
  const uses = /** @type {any} */ ([resource])
  const long = new Task(() => {}, { wcet: 3, period: 20, priority: 1, uses })
  const set = [new Task(() => {}, { wcet: 2, period: 20, deadline: 4, priority: 2, uses }), long]
  assert.is(schedulable(set, { policy: fp }).schedulable, false)
  refusal(() => world().admit(set))
  world().admit([new Task(() => {}, { wcet: 2, period: 20, deadline: 5, priority: 2, uses }), long])
})

tasks('the longest section of a less urgent task counts, scaled by the share', () => {
  const urgent = deadline => ({ wcet: 2, period: 20, deadline, priority: 2 })
  const long = section => ({ wcet: 6, period: 20, priority: 1, sections: [{ wcet: section }] })
  world().admit([urgent(5), long(3)])
  refusal(() => world().admit([urgent(4.9), long(3)]))
  world().admit([urgent(6), long(1)], { share: 0.5 })
  refusal(() => world().admit([urgent(5.9), long(1)], { share: 0.5 }))
})

tasks('a deferrable reservation can delay a task by two capacities in a row', () => {
  const task = deadline => ({ wcet: 3, period: 20, deadline, priority: 1 })
  for (const [kind, least] of Object.entries({ deferrable: 7, sporadic: 5, polling: 5 })) {
    const { reserve, admit } = world()
    const sums = admit([reserve(2, { period: 10, kind }), task(least)])
    assert.is(sums.test, 'schedulable')
    const { reserve: another, admit: admitToo } = world()
    refusal(() => admitToo([another(2, { period: 10, kind }), task(least - 0.01)]))
  }
})

tasks('I/O delays a task by its utilization of all time, and by one more capacity', () => {
  const task = deadline => ({ wcet: 4.5, period: 40, deadline, priority: 1 })
  // In t ms, I/O takes at most 0.1 t + 0.9, the reservation 2, and the task 4.5: t = 7.4 / 0.9 = 8.22.
  const { reserve, io, admit } = world()
  admit([io(0.1), reserve(2, { period: 10 }), task(8.4)])
  const { reserve: another, io: ioToo, admit: admitToo } = world()
  refusal(() => admitToo([ioToo(0.1), another(2, { period: 10 }), task(8.2)]))
  refusal(() => admitToo([ioToo(1), task(40)]))
  // I/O with its own capacity, 5 of 50: t = (5 + 2 * 2 + 4.5) / 0.9 = 15.
  const own = { utilization: undefined, capacity: 5, period: 50 }
  for (const [deadline, isAdmitted] of /** @type {const} */ ([[15.1, true], [14.9, false]])) {
    const { reserve, io, admit } = world()
    const ask = () => admit([io(0, own), reserve(2, { period: 10 }), task(deadline)])
    if (isAdmitted) ask()
    else refusal(ask)
  }
})

tasks('admit agrees with schedulable on random sets', () => forSeeds(300, random => {
  const policy = random.pick([edf, fp, rm])
  const set = Array.from({ length: random.integer(1, 5) }, () => {
    const period = random.integer(2, 20)
    const wcet = random.integer(1, Math.max(1, period >> 1))
    return { wcet, period, deadline: random.integer(wcet, period), priority: random.integer(0, 3) }
  })
  const { admit } = world(policy)
  const fits = schedulable(set, { policy }).schedulable
  if (fits) admit(set)
  else refusal(() => admit(set))
}))

tasks('a task that is admitted again counts once, with its new parameters', () => {
  const { admit } = world(edf)
  const task = { wcet: 3, period: 4 }
  admit([task])
  near(admit([task]).utilization, 0.75)
  near(admit(task).utilization, 0.75)
  near(admit([Object.assign(task, { wcet: 2 })]).utilization, 0.5)
})

tasks('cancel frees the time of admitted tasks', () => {
  const { admit } = world(edf)
  const first = admit([{ wcet: 3, period: 4 }])
  refusal(() => admit([{ wcet: 2, period: 4 }]))
  assert.is(first.cancel(), true)
  assert.is(first.cancel(), false)
  near(admit([{ wcet: 2, period: 4 }]).utilization, 0.5)
})

tasks('cancel frees the time of tasks, and keeps the time of reservations', () => {
  const { reserve, admit } = world(edf)
  const promise = admit([reserve(40), { wcet: 3, period: 10 }])
  promise.cancel()
  near(admit([]).utilization, 0.4)
})

tasks('admit accepts plain objects with the parameters of reservations', () => {
  const { admit } = world()
  const fifth = { capacity: 20, period: 100 }
  const sums = admit([fifth, { ...fifth, kind: 'deferrable' }, { utilization: 0.1 }])
  near(sums.utilization, 0.5)
  near(sums.demand, 0.2 + 1.8 * 0.2 + 1.9 * 0.1)
  near(sums.bound, LIU_LAYLAND[2])
})

tasks.run()

// ------------------------------------------------------------------------------- share, and counted members

const share = suite('share')

share('a share scales the bound, and applies to later reservations', () => {
  for (const [policy, full] of /** @type {[any, number][]} */ ([[edf, 1], [fp, LIU_LAYLAND[2]]])) {
    const { reserve, admit } = world(policy)
    const sums = admit([reserve(35), reserve(35)], { share: 0.85 })
    near(sums.bound, 0.85 * full)
    assert.is(sums.share, 0.85)
    const error = refusal(() => reserve(16))
    assert.is(error.share, 0.85)
    assert.match(error.message, 'share 0.85')
  }
})

share('admit keeps the previous share unless the call sets one', () => {
  const { reserve, admit } = world(edf)
  assert.is(admit([]).share, 1)
  admit([reserve(50)], { share: 0.6 })
  assert.is(admit([]).share, 0.6)
  refusal(() => admit([{ wcet: 20, period: 100 }]))
  refusal(() => reserve(20))
  admit([], { share: 1 })
  reserve(20)
  refusal(() => admit([], { share: 0.6 }))
  assert.is(admit([]).share, 1)
  reserve(30)
})

share('all reservations count, whether they are listed or not', () => {
  const { reserve, admit } = world(edf)
  const named = reserve(50)
  reserve(40)
  near(admit([named]).utilization, 0.9)
  near(admit([named, named]).utilization, 0.9)
})

share('admit accepts any iterable, and a single reservation', () => {
  const { reserve, admit } = world(edf)
  const a = reserve(20)
  near(admit(a).utilization, 0.2)
  near(admit(new Set([a, reserve(20)])).utilization, 0.4)
  near(admit((function* () { yield a })()).utilization, 0.4)
})

share('admit uses the scheduler of the set, and rejects a set of two schedulers', () => {
  const { reserve } = world(edf)
  const a = reserve(20)
  near(admit([a]).utilization, 0.2)
  near(admit(a).utilization, 0.2)
  assert.throws(() => admit([a, world(edf).reserve(20)]), error => error instanceof TypeError &&
    error.message === 'set must be of one scheduler, but R1 is of another')
  const { scheduler } = world()
  assert.throws(() => admit([a], { scheduler }), TypeError)
})

share('the result of admit is frozen', () => {
  const { reserve, admit } = world(edf)
  assert.ok(Object.isFrozen(admit([reserve(20)])))
})

share('admit recognises a policy by its compare function, not by its name', () => {
  const { admit } = world(/** @type {any} */ ({ ...fp, compare: (a, b) => fp.compare(a, b), name: 'mine' }))
  assert.throws(() => admit([]), error => error instanceof TypeError &&
    error.message === 'admit() knows edf, fp and rm, and not the policy "mine"')
  for (const [policy, test] of [[edf, 'utilization'], [fp, 'equation 1'], [rm, 'equation 1']]) {
    assert.is(world({ ...policy, name: 'mine' }).admit([]).test, test)
  }
})

share.run()

// -------------------------------------------------------------------------------------------- all or nothing

const atomic = suite('all or nothing')

atomic('a rejected reservation keeps no share', () => {
  const { reserve, io, admit } = world(edf)
  admit([reserve(50)])
  for (let n = 0; n < 3; n++) {
    refusal(() => reserve(60))
    refusal(() => io(0.6))
  }
  near(admit([]).utilization, 0.5)
  reserve(50)
})

atomic('a rejected resize leaves a running reservation unchanged', () => {
  const { host, scheduler, reserve, admit } = world()
  const reservation = reserve(40)
  admit([reservation, reserve(40)])
  const job = scheduler.spawn(() => execute(host, 60), { reservation })
  scheduler.spawn(() => execute(host, 100), { priority: 1 })
  at(20, () => {
    refusal(() => reservation.resize({ capacity: 50 }))
    refusal(() => reservation.resize({ period: 50, priority: 99 }))
    const { capacity, period, remaining, priority } = reservation
    assert.equal([capacity, period, remaining, priority], [40, 100, 20, 1 / 100])
    refusal(() => reservation.resize({ capacity: 50 }))
  }, { scheduler })
  host.run({ until: 90 })
  assert.is(job.cost, 40)
  near(admit([]).utilization, 0.8)
})

atomic('a rejected resize leaves an I/O reservation unchanged', () => {
  const { reserve, io, admit } = world(edf)
  const shared = io(0.3)
  admit([shared, reserve(60)])
  refusal(() => shared.resize({ utilization: 0.5 }))
  assert.is(shared.utilization, 0.3)
  near(admit([]).utilization, 0.9)
  shared.resize({ utilization: 0.4 })
  near(admit([]).utilization, 1)
})

atomic('a rejected set changes neither the requests, the guarantee nor the share', () => {
  const { reserve, admit } = world()
  const all = [reserve(50), reserve(50)]
  refusal(() => admit(all))
  refusal(() => admit([{ wcet: 1, period: 10 }, { wcet: 10, period: 10 }], { share: 0.5 }))
  // Neither equation 1 nor the share applies, and no time is promised to tasks.
  all[0].resize({ capacity: 20 })
  reserve(30)
  refusal(() => reserve(1))
  const { reserve: another, admit: admitToo } = world(edf)
  admitToo([another(50)], { share: 0.8 })
  refusal(() => admitToo([{ wcet: 6, period: 10 }], { share: 1 }))
  refusal(() => another(31))
  another(30)
})

atomic('an invalid member prevents the admission of the whole set', () => {
  const { admit } = world(edf)
  assert.throws(() => admit([{ wcet: 5, period: 10 }, { wcet: 1 }]), TypeError)
  near(admit([]).utilization, 0)
})

atomic('interrupt and loop cancel their reservation if they throw after creating it', () => {
  const { scheduler, reserve } = world(edf)
  const target = { addEventListener() { throw new Error('no') }, removeEventListener() {} }
  const uses = [{ [extend.protocol]: { attach() { throw new Error('no') }, detach() {} } }]
  const options = /** @type {any} */ ({ capacity: 60, period: 100, scheduler })
  const isNo = error => error.message === 'no'
  for (let n = 0; n < 3; n++) {
    assert.throws(() => interrupt(/** @type {any} */ (target), 'ping', () => {}, options), isNo)
    assert.throws(() => loop(function* () {}, { ...options, uses }), isNo)
  }
  reserve(100)
})

atomic.run()

// ------------------------------------------------------------------------------ the end of loops and
// handlers

const ends = suite('the end of loops and handlers frees their capacity')

/** The options of a reservation with 60 %. */
const most = scheduler => ({ capacity: 60, period: 100, scheduler })

ends('a loop that ends by an error, cancel or a signal frees its capacity', () => {
  const { host, scheduler, reserve, admit } = world(edf)
  const controller = new AbortController()
  const body = () => execute(host, 5)
  for (const [given, end] of /** @type {[any, (begun: any) => void][]} */ ([
    [() => { throw new Error('end') }, () => {}],
    [function* () { throw new Error('end') }, () => {}],
    [body, ({ cancel }) => cancel()],
    [body, ({ job }) => job.cancel()],
    [body, () => controller.abort()],
    [body, () => {}] // the signal is aborted already
  ])) {
    const begun = loop(given, { ...most(scheduler), signal: controller.signal })
    begun.job.catch(() => {})
    if (!controller.signal.aborted) refusal(() => reserve(50))
    host.run({ until: host.time + 3 })
    end(begun)
    host.run({ until: host.time + 2 })
    near(admit([]).utilization, 0)
  }
})

ends('a cancelled loop frees its capacity after its last finally block', () => {
  const { host, scheduler, admit } = world(edf)
  const { job, cancel } = loop(function* () {
    try {
      yield* execute(host, 100)
    } finally {
      yield* execute(host, 5)
    }
  }, most(scheduler))
  job.catch(() => {})
  at(3, () => { cancel() }, { scheduler })
  at(5, () => { near(admit([]).utilization, 0.6) }, { scheduler })
  host.run()
  near(admit([]).utilization, 0)
})

ends('a cancelled handler frees its capacity', () => {
  const { scheduler, admit } = world(edf)
  const target = new EventTarget()
  const handling = interrupt(target, 'ping', function* () {}, most(scheduler))
  near(admit([]).utilization, 0.6)
  handling.cancel()
  near(admit([]).utilization, 0)
})

ends('a handler that is cancelled during an event frees its capacity after the event', () => {
  const { host, scheduler, admit } = world(edf)
  const target = new EventTarget()
  const handling = interrupt(target, 'ping', () => execute(host, 5), most(scheduler))
  target.dispatchEvent(new Event('ping'))
  at(2, () => {
    handling.cancel()
    near(admit([]).utilization, 0.6)
  }, { scheduler })
  host.run()
  near(admit([]).utilization, 0)
})

ends('a handler that its own before cancels frees its capacity after the event', () => {
  const { host, scheduler, admit } = world(edf)
  const target = new EventTarget()
  const before = () => { handling.cancel() }
  const handling = interrupt(target, 'ping', () => execute(host, 5), { ...most(scheduler), before })
  target.dispatchEvent(new Event('ping'))
  near(admit([]).utilization, 0.6)
  host.run()
  near(admit([]).utilization, 0)
})

ends('a handler with `once` frees its capacity after its event', () => {
  const { host, scheduler, admit } = world(edf)
  const target = new EventTarget()
  interrupt(target, 'ping', () => execute(host, 5), { ...most(scheduler), once: true })
  target.dispatchEvent(new Event('ping'))
  near(admit([]).utilization, 0.6)
  host.run()
  near(admit([]).utilization, 0)
})

ends('a handler with `once` keeps its capacity while its event is held back', () => {
  const { host, scheduler, admit } = world(edf)
  const target = new EventTarget()
  const handling = interrupt(target, 'ping', () => execute(host, 5), { ...most(scheduler), once: true })
  handling.noInterrupts()
  target.dispatchEvent(new Event('ping'))
  near(admit([]).utilization, 0.6)
  handling.interrupts()
  near(admit([]).utilization, 0.6)
  host.run()
  near(admit([]).utilization, 0)
})

ends('a handler whose signal is aborted, or was aborted before, frees its capacity', () => {
  const { scheduler, admit } = world(edf)
  const controller = new AbortController()
  interrupt(new EventTarget(), 'ping', function* () {}, { ...most(scheduler), signal: controller.signal })
  near(admit([]).utilization, 0.6)
  controller.abort()
  near(admit([]).utilization, 0)
  interrupt(new EventTarget(), 'ping', function* () {}, { ...most(scheduler), signal: controller.signal })
  near(admit([]).utilization, 0)
})

ends('resize does not reserve the freed capacity of a loop again', () => {
  const { scheduler, reserve } = world(edf)
  const { reservation, cancel, job } = loop(function* () { yield }, most(scheduler))
  job.catch(() => {})
  cancel()
  reserve(100)
  reservation.resize({ capacity: 80 })
  assert.is(reservation.capacity, 80)
})

ends('a cancelled reservation can be resized, and stays without a share', () => {
  const { reserve } = world()
  const reservation = reserve(60)
  assert.is(reservation.cancel(), true)
  reserve(100)
  reservation.resize({ capacity: 80 })
  assert.equal([reservation.capacity, reservation.cancel()], [80, false])
})

ends('admit promises a cancelled reservation again, and resize is tested again', () => {
  const { reserve, admit } = world()
  const reservation = reserve(60)
  reservation.cancel()
  assert.is(admit(reservation).utilization, 0.6)
  reserve(10)
  refusal(() => reserve(50))
  refusal(() => reservation.resize({ capacity: 95 }))
  assert.is(reservation.cancel(), true)
})

ends('a capacity of 0 frees the share until the next resize', () => {
  const { reserve, admit } = world()
  const reservation = reserve(60)
  reservation.resize({ capacity: 0 })
  assert.is(admit([]).utilization, 0)
  const other = reserve(90)
  refusal(() => reservation.resize({ capacity: 60 }))
  other.cancel()
  reservation.resize({ capacity: 60 })
  assert.is(admit([]).utilization, 0.6)
  assert.is(reservation.cancel(), true)
})

for (const policy of [edf, fp]) {
  ends(`the sums match the present requests after random changes (${policy.name})`, () => {
    return forSeeds(20, random => {
      const { reserve, io, admit } = world(policy)
      /** @type {any[]} */
      const all = []
      admit([])
      for (let step = 0; step < 600; step++) {
        const one = all.length > 0 ? random.pick(all) : null
        const act = random.integer(0, 5)
        try {
          if (act < 3 || one === null) {
            all.push(random.chance(0.2) ? io(random.real(0, 0.004)) : reserve(random.real(0, 0.3)))
          } else if (act < 5) one.cancel()
          else if (one instanceof Reservation) one.resize({ capacity: random.real(0, 0.3) })
        } catch (error) {
          assert.instance(error, AdmissionError)
        }
        if (step % 100 !== 99) continue
        const living = all.filter(one => one.cancel())
        const { utilization, demand } = admit(living)
        const sum = living.reduce((total, one) => total + one.utilization, 0)
        const wanted = policy === edf ? sum : living.reduce((total, one) =>
          total + one.utilization * (one instanceof IoReservation ? 2 - one.utilization : 1), 0)
        assert.ok(Math.abs(utilization - sum) < 1e-9, `${utilization} is not ${sum}`)
        assert.ok(Math.abs(demand - wanted) < 1e-9, `${demand} is not ${wanted}`)
      }
    })
  })

  ends(`a rejected set leaves the sums unchanged (${policy.name})`, () => {
    const { reserve, admit } = world(policy)
    const reservation = reserve(30)
    reserve(20)
    const sums = () => {
      const { utilization, demand, bound } = admit([])
      return [utilization, demand, bound]
    }
    const before = sums()
    refusal(() => reserve(90))
    refusal(() => reservation.resize({ capacity: 90 }))
    refusal(() => admit([reservation, { capacity: 50, period: 100 }, { capacity: 60, period: 100 }]))
    assert.equal(sums(), before)
  })
}

ends.run()

// --------------------------------------------------------------------------------------------- hostile input

const hostile = suite('hostile input of admit')

const throws = () => { throw new Error('user code was run') }

hostile('an invalid parameter throws an error that names it, and nothing changes', () => {
  const { scheduler, admit: admitHere } = world(edf)
  /** @type {[any, any, Function, string][]} */
  const wrong = [
    [null, {}, TypeError, 'set must be reservations or tasks, got null'],
    [undefined, {}, TypeError, 'set must be reservations or tasks, got undefined'],
    ['task', {}, TypeError, 'set must be reservations or tasks, got "task"'],
    [() => {}, {}, TypeError, 'set must be reservations or tasks, got function (anonymous)'],
    [[], null, TypeError, 'options must be an object, got null'],
    [[], { share: 0 }, RangeError, 'share must be a number > 0 and <= 1, got 0'],
    [[], { share: 1.1 }, RangeError, 'share must be a number > 0 and <= 1, got 1.1'],
    [[], { share: NaN }, RangeError, 'share must be a number > 0 and <= 1, got NaN'],
    [[], { share: '1' }, TypeError, 'share must be a number > 0 and <= 1, got "1"'],
    [[], { scheduler: {} }, TypeError, 'scheduler must be a Scheduler, got an object (Object)'],
    [[5], {}, TypeError, 'set[0] must be a reservation or a task, got 5'],
    [[{ wcet: 1, period: 2 }, null], {}, TypeError, 'set[1] must be a reservation or a task, got null'],
    [[{}], {}, TypeError, 'set[0].period must be a finite number > 0, got undefined'],
    [[{ wcet: 1, period: 0 }], {}, RangeError, 'set[0].period must be a finite number > 0, got 0'],
    [[{ wcet: 1, period: Infinity }], {}, RangeError,
      'set[0].period must be a finite number > 0, got Infinity'],
    [[{ period: 5 }], {}, TypeError, 'set[0].wcet must be a finite number >= 0, got undefined'],
    [[{ period: 5, wcet: Infinity }], {}, RangeError,
      'set[0].wcet must be a finite number >= 0, got Infinity'],
    [[{ period: 5, wcet: -1 }], {}, RangeError, 'set[0].wcet must be a finite number >= 0, got -1'],
    [[{ period: 5, wcet: 1, deadline: 0 }], {}, RangeError,
      'set[0].deadline must be a number > 0, got 0'],
    [[{ period: 5, wcet: 1, deadline: '5' }], {}, TypeError,
      'set[0].deadline must be a number > 0, got "5"'],
    [[{ period: 5, wcet: 1, priority: NaN }], {}, RangeError, 'set[0].priority must be a finite number, got NaN'],
    [[{ period: 5, capacity: 6 }], {}, RangeError, 'capacity must not exceed the period of 5 ms, got 6'],
    [[{ period: 5, capacity: -1 }], {}, RangeError, 'capacity must be a finite number >= 0, got -1'],
    [[{ period: 5, capacity: 1, priority: '1' }], {}, TypeError, 'priority must be a finite number, got "1"'],
    [[{ period: 5, capacity: 1, kind: 'deferable' }], {}, TypeError,
      "set[0].kind must be 'sporadic' or 'deferrable' or 'polling' or 'constant-bandwidth', got \"deferable\""],
    [[{ period: 5, wcet: 1, sections: 0 }], {}, TypeError, 'set[0].sections must be an array of sections, got 0'],
    [[{ period: 5, wcet: 1, uses: 'bus' }], {}, TypeError, 'set[0].uses must be an array of Resources, got "bus"'],
    [[{ period: 5, wcet: 1, sections: [{ wcet: 2 }] }], {}, RangeError,
      'set[0].sections[0].wcet must be at most that of its task, 1, got 2'],
    [[{ utilization: 1.1 }], {}, RangeError, 'set[0].utilization must be a number from 0 to 1, got 1.1'],
    [[{ utilization: '0.1' }], {}, TypeError, 'set[0].utilization must be a number from 0 to 1, got "0.1"'],
    [[{ get wcet() { return throws() }, period: 5 }], {}, Error, 'user code was run'],
    [[{ get scheduler() { return throws() } }], {}, Error, 'user code was run'],
    [{ [Symbol.iterator]: throws }, {}, Error, 'user code was run'],
    [[], { get share() { return throws() } }, Error, 'user code was run']
  ]
  for (const [set, options, type, message] of wrong) {
    const isHostile = options !== null && Object.getOwnPropertyDescriptor(options, 'share')?.get !== undefined
    const given = options === null || isHostile ? options : { scheduler, ...options }
    assert.throws(() => admit(set, given), error => error.constructor === type && error.message === message,
      `this was due: ${message}`)
  }
  // No time is promised, and there is no guarantee, which would change the test under fp.
  near(admitHere([]).utilization, 0)
})

hostile('a Task is admitted although its iterator is endless', () => {
  // An endless iterable never returns, as with Array.from. A Task is not an iterable.
  const { admit } = world(edf)
  const task = new Task(function* () {}, { wcet: 1, period: 10 })
  near(admit(task).utilization, 0.1)
})

hostile('a name whose conversion throws does not change the sums', () => {
  const { admit } = world(edf)
  const name = { toString: throws }
  assert.throws(() => admit([{ name, wcet: 6, period: 5 }]), error => error instanceof Error)
  near(admit([]).utilization, 0)
})

hostile.run()
