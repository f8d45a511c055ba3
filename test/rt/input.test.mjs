import { getEventListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Job, Scheduler, Task, edf, fp, rm, extend } from '../../rt.mjs'
import {
  BOOLEAN, FINITE, FUNCTION, MISS, NOT_NEGATIVE, NULL, OBJECT, POINTS, POSITIVE, RESERVATION, SCHEDULER,
  SIGNAL, STRING, UNDEFINED, UNREADABLE, USES, VALUES, assertRefusal, errorOf, isFunction, isNumber, isObject, none,
  throws, assertKind as assertKindOn
} from '../support/refusals.mjs'
import { virtualHost } from '../support/virtual-host.mjs'
import { abortListeners, hookOf, world as plainWorld } from '../support/world.mjs'

// The requirement in words, the accepted values of the list, and whether other numbers are out of range.
const WORK = { wants: "a Task, a generator, a function or [object, 'method']", takes: isFunction }

// --- the state that must be unchanged after a rejected call

const generate = function* () {}

/** A scheduler with an outstanding post, and everything in which a rejected call could leave traces. */
function world() {
  const { host, scheduler } = plainWorld({ budget: 'auto' })
  const ready = scheduler.spawn(generate, { name: 'ready', deadline: 7, priority: 2 })
  scheduler.spawn(generate, { name: 'pending', release: 50 })
  const { signal } = new AbortController()
  const attached = []
  const attach = job => { attached.push(job) }
  const detach = job => { attached.splice(attached.indexOf(job), 1) }
  const { group } = hookOf(scheduler, { detach })
  const groupFor = job => {
    attach(job)
    return group
  }
  const partner = { [extend.protocol]: { attach, detach, groupFor } }
  const records = []
  scheduler.observe(record => records.push(record.type))
  const parameters = ({ deadline, absoluteDeadline, priority, state }) => {
    return { deadline, absoluteDeadline, priority, state }
  }
  const traces = () => ({
    stats: scheduler.stats(),
    records: [...records],
    posts: host.posts,
    timers: host.timers,
    listeners: ['abort', 'prioritychange'].map(type => getEventListeners(signal, type).length),
    attached: attached.length,
    ready: parameters(ready)
  })
  return { host, scheduler, ready, signal, partner, attached, traces }
}

/** @type {(name: string, kind: any, act: (here: any, value: any) => void, options?: any) => void} */
const assertKind = (name, kind, act, { create = world, values } = {}) => assertKindOn(name, kind, act, { create, values })

// Valid values for all other options, so that a registration before the check shows.
const jobOptions = ({ signal, partner }) => ({
  name: 'good', deadline: 10, priority: 1, wcet: 3, budget: 4, period: 20, release: 30, miss: 'abort', signal,
  reservation: partner, uses: [partner, partner]
})
const taskOptions = ({ scheduler, partner }) => ({
  name: 'good', deadline: 10, priority: 1, wcet: 3, budget: 4, period: 20, miss: 'abort', scheduler,
  reservation: partner, uses: [partner, partner]
})

/** @param {Record<string, any>} parameters @param {(here: any, name: string, value: any) => void} act */
function assertUnreadable(parameters, act, create = world) {
  for (const [name, kind] of Object.entries(parameters)) {
    for (const [label, value] of UNREADABLE) {
      if (kind.takes(value)) continue
      const here = create()
      const before = here.traces()
      const error = errorOf(() => act(here, name, value))
      assert.instance(error, TypeError, `${name}, ${label}: ${error}`)
      assert.match(error.message, `${name} must be ${kind.wants}, got `, `${name}, ${label}`)
      assert.equal(here.traces(), before)
    }
  }
}

