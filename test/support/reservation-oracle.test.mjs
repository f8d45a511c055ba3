/** Tests the oracle of reservations with tables computed by hand, and its checks with wrong schedules. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  IsolationError, assertBounded, assertSupplied, isAdmitted, mostService, responsesOf, simulate, timetable
} from './reservation-oracle.mjs'
import { amplified, premature, randomScenario, victimized } from './reservation-scenario.mjs'
import { forSeeds } from './seeded.mjs'

const isBroken = error => error instanceof IsolationError

/** Asserts equal timetables. The expected timetable can have several lines. */
function assertTimetable(scenario, expected, options) {
  const { ticks } = simulate(scenario)
  assert.is(timetable(ticks, options), expected.trim().replace(/\s+/g, ' '))
  return ticks
}

/** Jobs of a periodic task that need no more time than their reservation has. */
const periodic = (name, work, period, until, more = {}) => {
  return Array.from({ length: Math.ceil(until / period) }, (_, n) => {
    return { name, release: n * period, work, ...more }
  })
}

const tables = suite('reservations by hand: the kinds')

/**
 * Two periodic tasks, t1 (1 of 4 ms) and t2 (2 of 6 ms), and a server S (2 of 5 ms) between them, by rate. S
 * gets requests at 2 (2 ms), 8 (1 ms), 12 (2 ms) and 19 (1 ms). This is the example of the polling server in
 * Buttazzo, Hard Real-Time Computing Systems, 5.2. Reservations rank above other jobs, so t1 is a reservation
 * too.
 */
const requests = kind => ({
  policy: 'fp',
  until: 24,
  reservations: [
    { name: 't1', kind: 'sporadic', capacity: 1, period: 4 },
    { name: 'S', kind, capacity: 2, period: 5, depleted: 'wait' }
  ],
  jobs: [
    ...periodic('t1', 1, 4, 24, { reservation: 't1' }),
    ...periodic('t2', 2, 6, 24),
    { name: 'r1', release: 2, work: 2, reservation: 'S' },
    { name: 'r2', release: 8, work: 1, reservation: 'S' },
    { name: 'r3', release: 12, work: 2, reservation: 'S' },
    { name: 'r4', release: 19, work: 1, reservation: 'S' }
  ]
})

tables('a polling server delays a late request to the next period', () => {
  // The poll at 0 finds no work, the polls at 5, 10, 15 and 20 find r1, r2, r3 and r4.
  assertTimetable(requests('polling'), `
    0-1 t1, 1-3 t2, 4-5 t1, 5-7 S, 7-8 t2, 8-9 t1, 9-10 t2, 10-11 S, 12-13 t1, 13-15 t2, 15-16 S, 16-17 t1,
    17-18 S, 18-20 t2, 20-21 t1, 21-22 S`)
})

tables('a deferrable server keeps its capacity for late requests', () => {
  assertTimetable(requests('deferrable'), `
    0-1 t1, 1-2 t2, 2-4 S, 4-5 t1, 5-8 t2, 8-9 t1, 9-10 S, 12-13 t1, 13-15 S, 15-16 t2, 16-17 t1, 17-19 t2,
    19-20 S, 20-21 t1, 21-22 t2`)
})

tables('a sporadic server is as quick, and its use returns a period after it began', () => {
  const scenario = requests('sporadic')
  assertTimetable(scenario, `
    0-1 t1, 1-2 t2, 2-4 S, 4-5 t1, 5-8 t2, 8-9 t1, 9-10 S, 12-13 t1, 13-15 S, 15-16 t2, 16-17 t1, 17-19 t2,
    19-20 S, 20-21 t1, 21-22 t2`)
  const { replenishments, depletions, refills } = simulate(scenario)
  // The rest at 12 would be used up when more is due, at 13. From then on the two amounts are one.
  assert.equal(replenishments.S, [7, 17, 24])
  assert.equal(depletions.S, [4, 15])
  assert.equal(refills.S, [{ time: 20, amount: 1 }, { time: 24, amount: 1 }])
})

const asks = (kind, more) => ({
  policy: 'fp',
  until: 16,
  reservations: [{ name: 'S', kind, capacity: 2, period: 5, depleted: 'wait', ...more }],
  jobs: [{ name: 'r', release: 3, work: 20, reservation: 'S' }]
})

tables('a deferrable server can run twice in a row, a sporadic server cannot', () => {
  assertTimetable(asks('deferrable'), '3-7 S, 10-12 S, 15-16 S')
  assertTimetable(asks('sporadic'), '3-5 S, 8-10 S, 13-15 S')
  assertTimetable(asks('polling'), '5-7 S, 10-12 S, 15-16 S')
})

