import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, edf, fp, rm } from '../../../rt.mjs'
import { schedulable } from '../../../addons/schedulable.mjs'
import { Resource, nonPreemptive } from '../../../sync.mjs'
import { ideal, jobsOf } from '../../support/oracle.mjs'
import { forSeeds, utilizations } from '../../support/seeded.mjs'
import { execute, virtualHost } from '../../support/virtual-host.mjs'

// Deadline monotonic (Leung, Whitehead 1982): a custom policy with the compare function of fp.
const dm = { ...fp, name: 'dm', priority: task => -task.deadline }

const task = (wcet, period, more) => ({ wcet, period, ...more })
const isSchedulable = (tasks, options) => schedulable(tasks, options).schedulable

const textbook = suite('schedulable: textbook examples')

textbook('the counterexample to full utilization under rate monotonic (Liu, Layland 1973)', () => {
  const tasks = [task(2, 5), task(4, 7)]
  assert.equal(schedulable(tasks, { policy: rm }), {
    schedulable: false, exact: true, utilization: 2 / 5 + 4 / 7, response: [2, 8], failed: tasks[1]
  })
  const { utilization } = schedulable(tasks, { policy: rm })
  assert.equal(schedulable(tasks), { schedulable: true, exact: true, utilization, failed: null })
})

textbook('harmonic periods use the whole processor, above the bound of Liu and Layland', () => {
  const { response, utilization } = schedulable([task(1, 2), task(1, 4), task(2, 8)], { policy: rm })
  assert.equal([response, utilization], [[1, 2, 8], 1])
})

for (const [name, tasks, policy, response] of [
  ['above the bound', [task(40, 80), task(10, 40), task(5, 20)], rm, [80, 15, 5]],
  ['by response times', [task(3, 7), task(3, 12), task(5, 20)], rm, [3, 6, 20]],
  ['deadline monotonic', [
    task(3, 20, { deadline: 5 }), task(3, 15, { deadline: 7 }), task(4, 10, { deadline: 10 }), task(3, 20)
  ], dm, [3, 6, 10, 20]]
]) {
  textbook(`the table of Burns and Wellings, ${name}`, () => {
    assert.equal(schedulable(tasks, { policy }).response, response)
    assert.is(isSchedulable(tasks, { policy }), true)
  })
}

textbook('with a deadline beyond the period, a later job can be the latest (Lehoczky)', () => {
  // The responses of the second task: 114, 102, 116, 104, 118, 106, 94.
  const tasks = deadline => [task(26, 70), task(62, 100, { deadline })]
  assert.equal(schedulable(tasks(118), { policy: rm }).response, [26, 118])
  assert.equal([118, 117].map(deadline => isSchedulable(tasks(deadline), { policy: rm })), [true, false])
  assert.equal([118, 117].map(deadline => schedulable(tasks(deadline), { policy: rm }).exact), [true, true])
})

textbook('the processor demand (Baruah, Rosier, Howell 1990; the example of Buttazzo)', () => {
  const tasks = last => {
    return [task(2, 6, { deadline: 4 }), task(2, 8, { deadline: 5 }), task(3, 9, { deadline: last })]
  }
  // The demand by the last deadline is 7 ms.
  assert.equal([7, 6.9].map(deadline => isSchedulable(tasks(deadline))), [true, false])
})

textbook('edf uses the whole processor with early deadlines, but not with one too early', () => {
  const tasks = (deadline, period) => [task(1, 2, { deadline: 1 }), task(1, period, { deadline })]
  assert.is(isSchedulable(tasks(2, 2)), true)
  assert.is(isSchedulable(tasks(4, 2)), true)
  assert.is(isSchedulable(tasks(1.5, 4)), false)
  const early = [task(2, 4), task(2, 4, { deadline: 2, name: 'early' }), task(1, 9, { deadline: 1 })]
  assert.equal([early.slice(0, 2), early].map(set => isSchedulable(set)), [true, false])
})

textbook('the longest section of a less urgent task blocks, if its ceiling is high enough', () => {
  const resource = new Resource()
  const tasks = [
    task(2, 10, { priority: 3, uses: [resource], sections: [{ resource, wcet: 1 }] }),
    task(3, 20, { priority: 2 }),
    task(6, 40, { priority: 1, sections: [{ resource, wcet: 4 }, { resource: 'another', wcet: 5 }] })
  ]
  // 2 + 4; 3 + 2 + 4, because the ceiling is above this task too; 6 + 2 * 2 + 3
  assert.equal(schedulable(tasks, { policy: fp }).response, [6, 9, 13])
  assert.is(schedulable(tasks, { policy: fp }).exact, false)
  assert.equal(schedulable(tasks.map(({ sections, ...rest }) => rest), { policy: fp }).response, [2, 5, 13])
})