/** Defines the same tests for the options of every call. */
function options(tests, call, parameters, act, create) {
  for (const [name, kind] of Object.entries(parameters)) {
    tests(`${call}: ${name} must be ${kind.wants}`, () => {
      assertKind(name, kind, (here, value) => act(here, { [name]: value }), { create })
    })
  }
  tests(`${call}: null is rejected for every option`, () => {
    for (const [name, kind] of Object.entries(parameters)) {
      assertKind(name, kind, (here, value) => act(here, { [name]: value }), { create, values: [NULL] })
    }
  })
  tests(`${call}: an unknown option is rejected, whatever its value`, () => {
    for (const value of [5, undefined]) {
      const here = (create ?? world)()
      if (call === 'release of a changed task') return act(here, { dedline: value }) // an own property
      assertRefusal(here, () => act(here, { dedline: value }), TypeError,
        `unknown option 'dedline'; known are ${NAMES_OF[call]}`)
    }
    act((create ?? world)(), { [Symbol('mine')]: 5 })
  })
  tests(`${call}: a value that cannot be inspected is rejected like any other`, () => {
    assertUnreadable(parameters, (here, name, value) => act(here, { [name]: value }), create)
  })
}

const TASK_NAMES = 'name, deadline, priority, period, wcet, budget, miss, onMiss, onOverrun, reservation, uses, ' +
  'sections, scheduler'
const SCHEDULER_NAMES = 'policy, slice, round, budget, host, paused, onMiss, onOverrun, onStall, onError'
/**
 * The options that the error message about an unknown option lists.
 * @type {Record<string, string>}
 */
const NAMES_OF = {
  spawn: `${TASK_NAMES}, release, signal`,
  'new Task': TASK_NAMES,
  'new Derived': TASK_NAMES,
  'new Scheduler': SCHEDULER_NAMES,
  configure: SCHEDULER_NAMES,
  yield: 'priority, signal, deadline'
}

const allUndefined = parameters => Object.fromEntries(Object.keys(parameters).map(name => [name, undefined]))

// --- spawn

const JOB_OPTIONS = {
  name: STRING, deadline: POSITIVE, priority: FINITE, wcet: NOT_NEGATIVE, budget: POINTS, period: POSITIVE,
  release: FINITE, miss: MISS, onMiss: FUNCTION, onOverrun: FUNCTION, signal: SIGNAL,
  reservation: RESERVATION, uses: USES
}

const spawning = suite('spawn')

options(spawning, 'spawn', JOB_OPTIONS, (here, option) => {
  here.scheduler.spawn(generate, { ...jobOptions(here), ...option })
})

spawning('spawn: undefined selects the default of every option', () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(generate, allUndefined(JOB_OPTIONS))
  const { name, deadline, priority, period, release, absoluteDeadline, level, state } = job
  assert.equal({ name, deadline, priority, period, release, absoluteDeadline, level, state }, {
    name: 'generate', deadline: Infinity, priority: 0, period: Infinity, release: host.time,
    absoluteDeadline: Infinity, level: -Infinity, state: 'ready'
  })
})

spawning('spawn: work must be a Task, a generator, a function or a pair', () => {
  for (const values of [VALUES, [NULL], [UNDEFINED]]) {
    assertKind('work', WORK, (here, value) => here.scheduler.spawn(value, jobOptions(here)), { values })
    assertKind('work', WORK, (here, value) => here.scheduler.spawn(value), { values })
  }
})

spawning('spawn: unknown names on the prototype of options are ignored', () => {
  const { scheduler } = world()
  assert.is(scheduler.spawn(generate, Object.create({ mine: 1, deadline: 7 })).deadline, 7)
})

spawning('spawn: options.scheduler must be the scheduler that spawns', () => {
  const here = world()
  here.scheduler.spawn(generate, { scheduler: here.scheduler })
  assertRefusal(here, () => here.scheduler.spawn(generate, { scheduler: new Scheduler() }), TypeError,
    'scheduler must be the one that spawns')
})

spawning('spawn: a job is rejected as work', () => {
  const here = world()
  assertRefusal(here, () => here.scheduler.spawn(here.ready), TypeError,
    `work must be ${WORK.wants}, got an object (Job)`)
})