tables('a delayed sporadic server counts from when it could run, not from when it ran', () => {
  // S (2 of 10) wakes at 0 and runs from 3. From 10 on no other reservation delays it.
  assertTimetable({
    policy: 'fp',
    until: 32,
    reservations: [
      { name: 'H', kind: 'sporadic', capacity: 3, period: 50, priority: 2 },
      { name: 'S', kind: 'sporadic', capacity: 2, period: 10, priority: 1, depleted: 'wait' }
    ],
    jobs: [
      { name: 'h', release: 0, work: 3, reservation: 'H' },
      { name: 's', release: 0, work: 50, reservation: 'S' }
    ]
  }, '0-3 H, 3-5 S, 10-12 S, 20-22 S, 30-32 S')
})

tables('used pieces of a sporadic capacity return one period after each piece began', () => {
  // 1 ms is used at 0 and 2 ms at 4: due at 10 and 14. From 11 on S always has work: 1 ms (due at 21), and at
  // 14 2 ms (due at 24).
  const scenario = (...jobs) => ({
    policy: 'fp',
    until: 30,
    reservations: [{ name: 'S', kind: 'sporadic', capacity: 3, period: 10, depleted: 'wait' }],
    jobs: [...jobs, { name: 'late', release: 11, work: 20, reservation: 'S' }]
  })
  const one = { name: 'one', release: 0, work: 1, reservation: 'S' }
  const pieces = [
    scenario(one, { name: 'other', release: 4, work: 2, reservation: 'S' }),
    scenario({ ...one, work: 3, pauses: [{ after: 1, ms: 3 }] })
  ]
  for (const scenario of pieces) {
    assertTimetable(scenario, '0-1 S, 4-6 S, 11-12 S, 14-16 S, 21-22 S, 24-26 S')
    assert.equal(simulate(scenario).replenishments.S, [10, 14, 21, 24])
  }
})

tables('without room for another replenishment, it is merged with the next', () => {
  // There is room for only one refill: the rest of the first use is lost until the next replenishment.
  assertTimetable({
    policy: 'fp',
    until: 24,
    reservations: [{ name: 'S', kind: 'sporadic', capacity: 3, period: 10, depleted: 'wait', limit: 1 }],
    jobs: [
      { name: 'a', release: 0, work: 1, reservation: 'S' },
      { name: 'b', release: 4, work: 20, reservation: 'S' }
    ]
  }, '0-1 S, 10-13 S, 20-23 S')
})

/**
 * t (4 of 7 ms) and a constant-bandwidth server (3 of 8 ms) with requests at 3 (4 ms) and 13 (3 ms):
 * Buttazzo, 6.9. The deadline of S is 3 + 8 = 11. The capacity is used up at 7, and the deadline becomes 19.
 * At 13, 2 ms are left, and the deadline stays, because 2 < (19 - 13) * 3 / 8. The capacity is used up at 15:
 * 27. With `wait` the schedule is the same, because t has the processor until the deadline.
 */
const bandwidth = depleted => ({
  policy: 'edf',
  until: 28,
  reservations: [{ name: 'S', kind: 'constant-bandwidth', capacity: 3, period: 8, depleted }],
  jobs: [
    ...periodic('t', 4, 7, 28, { deadline: 7 }),
    { name: 'r1', release: 3, work: 4, reservation: 'S' },
    { name: 'r2', release: 13, work: 3, reservation: 'S' }
  ]
})

tables('a constant-bandwidth deadline is postponed or kept (Abeni, Buttazzo)', () => {
  const table = '0-4 t, 4-7 S, 7-11 t, 11-12 S, 13-15 S, 15-19 t, 19-20 S, 21-25 t'
  for (const depleted of ['postpone', 'wait']) {
    const ticks = assertTimetable(bandwidth(depleted), table)
    assert.equal([4, 11, 13, 19].map(now => ticks[now].deadline), [11, 19, 19, 27])
  }
  assert.equal(simulate(bandwidth('postpone')).depletions.S, [7, 15])
})

tables('a depleted constant-bandwidth server postpones, waits, or runs in the background', () => {
  const greedy = depleted => ({
    policy: 'edf',
    until: 12,
    reservations: [{ name: 'S', kind: 'constant-bandwidth', capacity: 2, period: 6, depleted }],
    jobs: [
      { name: 'greedy', release: 0, work: 20, reservation: 'S' },
      { name: 'late', release: 1, work: 2, deadline: 14 },
      { name: 'none', release: 1, work: 3 }
    ]
  })
  // S has the deadlines 6, 12, 18 (after the deadline of `late`) and 24, all before `none`, which has no
  // deadline.
  assertTimetable(greedy('postpone'), '0-4 S, 4-6 late, 6-12 S')
  assertTimetable(greedy('wait'), '0-2 S, 2-4 late, 4-6 none, 6-8 S, 8-9 none')
  assertTimetable(greedy('background'), '0-2 S, 2-4 late, 4-6 none, 6-8 S, 8-9 none, 9-12 S*')
})