textbook('under edf, a task blocks before its own deadline', () => {
  const tasks = wcet => [task(2, 8, { deadline: 4 }), task(6, 16, { sections: [{ wcet }] })]
  assert.equal([2, 2.01].map(wcet => isSchedulable(tasks(wcet))), [true, false])
})

textbook('under edf, neither sections of less urgent tasks alone nor of urgent tasks block', () => {
  const bus = wcet => [{ resource: 'bus', wcet }]
  const below = [task(4, 60, { deadline: 4 }), task(1, 60, { deadline: 11, sections: bus(1) })]
  assert.is(isSchedulable([...below, task(6, 60, { sections: bus(6) })]), true)
  assert.is(isSchedulable([...below, task(6.01, 60, { sections: bus(6.01) })]), false)
  const middle = task(5, 8, { deadline: 6, sections: [{ wcet: 1 }] })
  assert.is(isSchedulable([task(1, 8, { deadline: 2 }), middle, task(2, 8)]), true)
})

textbook.run()

const answers = suite('schedulable: results')

answers('an empty set is schedulable', () => {
  assert.equal(schedulable([]), { schedulable: true, exact: true, utilization: 0, failed: null })
  assert.equal(schedulable([], { policy: rm }).response, [])
})

answers('schedulable accepts Tasks, whose deadline defaults to the period', () => {
  const run = function* () {}
  const resource = new Resource()
  const tasks = [
    new Task(run, { wcet: 2, period: 10, deadline: 6, uses: [resource], sections: [{ resource, wcet: 1 }] }),
    new Task(run, { wcet: 4, period: 10, uses: [resource], sections: [{ resource, wcet: 3 }] })
  ]
  assert.equal(schedulable(tasks, { policy: dm }).response, [5, 6])
  assert.is(isSchedulable(tasks), true)
  tasks[1].wcet = 8.5
  assert.is(isSchedulable(tasks), false)
})

answers('a resource without a section is held for the whole job', () => {
  const tasks = [task(1, 10, { priority: 2, uses: ['bus'] }), task(5, 50, { priority: 1, uses: ['bus'] })]
  assert.equal(schedulable(tasks, { policy: fp }).response, [6, 6])
})

answers('an explicit ceiling raises the level of a resource', () => {
  const resource = new Resource({ ceiling: 2 })
  const low = task(5, 50, { priority: 1, sections: [{ resource, wcet: 5 }] })
  const tasks = [task(1, 10, { priority: 3 }), task(1, 20, { priority: 2 }), low]
  assert.equal(schedulable(tasks, { policy: fp }).response, [1, 7, 7])
})

answers('a utilization above 1 is rejected exactly', () => {
  const tasks = [task(3, 4, { phase: 1 }), task(2, 7, { deadline: 100, sections: [{ wcet: 1 }] })]
  for (const policy of [edf, fp, rm]) {
    const { schedulable: fits, exact, failed } = schedulable(tasks, { policy })
    assert.equal([fits, exact], [false, true])
    assert.is(failed, policy === edf ? null : tasks[policy === rm ? 1 : 0])
  }
})

answers('different phases make the test inexact', () => {
  const tasks = second => [task(1, 2, { phase: 3 }), task(1, 2, { deadline: 1, phase: second })]
  assert.equal([3, 4].map(second => schedulable(tasks(second)).exact), [true, false])
  // The jobs of these tasks never meet.
  assert.is(isSchedulable([task(1, 2, { deadline: 1 }), task(1, 2, { deadline: 1, phase: 1 })]), false)
})

answers('tasks of equal priority delay each other; exact for equal deadlines', () => {
  const tasks = deadline => [task(2, 10, { deadline }), task(3, 10)]
  assert.equal(schedulable(tasks(10), { policy: fp }).response, [5, 5])
  assert.equal([10, 4].map(deadline => schedulable(tasks(deadline), { policy: fp }).exact), [true, false])
  const late = [task(2, 4, { deadline: 8 }), task(3, 10, { deadline: 8 })]
  assert.is(schedulable(late, { policy: fp }).exact, false)
})

answers('sections of the most urgent task block no other task', () => {
  const sections = [{ resource: 'bus', wcet: 1 }, { wcet: 1 }]
  const tasks = [task(2, 4, { sections }), task(2, 8, { uses: [], sections: [{ resource: 'own', wcet: 1 }] })]
  for (const policy of [edf, rm]) assert.is(schedulable(tasks, { policy }).exact, true)
})