spawning('spawn: the error message shows only the beginning of a long string', () => {
  const here = world()
  assertRefusal(here, () => here.scheduler.spawn('x'.repeat(1e6)), TypeError,
    `work must be ${WORK.wants}, got "${'x'.repeat(100)}..."`)
})

spawning('spawn: async generators and their functions are rejected, alone or in a task', () => {
  const here = world()
  async function* stream() {}
  const message = 'work must be a generator function, not an async one, got '
  assertRefusal(here, () => here.scheduler.spawn(stream), TypeError, `${message}function stream`)
  const task = new Task(stream, { scheduler: here.scheduler })
  for (const [act, start] of [
    [() => task.release(), message],
    [() => here.scheduler.spawn(stream()), `work must be ${WORK.wants}, got `]
  ]) {
    const before = here.traces()
    const error = errorOf(act)
    assert.instance(error, TypeError)
    assert.ok(error.message.startsWith(start), error.message)
    assert.equal(here.traces(), before)
  }
})

const works = {
  'a function': () => generate,
  'a generator': () => generate(),
  'a task': ({ scheduler }) => new Task(generate, { scheduler })
}

for (const [kind, work] of Object.entries(works)) {
  spawning(`spawn: the options of ${kind} must be an object`, () => {
    assertKind('options', OBJECT, (here, value) => here.scheduler.spawn(work(here), value))
  })
}

spawning('spawn: null is rejected as options', () => {
  const here = world()
  const act = () => here.scheduler.spawn(generate, /** @type {any} */ (null))
  assertRefusal(here, act, TypeError, 'options must be an object, got null')
})

spawning('spawn: uses accepts only Resources, without holes', () => {
  const elements = [...VALUES, NULL, UNDEFINED].map(([shown, value]) => [shown, [value]])
  assertKind('uses', { ...USES, takes: none }, (here, value) => {
    const uses = [here.partner, ...value]
    if (!(0 in value)) delete uses[1]
    here.scheduler.spawn(generate, { ...jobOptions(here), uses })
  }, { values: [...elements, ['undefined', new Array(1)]] })
})

spawning('spawn: budget accepts a whole number of points or \'auto\'', () => {
  const { scheduler } = world()
  for (const budget of [1, 4096, 2 ** 53 - 1, 'auto']) scheduler.spawn(generate, { budget })
  assert.is(scheduler.stats().jobs, 6)
})

spawning('spawn: values at the edge of a range are accepted', () => {
  const { scheduler } = world()
  for (const deadline of [Number.MIN_VALUE, 1.5, Number.MAX_VALUE, Infinity]) {
    assert.is(scheduler.spawn(generate, { deadline }).deadline, deadline)
  }
  for (const priority of [-1, 1.5, -0, -Number.MAX_VALUE, Number.MAX_VALUE]) {
    assert.is(scheduler.spawn(generate, { priority }).priority, priority)
  }
  for (const release of [-1e9, -0, 0, 1e12]) {
    assert.is(scheduler.spawn(generate, { release }).release, release)
  }
  for (const wcet of [0, -0, Infinity]) assert.is(scheduler.spawn(generate, { wcet }).state, 'ready')
})

spawning('spawn: options need no prototype and are read once', () => {
  const here = world()
  const bare = Object.assign(Object.create(null), { name: 'bare', deadline: 9 })
  assert.is(here.scheduler.spawn(generate, bare).deadline, 9)
  const reads = []
  const get = (target, name) => {
    reads.push(name)
    return target[name]
  }
  assert.is(here.scheduler.spawn(generate, new Proxy(jobOptions(here), { get })).name, 'good')
  assert.equal(reads.filter((name, index) => reads.indexOf(name) < index), [])
  assert.equal(Object.keys(jobOptions(here)).filter(name => !reads.includes(name)), [])
})

spawning('spawn: an error of an options getter is thrown, and no job is registered', () => {
  for (const name of Object.keys(JOB_OPTIONS)) {
    const here = world()
    const given = Object.defineProperty(jobOptions(here), name, { get: throws })
    assertRefusal(here, () => here.scheduler.spawn(generate, given), Error, 'user code was run')
  }
})