tables('an overrun is taken from the next replenishment', () => {
  const scenario = kind => ({
    policy: 'fp',
    until: 50,
    reservations: [{ name: 'S', kind, capacity: 2, period: 10, depleted: 'wait' }],
    jobs: [{ name: 's', release: 0, work: 99, grain: 3, reservation: 'S' }]
  })
  // 3 ms are used at 0, so 1 ms is left at 10. 3 ms are used then, so no capacity is left at 20.
  for (const kind of ['deferrable', 'polling']) {
    assertTimetable(scenario(kind), '0-3 S, 10-13 S, 30-33 S, 40-43 S')
  }
  // The overrun counts as used when its amount was due, so the rest of 10 is available at 11.
  assertTimetable(scenario('sporadic'), '0-3 S, 11-14 S, 30-33 S, 41-44 S')
})

tables('jobs of equal rank rotate at the end of a slice, also in a reservation', () => {
  assertTimetable({
    policy: 'fp',
    until: 12,
    slice: 2,
    reservations: [{ name: 'S', kind: 'sporadic', capacity: 8, period: 12, depleted: 'wait' }],
    jobs: [
      { name: 'a', release: 0, work: 5, reservation: 'S' },
      { name: 'b', release: 0, work: 5, reservation: 'S' },
      { name: 'c', release: 0, work: 2 },
      { name: 'd', release: 0, work: 2, priority: -1 }
    ]
  }, '0-2 a, 2-4 b, 4-6 a, 6-8 b, 8-10 c, 10-12 d', { byJob: true })
})

tables.run()

const defects = suite('reservations by hand: the defects of POSIX (Stanovich et al. 2010)')

defects('premature replenishment: each part is due one period after its own time', () => {
  // Correct: 1 ms of time 5 is due at 15, and the 3 ms of time 10 are due at 20.
  const right = assertTimetable(premature('sporadic'), '0-3 S, 5-11 H, 11-16 S, 20-23 S, 25-26 S')
  assertBounded(premature('sporadic'), right)
  const wrong = assertTimetable(premature('posix'), '0-3 S, 5-11 H, 11-19 S, 25-29 S')
  assert.throws(() => assertBounded(premature('posix'), wrong), /ran 9 ms from 0 to 17, not 8/)
})

defects('budget amplification: the next amounts pay for an overrun', () => {
  // Correct: the 3 ms at 20 are the amounts due at 20, 24 and 28. The 3 ms at 32 are the amounts of 32, 40
  // and 44. The 3 ms at 48 are the amounts of 48, 52 and 60. The 3 ms at 64 are the amounts of 64, 68 and 72:
  // 12 ms of 60.
  const right = assertTimetable(amplified('sporadic'), `
    0-1 S, 4-5 S, 8-9 S, 12-13 S, 20-23 S, 32-35 S, 48-51 S, 64-67 S`)
  assertBounded(amplified('sporadic'), right)
  const wrong = assertTimetable(amplified('posix'), `
    0-1 S, 4-5 S, 8-9 S, 12-13 S, 20-23 S, 24-27 S, 28-31 S, 32-35 S, 40-43 S, 44-47 S, 48-51 S, 52-55 S,
    60-63 S, 64-67 S, 68-71 S, 72-75 S`)
  assert.throws(() => assertBounded(amplified('posix'), wrong), isBroken)
})

defects('unreliable temporal isolation: the background ranks after all jobs', () => {
  assertTimetable(victimized({ kind: 'posix', low: 5 }), '0-2 S, 2-10 S*, 10-12 S, 12-14 S*')
  assertTimetable(victimized({ kind: 'sporadic', depleted: 'background' }), `
    0-2 S, 2-6 victim, 6-10 S*, 10-12 S, 12-14 S*`)
  assertTimetable(victimized({ kind: 'sporadic', depleted: 'wait' }), '0-2 S, 2-6 victim, 10-12 S')
})

defects.run()

const checks = suite('properties of reservations')

checks('mostService bounds a periodic task, with and without jitter', () => {
  assert.equal([1, 2, 3, 5, 6, 12, 13].map(ms => mostService(2, 5, ms)), [1, 2, 2, 2, 3, 6, 6])
  // A capacity at the end of a period, and another at the start of the next.
  assert.equal([1, 3, 4, 5, 8, 9, 10].map(ms => mostService(2, 5, ms, 3)), [1, 3, 4, 4, 5, 6, 6])
})