answers('a job with a wcet of 0 waits until no more urgent job is left', () => {
  const tasks = [task(1, 2, { priority: 3 }), task(1, 4, { priority: 2 }), task(0, 4, { priority: 1 })]
  assert.equal(schedulable(tasks, { policy: fp }).response, [1, 2, 3])
  assert.is(schedulable([...tasks, task(1, 4, { priority: 2 })], { policy: fp }).response[2], Infinity)
})

answers('`failed` is the first task that fails, by priority or by deadline', () => {
  const tasks = [task(1, 20), task(3, 5), task(5, 10, { name: 'second' })]
  assert.is(schedulable(tasks, { policy: rm }).failed.name, 'second')
  const early = [task(1, 20), task(2, 10, { deadline: 2 }), task(2, 10, { deadline: 3, name: 'demand' })]
  assert.is(schedulable(early).failed.name, 'demand')
})

answers('sums with rounding errors are tested exactly', () => {
  const tenths = [task(0.1, 0.3), task(0.1, 0.3), task(0.1, 0.3)]
  for (const policy of [edf, rm]) assert.is(isSchedulable(tenths, { policy }), true)
  const steps = [task(0.1, 0.2), task(0.1, 0.4), task(0.2, 0.8)]
  assert.is(isSchedulable(steps, { policy: rm }), true)
  assert.is(isSchedulable([...steps, task(1e-6, 0.8)], { policy: rm }), false)
  assert.is(isSchedulable([...steps, task(1e-6, 0.8)]), false)
})

answers('periods without a common multiple, and thousands of tasks, are tested', () => {
  const primes = [1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061]
  const whole = part => primes.map(period => task(period / 10, period, { deadline: period * part }))
  assert.equal([1, 0.9].map(part => isSchedulable(whole(part))), [true, false])
  // The last response takes a product of primes, but the first deadline is missed long before.
  const { response, ...verdict } = schedulable(whole(1), { policy: rm })
  assert.equal([verdict.schedulable, verdict.exact, response[9]], [false, true, Infinity])
  // This set is undecided: the answer is no, and is not claimed to be exact.
  const undecided = whole(1).map((one, index) => index === 0 ? { ...one, deadline: 1008 } : one)
  const { schedulable: fits, exact } = schedulable(undecided)
  assert.equal([fits, exact], [false, false])

  const many = Array.from({ length: 2000 }, (_, n) => task((n + 10) / 2500, n + 10, { deadline: n + 9.9 }))
  assert.is(isSchedulable(many), true)
  assert.is(schedulable(many, { policy: rm }).response.length, 2000)
})

answers('tasks of very different scales are tested', () => {
  const tasks = [task(1e-9, 1.1e-9), task(1, 100, { deadline: 50 })]
  for (const policy of [edf, rm]) assert.is(isSchedulable(tasks, { policy }), true)
  const heavy = [task(1e-9, 1.1e-9), task(6, 100, { deadline: 50 })]
  for (const policy of [edf, rm]) assert.is(isSchedulable(heavy, { policy }), false)
})