spawning('spawn: an object that only resembles an AbortSignal is rejected', () => {
  const addEventListener = () => {}
  const removeEventListener = () => {}
  for (const signal of [
    { aborted: false, addEventListener },
    { aborted: false, removeEventListener },
    { aborted: 'no', addEventListener, removeEventListener }
  ]) {
    const here = world()
    assertRefusal(here, () => here.scheduler.spawn(generate, { ...jobOptions(here), signal }), TypeError,
      'signal must be an AbortSignal, got an object (Object)')
  }
})

spawning('spawn: an error in addEventListener of the signal leaves no job behind', () => {
  const signal = { aborted: false, addEventListener: throws, removeEventListener() {} }
  const here = world()
  const act = () => here.scheduler.spawn(generate, { ...jobOptions(here), signal })
  assertRefusal(here, act, Error, 'user code was run')
})

spawning('spawn: a reservation or resource that rejects a job leaves no job behind', () => {
  const detach = () => { throw new Error('it was never attached') }
  const refused = [
    refuses => ({ reservation: refuses }),
    refuses => ({ uses: [refuses] }),
    (refuses, { partner }) => ({ uses: [partner, refuses, partner] }),
    (refuses, { partner }) => ({ uses: [refuses], reservation: partner })
  ]
  for (const given of refused) {
    const here = world()
    const refuses = { [extend.protocol]: { attach: throws, groupFor: throws, detach } }
    const act = () => here.scheduler.spawn(generate, { ...jobOptions(here), ...given(refuses, here) })
    assertRefusal(here, act, Error, 'user code was run')
  }
})

spawning('spawn: rejected calls do not affect later jobs', async () => {
  const here = world()
  const { host, scheduler } = here
  for (const [, value] of VALUES) {
    for (const name of ['signal', 'miss', 'reservation']) {
      assert.ok(errorOf(() => scheduler.spawn(generate, { ...jobOptions(here), [name]: value })))
    }
  }
  let idle = false
  scheduler.idle().then(() => { idle = true })
  const job = scheduler.spawn(function* () { return 'ran' }, jobOptions(here))
  assert.is(job.id, 3)
  await host.drain()
  assert.is(await job, 'ran')
  assert.is(idle, true)
  const { jobs, misses } = scheduler.stats()
  assert.equal({ jobs, misses }, { jobs: 3, misses: 0 })
  assert.equal([host.posts, host.timers, here.attached, host.errors], [0, [], [], []])
  assert.is(abortListeners(here.signal), 0)
})

spawning('a generator whose spawn was rejected can be spawned again', () => {
  const scheduler = new Scheduler({ host: virtualHost() })
  for (const options of [{ deadline: -1 }, { priority: NaN }, { budget: 0 }, { name: 5 }, { signal: {} }, { release: 'now' }, { uses: [1] }]) {
    const work = (function* () { return 7 })()
    assert.throws(() => scheduler.spawn(work, options))
    assert.is(scheduler.spawn(work).state, 'ready')
    assert.throws(() => scheduler.spawn(work), /driven by another job already/)
  }
})

spawning.run()

// --- Task

const TASK_OPTIONS = {
  name: STRING, deadline: POSITIVE, priority: FINITE, wcet: NOT_NEGATIVE, budget: POINTS, period: POSITIVE,
  miss: MISS, onMiss: FUNCTION, onOverrun: FUNCTION, reservation: RESERVATION, uses: USES,
  scheduler: SCHEDULER
}

const tasks = suite('Task')

class Derived extends Task { * run() {} }

options(tasks, 'new Task', TASK_OPTIONS, (here, option) => {
  new Task(generate, { ...taskOptions(here), ...option })
})

options(tasks, 'new Derived', TASK_OPTIONS, (here, option) => {
  new Derived({ ...taskOptions(here), ...option })
})

// `name` is only displayed, so its value is not checked.
const { name: _, ...PARAMETERS } = TASK_OPTIONS