checks('responsesOf counts a deferrable server twice', () => {
  const low = { name: 'L', kind: 'sporadic', capacity: 3, period: 12, priority: 1 }
  const high = kind => ({ name: 'H', kind, capacity: 2, period: 5, priority: 2 })
  assert.equal(responsesOf([low, high('sporadic')]), [5, 2])
  // 3 + 2 ceil((R + 3) / 5): 7, 7
  assert.equal(responsesOf([low, high('deferrable')]), [7, 2])
  assert.is(responsesOf([{ ...low, period: 6 }, high('deferrable')])[0], Infinity)
})

checks('edf admits the whole processor exactly', () => {
  const third = { name: 'A', kind: 'constant-bandwidth', capacity: 1, period: 3 }
  const sixth = { ...third, period: 6 }
  const half = { ...third, period: 2 }
  const whole = { policy: 'edf', reservations: [third, sixth, half], jobs: [], until: 1 }
  assert.is(isAdmitted(whole), true)
  assert.is(isAdmitted({ ...whole, reservations: [...whole.reservations, { ...third, period: 99 }] }), false)
})

const CONFLICTING = [
  ['sporadic, above its rate', { policy: 'fp', kind: 'sporadic', runs: [0, 1, 2, 6] }],
  ['deferrable, thrice in a row', { policy: 'fp', kind: 'deferrable', runs: [3, 4, 5, 6, 7] }],
  ['deferrable, more in a period of the clock', { policy: 'fp', kind: 'deferrable', runs: [1, 2, 3] }],
  ['polling, without work at the poll', { policy: 'fp', kind: 'polling', runs: [3], release: 2 }],
  ['constant bandwidth, above its rate', { policy: 'edf', kind: 'constant-bandwidth', runs: [0, 1, 2] }]
]
for (const [what, { policy, kind, runs, release = 0 }] of CONFLICTING) {
  checks(`assertBounded detects: ${what}`, () => {
    const reservation = { name: 'S', kind, capacity: 2, period: 5 }
    const jobs = [{ name: 's', release, work: 99, reservation: 'S' }]
    const tick = { job: 's', server: 'S', foreground: true, deadline: 5 }
    const ticks = Array.from({ length: 10 }, (_, now) => runs.includes(now) ? tick : null)
    const scenario = { policy, reservations: [reservation], jobs, until: 10 }
    assert.throws(() => assertBounded(scenario, ticks), isBroken)
  })
}

for (const [policy, kind] of [['fp', 'sporadic'], ['fp', 'deferrable'], ['fp', 'polling'],
  ['edf', 'constant-bandwidth']]) {
  checks(`assertSupplied detects starvation of ${kind} servers`, () => {
    const reservation = { name: 'S', kind, capacity: 2, period: 5, depleted: 'wait' }
    const jobs = [{ name: 's', release: 0, work: 99, reservation: 'S' }]
    const tick = { job: 's', server: 'S', foreground: true, deadline: 5 }
    const ticks = Array.from({ length: 10 }, (_, now) => [0, 1, 5].includes(now) ? tick : null)
    const scenario = { policy, reservations: [reservation], jobs, until: 10 }
    assert.throws(() => assertSupplied(scenario, ticks), isBroken)
  })
}

checks('random scenarios are bounded and, if admitted, supplied', () => {
  return forSeeds(2000, random => {
    const scenario = randomScenario(random, { isAdmitted: random.chance(0.7) })
    const { ticks } = simulate(scenario)
    assertBounded(scenario, ticks)
    if (isEntitled(scenario)) assertSupplied(scenario, ticks)
  })
})

checks('with few preemption points, the bound is exceeded by at most a budget', () => forSeeds(500, random => {
  const scenario = randomScenario(random, { hasOverruns: true })
  assertBounded(scenario, simulate(scenario).ticks)
}))

/** Under edf, the deadline of a job without a reservation is a demand that was not admitted. */
function isEntitled(scenario) {
  return isAdmitted(scenario) && (scenario.policy === 'fp' ||
    scenario.jobs.every(({ reservation, deadline }) => reservation !== undefined || deadline === Infinity))
}

checks('random scenarios of POSIX servers violate the bound', () => {
  let broken = 0
  return forSeeds(200, random => {
    const scenario = randomScenario(random, { policy: 'fp', kinds: ['posix'], depleted: ['wait'] })
    try {
      assertBounded(scenario, simulate(scenario).ticks)
    } catch (error) {
      assert.instance(error, IsolationError)
      broken++
    }
  }).then(() => assert.ok(process.env.SEED || broken > 0))
})

checks.run()