const section = more => task(2, 10, { sections: [more] })
for (const [given, type, message] of [
  [['x'], TypeError, 'tasks must be an array of Tasks, got "x"'],
  [[[null]], TypeError, 'tasks[0] must be an object, got null'],
  [[Array(1)], TypeError, 'tasks[0] must be an object, got undefined'],
  [[[task(1, 2), {}]], TypeError, 'tasks[1].wcet must be a finite number >= 0, got undefined'],
  [[[task(NaN, 2)]], RangeError, 'tasks[0].wcet must be a finite number >= 0, got NaN'],
  [[[task(-1, 2)]], RangeError, 'tasks[0].wcet must be a finite number >= 0, got -1'],
  [[[new Task(() => {}, { period: 3 })]], RangeError, 'tasks[0].wcet must be a finite number >= 0, got Infinity'],
  [[[task(1)]], TypeError, 'tasks[0].period must be a finite number > 0, got undefined'],
  [[[task(1, 0)]], RangeError, 'tasks[0].period must be a finite number > 0, got 0'],
  [[[new Task(() => {}, { wcet: 3 })]], RangeError, 'tasks[0].period must be a finite number > 0, got Infinity'],
  [[[task(1, 2, { deadline: 0 })]], RangeError, 'tasks[0].deadline must be a number > 0, got 0'],
  [[[task(1, 2, { deadline: '2' })]], TypeError, 'tasks[0].deadline must be a number > 0, got "2"'],
  [[[task(1, 2, { priority: NaN })]], RangeError, 'tasks[0].priority must be a finite number, got NaN'],
  [[[task(1, 2, { phase: Infinity })]], RangeError, 'tasks[0].phase must be a finite number, got Infinity'],
  [[[task(1, 2, { uses: 'bus' })]], TypeError, 'tasks[0].uses must be an array of Resources, got "bus"'],
  [[[task(1, 2, { sections: {} })]], TypeError,
    'tasks[0].sections must be an array of sections, got an object (Object)'],
  [[[section(null)]], TypeError, 'tasks[0].sections[0] must be an object, got null'],
  [[[section({ wcet: 1, resorce: 'bus' })]], TypeError,
    "unknown option 'tasks[0].sections[0].resorce'; known are resource, wcet"],
  [[[section({})]], TypeError, 'tasks[0].sections[0].wcet must be a number >= 0, got undefined'],
  [[[section({ wcet: 3 })]], RangeError,
    'tasks[0].sections[0].wcet must be at most that of its task, 2, got 3'],
  [[[], { policy: 'rm' }], TypeError, 'policy must be the object that rt.mjs exports as rm, got "rm"'],
  [[[], { policy: { name: 'fcfs', compare() {}, level() {} } }], TypeError,
    'policy must be edf, fp, rm, or one that compares as these do, got an object (Object)'],
  [[[task(1, 2)], { policy: { ...fp, priority: () => NaN } }], RangeError,
    'policy.priority() must be a finite number, got NaN'],
  [[[], null], TypeError, 'options must be an object, got null'],
  [[[], { polciy: fp }], TypeError, "unknown option 'polciy'; known are policy"]
]) {
  answers(`schedulable rejects: ${message}`, () => {
    try {
      schedulable(...given)
    } catch (error) {
      assert.instance(error, type)
      assert.is(error.message, message)
      return
    }
    assert.unreachable('nothing was thrown')
  })
}

answers('a Task rejects sections that are not an array', () => {
  assert.throws(() => new Task(() => {}, { sections: 7 }), /sections must be an array, got 7/)
})

answers.run()

const agreement = suite('schedulable agrees with schedules')

const read = path => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))

agreement('schedulable agrees with the 250 task sets of the RT.js evaluation', () => {
  let loaded = 0
  const sets = read('../../../examples/task-sets/tasksets.json')
  for (const { id, tasks, utilization, ideal: { edf: deadline, fp: rate } } of sets) {
    const set = tasks.map(([wcet, period]) => task(wcet, period))
    const earliest = schedulable(set)
    const monotonic = schedulable(set, { policy: rm })
    if (utilization > 1) {
      assert.equal([earliest.schedulable, monotonic.schedulable], [false, false], `set ${id}`)
      continue
    }
    loaded++
    assert.is(earliest.schedulable, deadline.misses === 0, `set ${id} under edf`)
    assert.is(monotonic.schedulable, rate.misses === 0, `set ${id} under rm`)
    assert.equal([earliest.exact, monotonic.exact], [true, true], `set ${id}`)
  }
  assert.is(loaded, 245)
})

const common = periods => periods.reduce((multiple, period) => {
  let [a, b] = [multiple, period]
  while (b > 0) [a, b] = [b, a % b]
  return multiple / a * period
}, 1)

/**
 * Random tasks with integer times, periods that divide 60 and different priorities, often with a full
 * utilization.
 */
function randomTasks(random, { isConstrained }) {
  const count = random.integer(1, 5)
  const priorities = random.shuffle([0, 1, 2, 3, 4])
  const total = random.chance(0.3) ? 1 : random.real(0.5, 1.1)
  return utilizations(random, count, total).map((utilization, index) => {
    const period = random.pick([2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60])
    const wcet = random.chance(0.1) ? 0 : Math.min(period, Math.round(utilization * period))
    const deadline = isConstrained ? random.integer(Math.max(1, wcet), period) : random.integer(1, 3 * period)
    return task(wcet, period, { deadline, priority: priorities[index] })
  })
}