options(tasks, 'release of a changed task', PARAMETERS, (here, option) => {
  Object.assign(new Task(generate, taskOptions(here)), option).release()
})

tasks('new Task: undefined selects the default of every option', () => {
  const { name, deadline, priority, period, wcet, miss } = new Task(generate, allUndefined(TASK_OPTIONS))
  assert.equal({ name, deadline, priority, period, wcet, miss }, {
    name: 'generate', deadline: Infinity, priority: 0, period: Infinity, wcet: Infinity, miss: 'continue'
  })
  assert.is(new Derived().name, 'Derived')
  assert.is(new Derived(allUndefined(TASK_OPTIONS)).name, 'Derived')
})

tasks('new Task: options must be an object', () => {
  const values = [...VALUES, NULL]
  assertKind('options', OBJECT, (_, value) => new Task(generate, value), { values })
  const takes = value => isObject(value) || isFunction(value)
  assertKind('options', { ...OBJECT, takes }, (_, value) => new Derived(value), { values })
})

tasks('new Task: work must be a function', () => {
  const values = [...VALUES, NULL, UNDEFINED]
  assertKind('work', FUNCTION, (_, value) => new Task(value, {}), { values })
})

tasks('new Task: the error names a value that is neither work nor options', () => {
  const values = [...VALUES, NULL]
  assertKind('work', { ...FUNCTION, takes: value => isFunction(value) || isObject(value) },
    (_, value) => new Task(value), { values })
})

tasks('new Task: work is required without a run method', () => {
  class Nothing extends Task {}
  class Wrong extends Task {}
  Wrong.prototype.run = /** @type {any} */ (5)
  const here = world()
  assertRefusal(here, () => new Nothing(), TypeError, 'Nothing.run must be a function, got undefined')
  assertRefusal(here, () => new Task({ deadline: 5 }), TypeError,
    'work must be a function, and the options come after it, got an object (Object)')
  assertRefusal(here, () => new Wrong(), TypeError, 'Wrong.run must be a function, got 5')
  class Inherited extends Derived {}
  assert.is(new Inherited({ deadline: 5 }).deadline, 5)
})

tasks('release: a task whose work was removed is rejected', () => {
  const here = world()
  const task = new Task(generate, { scheduler: here.scheduler })
  task.run = /** @type {any} */ (5)
  assertRefusal(here, () => task.release(), TypeError, 'work.run must be a function, got 5')
})

tasks.run()

// --- Scheduler

const SETTINGS = {
  slice: POSITIVE, round: POSITIVE, budget: POINTS, paused: BOOLEAN, policy: OBJECT,
  host: OBJECT, onMiss: FUNCTION, onOverrun: FUNCTION, onStall: FUNCTION, onError: FUNCTION
}

const schedulers = suite('Scheduler')

options(schedulers, 'new Scheduler', SETTINGS, ({ host }, option) => {
  new Scheduler({ host, ...option })
})

/** A scheduler whose settings can be read back. */
function configurable() {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, slice: 2, round: 20, policy: rm })
  const traces = () => {
    const { slice, round, policy, paused } = scheduler
    return { slice, round, policy, paused, stats: scheduler.stats(), posts: host.posts, timers: host.timers }
  }
  return { host, scheduler, traces }
}

options(schedulers, 'configure', SETTINGS, ({ scheduler }, option) => {
  scheduler.configure({ slice: 3, round: 30, policy: fp, paused: true, host: virtualHost(), ...option })
}, configurable)

const policyParts = { compare: FUNCTION, level: FUNCTION, priority: FUNCTION }
for (const [part, kind] of Object.entries(policyParts)) {
  schedulers(`new Scheduler: policy.${part} must be a function`, () => {
    const policy = { name: 'own', compare: () => 0, level: () => 0, priority: () => 0 }
    assertKind(`policy.${part}`, kind, ({ host }, value) => {
      new Scheduler({ host, policy: { ...policy, [part]: value } })
    }, { values: [...VALUES, NULL] })
  })
}