/** Compares the result with all jobs of a hyperperiod, scheduled by the oracle. */
function assertAgreement(tasks) {
  const until = common(tasks.map(({ period }) => period))
  const used = tasks.reduce((sum, { wcet, period }) => sum + wcet * (until / period), 0)
  const jobs = jobsOf(tasks, until).map(job => ({ ...job, priority: tasks[job.task].priority }))
  for (const policy of [edf, fp]) {
    const found = schedulable(tasks, { policy })
    const note = `${policy.name} ${JSON.stringify(tasks)} ${JSON.stringify(found)}`
    assert.is(found.exact, true, note)
    if (used > until) {
      assert.is(found.schedulable, false, note)
      continue
    }
    const { finish } = ideal(jobs, policy.name)
    const response = tasks.map(() => 0)
    jobs.forEach(({ task, release }, index) => {
      response[task] = Math.max(response[task], finish[index] - release)
    })
    // A task with a wcet of 0 never runs if more urgent tasks never rest, but the oracle ends with the
    // hyperperiod.
    const starves = index => policy === fp && tasks[index].wcet === 0 && found.response[index] === Infinity
    const isMet = tasks.every(({ deadline }, index) => !starves(index) && response[index] <= deadline)
    assert.is(found.schedulable, isMet, note)
    if (policy === edf) continue
    assert.equal(found.response, response.map((time, index) => starves(index) ? Infinity : time), note)
  }
}

agreement('random sets with deadlines up to the period agree in verdict and response times', () => {
  return forSeeds(8000, random => assertAgreement(randomTasks(random, { isConstrained: true })))
})

agreement('random sets with deadlines of any length agree', () => {
  return forSeeds(4000, random => assertAgreement(randomTasks(random, { isConstrained: false })))
})

agreement('random sets scaled to fractions keep their verdict', () => forSeeds(1000, random => {
  const tasks = randomTasks(random, { isConstrained: random.chance(0.5) })
  const scale = random.pick([0.1, 0.7, 1 / 3, 1e-4, 12345.678])
  const scaled = tasks.map(({ wcet, period, deadline, priority }) => {
    return task(wcet * scale, period * scale, { deadline: deadline * scale, priority })
  })
  for (const policy of [edf, fp]) {
    const note = `${policy.name} ${scale} ${JSON.stringify(tasks)}`
    assert.is(isSchedulable(scaled, { policy }), isSchedulable(tasks, { policy }), note)
  }
}))

/** Tasks whose jobs work, hold a random resource or run non-preemptively, and work again. */
function sectioned(random, policy) {
  const resources = Array.from({ length: random.integer(1, 3) }, () => new Resource())
  return utilizations(random, random.integer(2, 5), random.real(0.4, 0.95)).map(utilization => {
    const period = random.pick([6, 10, 12, 15, 20, 30, 60])
    const wcet = Math.max(1, Math.round(utilization * period))
    // A section must not end with its job: the end of a section is a preemption point, where another job
    // could run.
    const length = random.integer(0, Math.min(wcet - 1, 5))
    const resource = random.chance(0.3) ? undefined : random.pick(resources)
    return {
      wcet,
      period,
      deadline: random.integer(Math.ceil((wcet + period) / 2), period),
      priority: policy === rm ? 0 : random.integer(1, 4),
      phase: random.chance(0.5) ? 0 : random.integer(0, 20),
      uses: resource === undefined ? [] : [resource],
      sections: length === 0 ? [] : [{ resource, wcet: length }],
      before: random.integer(0, Math.max(0, wcet - length - 1)),
      resource
    }
  })
}

/** The misses of the jobs of each task within 240 ms. */
function missesOf(random, tasks, policy) {
  const host = virtualHost()
  const scheduler = new Scheduler({
    host, policy, budget: 1, slice: random.pick([1, 2, Infinity]), round: random.pick([1, 5, Infinity])
  })
  for (const { wcet, period, deadline, priority, phase, uses, sections, before, resource } of tasks) {
    const length = sections.length > 0 ? sections[0].wcet : 0
    const job = new Task(function* () {
      yield* execute(host, before)
      if (length > 0) {
        if (before > 0) yield
        const inside = () => execute(host, length)
        yield resource === undefined ? nonPreemptive(inside) : resource.use(inside)
      }
      const after = wcet - before - length
      if (after > 0 && before + length > 0) yield
      yield* execute(host, after)
    }, { period, deadline, priority, wcet, uses, scheduler })
    for (let release = phase; release < 240; release += period) scheduler.spawn(job, { release })
  }
  host.run()
  assert.equal(host.errors, [])
  return scheduler.stats().misses
}

agreement('accepted sets with sections, phases and equal priorities miss no deadline', () => {
  let accepted = 0
  return forSeeds(600, random => {
    const policy = random.pick([edf, fp, rm])
    const tasks = sectioned(random, policy)
    if (!isSchedulable(tasks, { policy })) return
    accepted++
    const misses = missesOf(random, tasks, policy)
    assert.is(misses, 0, `${policy.name} ${JSON.stringify(tasks)}`)
  }).then(() => assert.ok(process.env.SEED || accepted > 100, `${accepted} accepted`))
})

agreement.run()