for (const part of ['now', 'post', 'after', 'inputPending', 'frame', 'hidden', 'eventTime', 'report']) {
  schedulers(`new Scheduler: host.${part} must be a function`, () => {
    assertKind(`host.${part}`, FUNCTION, (_, value) => {
      new Scheduler({ host: { ...virtualHost(), [part]: value } })
    }, { values: [...VALUES, NULL] })
  })
}

schedulers('new Scheduler: the required parts of a policy or host must exist', () => {
  const here = world()
  const { now, post, after } = here.host
  const { compare, level } = edf
  const needed = { policy: { compare, level }, host: { now, post, after } }
  assert.is(new Scheduler(needed).policy, needed.policy)
  for (const [option, parts] of Object.entries(needed)) {
    for (const part of Object.keys(parts)) {
      const given = { ...needed, [option]: { ...parts, [part]: undefined } }
      const message = `${option}.${part} must be a function, got undefined`
      assertRefusal(here, () => new Scheduler(given), TypeError, message)
    }
  }
})

schedulers('new Scheduler: options must be an object', () => {
  assertKind('options', OBJECT, (_, value) => new Scheduler(value), { values: [...VALUES, NULL] })
})

schedulers('configure: options must be an object, and must be given', () => {
  assertKind('options', OBJECT, ({ scheduler }, value) => scheduler.configure(value), {
    values: [...VALUES, NULL, UNDEFINED],
    create: configurable
  })
})

schedulers('new Scheduler: a policy cannot be given by its name', () => {
  const here = world()
  for (const name of ['edf', 'fp', 'rm']) {
    assertRefusal(here, () => new Scheduler({ host: here.host, policy: /** @type {any} */ (name) }), TypeError,
      `policy must be the object that rt.mjs exports as ${name}, got "${name}"`)
  }
})

schedulers('new Scheduler: slice and round may be Infinity, and undefined is the default', () => {
  const host = virtualHost()
  const unlimited = new Scheduler({ host, slice: Infinity, round: Infinity })
  assert.equal([unlimited.slice, unlimited.round], [Infinity, Infinity])
  const { policy, slice, round, paused } = new Scheduler({ ...allUndefined(SETTINGS), host })
  assert.equal({ policy, slice, round, paused }, { policy: edf, slice: 1, round: 5, paused: false })
})

schedulers('configure: omitted options keep their values', () => {
  const { scheduler } = configurable()
  scheduler.configure({})
  scheduler.configure(allUndefined(SETTINGS))
  const { policy, slice, round, paused } = scheduler
  assert.equal({ policy, slice, round, paused }, { policy: rm, slice: 2, round: 20, paused: false })
})

schedulers('configure: throws while a job is alive, in any state', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const message = 'configure() needs a scheduler without jobs, between rounds; wait for idle()'
  const states = []
  const refused = () => {
    states.push(job.state)
    const error = errorOf(() => scheduler.configure({ slice: 3 }))
    assert.instance(error, TypeError)
    assert.is(error.message, message)
    assert.is(scheduler.slice, 1)
  }
  const job = scheduler.spawn(function* () {
    refused()
    yield new extend.Waitable()
  }, { release: 5 })
  refused()
  host.run({ until: 10 })
  refused()
  job.cancel()
  refused()
  host.run()
  assert.equal(states, ['pending', 'running', 'waiting', 'ready'])
  assert.is(job.state, 'cancelled')
  scheduler.configure({ slice: 3 })
  assert.is(scheduler.slice, 3)
})

schedulers('observe: fn must be a function', () => {
  const values = [...VALUES, NULL, UNDEFINED]
  assertKind('fn', FUNCTION, ({ scheduler }, value) => scheduler.observe(value), { values })
})

schedulers.run()

// --- Job

const jobs = suite('Job')

for (const [name, kind] of Object.entries({ deadline: POSITIVE, priority: FINITE })) {
  jobs(`job.${name} must be ${kind.wants} and otherwise keeps its value`, () => {
    const values = [...VALUES, NULL, UNDEFINED]
    assertKind(name, kind, ({ ready }, value) => { ready[name] = value }, { values })
  })

  jobs(`job.${name} of an ended job is checked, but keeps its value`, () => {
    const { host, ready } = world()
    host.run()
    assert.is(ready.state, 'done')
    const before = ready[name]
    assert.instance(errorOf(() => { ready[name] = NaN }), RangeError)
    ready[name] = 99
    assert.is(ready[name], before)
  })
}

jobs('new Job: throws with any arguments', () => {
  const { ready } = world()
  const message = 'jobs are made by spawn() and release()'
  class Own extends Job {}
  const attempts = [...VALUES, NULL, UNDEFINED].map(([, value]) => () => new Job(value))
  for (const act of [
    ...attempts,
    () => new Job(),
    () => new Job(ready),
    () => new Own(ready),
    () => new ready.constructor(generate),
    () => Reflect.construct(Job, [ready], Object)
  ]) {
    const error = errorOf(act)
    assert.instance(error, TypeError)
    assert.is(error.message, message)
  }
})

jobs('the accessors of Job throw on other objects', () => {
  const { ready } = world()
  for (const name of ['state', 'deadline', 'level']) {
    const { get } = Object.getOwnPropertyDescriptor(Job.prototype, name)
    assert.instance(errorOf(() => Reflect.apply(get, {}, [])), TypeError)
    assert.is(Reflect.apply(get, ready, []), ready[name])
  }
})

/** @param {any} object @param {string[]} names */
function assertReadOnly(object, names) {
  for (const name of names) {
    const before = object[name]
    assert.instance(errorOf(() => { object[name] = 'changed' }), TypeError, name)
    assert.is(object[name], before, name)
  }
}

const JOB_PROPERTIES = [
  'name', 'task', 'state', 'absoluteDeadline', 'missed', 'lateness', 'preemptions', 'period', 'level', 'signal'
]

jobs('the accessors of a job are read-only, except deadline and priority', () => {
  const { host, ready } = world()
  assertReadOnly(ready, JOB_PROPERTIES)
  host.run()
  assertReadOnly(ready, JOB_PROPERTIES)
  const accessors = Object.entries(Object.getOwnPropertyDescriptors(Job.prototype))
    .filter(([name, { set }]) => set && typeof name === 'string')
  assert.equal(accessors.map(([name]) => name).sort(), ['deadline', 'priority'])
})

jobs('the properties of a scheduler are read-only, and stats() is a copy', () => {
  const { scheduler } = world()
  assertReadOnly(scheduler, ['current', 'paused', 'policy', 'slice', 'round'])
  const stats = scheduler.stats()
  stats.jobs = 99
  assert.is(scheduler.stats().jobs, 2)
})

jobs('the policies and extend are frozen', () => {
  for (const object of [edf, fp, rm, extend]) assertReadOnly(object, Object.keys(object))
})

jobs.run()

// --- the async shim

const shim = suite('yield')

options(shim, 'yield', { deadline: POSITIVE, signal: SIGNAL }, (here, option) => {
  here.scheduler.yield({ priority: -1, signal: here.signal, deadline: 10, ...option })
})

shim('yield: priority must be a finite number', () => {
  assertKind('priority', FINITE, ({ scheduler, signal }, priority) => {
    scheduler.yield({ signal, deadline: 10, priority })
  }, { values: [...VALUES, NULL] })
})

shim('yield: options must be an object, or null for none', () => {
  assertKind('options', OBJECT, ({ scheduler }, value) => scheduler.yield(value))
  const { scheduler } = world()
  const { jobs } = scheduler.stats()
  scheduler.yield(null)
  assert.is(scheduler.stats().jobs, jobs + 1)
})

shim('job.yield: throws in a generator job', () => {
  const { host, scheduler } = world()
  let error
  scheduler.spawn(function* () {
    yield
    error = errorOf(() => scheduler.current.yield())
  })
  host.run()
  assert.instance(error, TypeError)
  assert.is(error.message, 'job.yield() is for async jobs; in a generator write `yield`')
})

shim.run()
