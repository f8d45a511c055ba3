/**
 * Random programs as plain objects, which mix everything that jobs can do. `mixed-run.mjs` performs them. A
 * program that fails is shrunk by leaving parts out, and printed. All times are integers, so that sums are
 * exact.
 */

/**
 * @typedef {{ op: string, [parameter: string]: any }} Step `body`, `otherwise`, `bodies`: the steps inside it
 * @typedef {object} JobPlan
 * @property {'generator' | 'async'} kind
 * @property {number} release ms after the spawn
 * @property {number} deadline
 * @property {number} priority
 * @property {number} period
 * @property {number | null} reservation
 * @property {boolean} io whether the job runs in the I/O reservation, for that reservation
 * @property {number[]} uses indices of resources
 * @property {'continue' | 'abort'} miss
 * @property {boolean} isHandled
 * @property {Step[]} body
 */
/**
 * @typedef {object} Program
 * @property {number} seed
 * @property {'edf' | 'fp' | 'rm' | 'own'} policy
 * @property {number | 'auto'} budget
 * @property {number} slice
 * @property {number} round
 * @property {number} turn
 * @property {boolean} closed
 * @property {boolean} isWatched
 * @property {number} mutexes
 * @property {number[]} semaphores the permits of each semaphore
 * @property {(number | null)[]} resources the explicit ceiling of each resource
 * @property {{ size: number, overflow: string }[]} channels
 * @property {{ kind: string, capacity: number, period: number, depleted: string }[]} reservations
 * @property {JobPlan[]} jobs
 * @property {{ at: number, via: 'host' | 'alarm', step: Step }[]} events
 * @property {{ type: string, skip: number, step: Step }[]} observers
 * @property {{ where: string, skip: number }[]} faults
 */

/**
 * The features of programs. `strikes`: a cancellation at the moment of a hand-over, and rejected keys.
 *
 * @typedef {'reservations' | 'locks' | 'resources' | 'channels' | 'families' | 'cancels' | 'rekeys' |
 *   'resizes' | 'observers' | 'faults' | 'async' | 'pauses' | 'calls' | 'own' | 'strikes'} Feature
 */

/** @type {Feature[]} */
export const FEATURES = ['reservations', 'locks', 'resources', 'channels', 'families', 'cancels', 'rekeys', 'resizes',
  'observers', 'faults', 'async', 'pauses', 'calls', 'own', 'strikes']

const KINDS = {
  edf: ['constant-bandwidth'],
  fp: ['sporadic', 'deferrable', 'polling'],
  rm: ['sporadic', 'deferrable', 'polling'],
  own: ['sporadic', 'deferrable', 'polling', 'constant-bandwidth']
}
const RECORDS = ['release', 'start', 'preempt', 'resume', 'block', 'wake', 'finish', 'cancel', 'fail', 'miss',
  'deplete', 'replenish', 'stall', 'alarm', 'round']

/**
 * Generates a program. Programs grow with their seeds, so that the first failure is a small one.
 *
 * @param {import('./seeded.mjs').Random} random
 * @param {{ without?: Feature[] }} [options]
 * @returns {Program}
 */
export function generate(random, { without = [] } = {}) {
  // Each program mixes some of the features. A program with all of them seldom tests a single one well.
  const has = Object.fromEntries(FEATURES.map(feature => {
    const chance = { faults: 0.1, own: 0.2, observers: 0.25, pauses: 0.2 }[/** @type {any} */ (feature)] ?? 0.6
    return [feature, random.chance(chance) && !without.includes(feature)]
  }))
  const size = 1 + random.seed % 8
  /** @param {number} least @param {number} most @param {(index: number) => any} make @returns {any[]} */
  const many = (least, most, make) =>
    Array.from({ length: random.integer(least, most) }, (_, index) => make(index))
  const policy = random.pick(has.own ? ['own'] : ['edf', 'fp', 'rm'])
  const mutexes = has.locks ? random.integer(1, 3) : 0
  const semaphores = has.locks ? many(0, 2, () => random.integer(1, 2)) : []
  const resources = has.resources ? many(1, 2, () => random.chance(0.2) && policy === 'fp' ? 3 : null) : []
  const channels = has.channels ? many(1, 3, () => ({
    size: random.pick([0, 0, 0, 1, 2]), overflow: random.pick(['block', 'block', 'block', 'drop', 'slide'])
  })) : []
  const capacities = () => {
    const period = random.integer(2, 20)
    return { capacity: random.chance(0.05) ? 0 : Math.max(1, Math.round(period * random.real(0, 0.5))), period }
  }
  const reservations = has.reservations ? many(1, 2, () => {
    const kind = random.pick(KINDS[policy])
    const depleted = random.pick(['background', 'wait', ...kind === 'constant-bandwidth' ? ['postpone'] : []])
    return { kind, depleted, ...capacities() }
  }) : []
  if (has.reservations && random.chance(0.2)) {
    reservations.push({ kind: 'io', depleted: 'wait', capacity: 1, period: 10 })
  }

  /** Calls one of the makers, with a probability by weight. @param {any} makers @param {any} weights */
  const oneOf = (makers, weights) => makers[random.weighted(weights)]()
  const ms = (most = 8) => random.integer(0, most)
  const deadline = () => random.chance(0.3) ? Infinity : random.integer(1, 60)
  const priority = () => random.pick(has.strikes ? [0, 0, 1, 2, 3, 4] : [0, 1, 2, 3])
  const which = () => random.integer(0, 99)

  /** A step that takes no time and never waits: jobs, events and observers can do it. @returns {Step} */
  function action(inCallback = false) {
    return oneOf({
      spawn: () => ({ op: 'spawn', plan: plan(1) }),
      cancel: () => ({ op: 'cancel', job: which() }),
      deadline: () => ({ op: 'deadline', job: which(), to: deadline() }),
      priority: () => ({ op: 'priority', job: which(), to: priority() }),
      resize: () => ({ op: 'resize', reservation: which(), ...capacities() }),
      pause: () => ({ op: 'pause', ms: ms() }),
      offer: () => ({ op: 'offer', channel: which() }),
      offerAndCancel: () => ({ op: 'offerAndCancel', channel: which() }),
      poll: () => ({ op: 'poll', channel: which() }),
      throw: () => ({ op: 'throw' }),
      compute: () => ({ op: 'compute', ms: ms(2) })
    }, {
      spawn: 2,
      cancel: has.cancels ? 3 : 0,
      deadline: has.rekeys ? 1.5 : 0,
      priority: has.rekeys ? 1.5 : 0,
      resize: has.resizes && reservations.length > 0 ? 2 : 0,
      pause: has.pauses ? 0.5 : 0,
      offer: channels.length,
      offerAndCancel: has.strikes ? channels.length : 0,
      poll: channels.length / 2,
      throw: inCallback ? 0.5 : 0.2,
      compute: 2
    })
  }

  /** @param {number} depth @param {number} [most] @returns {Step[]} */
  const steps = (depth, most = 4) => many(depth === 0 ? 1 : 0, depth > 2 ? 1 : most, () => step(depth))
  /** The steps of a critical section, which must not wait. @returns {Step[]} */
  const section = () => many(0, 3, () => random.chance(0.7)
    ? random.pick([{ op: 'compute', ms: ms(4) }, { op: 'point' }, { op: 'points', count: random.integer(1, 6) }])
    : action())

  /** @param {number} depth @returns {Step} */
  function step(depth) {
    const waits = () => random.pick([
      ...channels.length > 0 ? [{ op: 'send', channel: which() }, { op: 'receive', channel: which() }] : [],
      ...mutexes > 0 ? [{ op: 'lock', mutex: which(), body: steps(depth + 1) }] : [],
      { op: 'sleep', ms: ms() }
    ])
    return oneOf({
      compute: () => ({ op: 'compute', ms: ms() }),
      point: () => ({ op: 'point' }),
      points: () => ({ op: 'points', count: random.integer(1, 12) }),
      sleep: () => ({ op: 'sleep', ms: ms() }),
      promise: () => ({ op: 'promise', ms: random.integer(0, 8), isRejected: random.chance(0.2) }),
      action: () => action(),
      join: () => ({ op: 'join', job: which() }),
      call: () => ({ op: 'call', isDelegated: random.chance(0.3), body: steps(depth + 1) }),
      deep: () => ({ op: 'deep', depth: random.pick([2, 62, 63, 64, 70]), body: [waits()] }),
      attempt: () => ({ op: 'attempt', manner: random.pick(['finally', 'catch']), body: steps(depth + 1),
        otherwise: steps(depth + 2) }),
      use: () => ({ op: 'use', mutex: which(), body: steps(depth + 1) }),
      lock: () => ({ op: 'lock', mutex: which(), ms: random.chance(0.4) ? ms() : null, body: steps(depth + 1) }),
      permit: () => ({ op: 'permit', semaphore: which(), ms: random.chance(0.3) ? ms() : null,
        isUsed: random.chance(0.5), body: steps(depth + 1) }),
      resource: () => ({ op: 'resource', resource: which(), body: section() }),
      nonPreemptive: () => ({ op: 'nonPreemptive', body: section() }),
      send: () => ({ op: 'send', channel: which(), ms: random.chance(0.3) ? ms() : null }),
      receive: () => ({ op: 'receive', channel: which(), ms: random.chance(0.3) ? ms() : null }),
      receiveDeep: () => ({ op: 'receiveDeep', channel: which(), depth: random.pick([2, 62, 63, 64, 70, 130]) }),
      choice: () => ({ op: 'choice', fair: random.chance(0.5), guards: many(1, 3, () => random.pick([
        { kind: 'send', channel: which() }, { kind: 'receive', channel: which() }, { kind: 'timeout', ms: ms() }
      ])) }),
      par: () => ({ op: 'par', bodies: many(1, 3, () => steps(depth + 1, 3)) }),
      race: () => ({ op: 'race', bodies: many(1, 3, () => steps(depth + 1, 3)) })
    }, {
      compute: 4, point: 3, points: 2, sleep: 2, promise: 0.7, action: 3, join: 1,
      call: has.calls ? 2 : 0, deep: has.calls ? 1 : 0, attempt: has.calls || has.cancels ? 2 : 0,
      use: mutexes, lock: mutexes, permit: semaphores.length,
      resource: 2 * resources.length, nonPreemptive: has.resources ? 1 : 0,
      send: 2 * channels.length, receive: 2 * channels.length, receiveDeep: has.calls ? channels.length / 2 : 0,
      choice: channels.length,
      par: has.families ? 2 : 0, race: has.families ? 2 : 0
    })
  }

  /** @returns {Step} */
  const asyncStep = () => oneOf({
    compute: () => ({ op: 'compute', ms: ms(4) }),
    point: () => ({ op: 'point' }),
    promise: () => ({ op: 'promise', ms: ms(), isRejected: false }),
    action: () => action(),
    attempt: () => ({ op: 'attempt', manner: random.pick(['finally', 'catch']),
      body: many(0, 3, asyncStep), otherwise: many(0, 2, asyncStep) })
  }, { compute: 3, point: 4, promise: 1.5, action: 1, attempt: 0.7 })

  /** @param {number} depth @returns {JobPlan} */
  function plan(depth) {
    const kind = has.async && random.chance(0.3) ? 'async' : 'generator'
    return {
      kind,
      release: random.chance(0.4) ? random.integer(0, 12) : 0,
      deadline: deadline(),
      priority: priority(),
      period: random.chance(0.3) ? random.integer(5, 40) : Infinity,
      reservation: reservations.length > 0 && random.chance(0.6) ? which() : null,
      io: random.chance(0.3),
      uses: resources.length > 0 && random.chance(0.7) ? resources.map((_, index) => index) : [],
      miss: random.chance(0.1) ? 'abort' : 'continue',
      isHandled: random.chance(0.8),
      body: kind === 'async' ? many(0, 5, asyncStep) : steps(depth, 5)
    }
  }

  return {
    seed: random.seed,
    policy,
    budget: random.pick([1, 1, 2, 5, 'auto', 'auto']),
    slice: random.pick([1, 4, 12, Infinity]),
    round: random.pick([1, 5, 20, Infinity]),
    turn: random.pick([0, 0, 1]),
    closed: random.chance(0.15),
    isWatched: has.observers || random.chance(0.5),
    mutexes,
    semaphores,
    resources,
    channels,
    reservations,
    jobs: many(1, size, () => plan(0)),
    events: many(0, size, () => ({
      at: random.integer(0, 60), via: random.pick(['host', 'alarm']), step: action(true)
    })),
    observers: has.observers ? many(1, 3, () => ({
      type: random.pick(RECORDS), skip: random.integer(0, 6), step: action(true)
    })) : [],
    faults: has.faults && policy === 'own' ? many(1, 2, () => ({ where: 'compare', skip: random.integer(0, 60) })) : []
  }
}

// --- shrinking

/** Yields the program without one of its parts, for each part, the largest first. @param {Program} program */
function* smaller(program) {
  for (const list of /** @type {const} */ (['faults', 'observers', 'events', 'jobs'])) {
    for (let index = 0; index < program[list].length; index++) {
      yield { ...program, [list]: program[list].filter((_, place) => place !== index) }
    }
  }
  for (let index = 0; index < program.jobs.length; index++) {
    for (const body of smallerSteps(program.jobs[index].body)) {
      yield { ...program, jobs: program.jobs.map((job, place) => place === index ? { ...job, body } : job) }
    }
  }
  for (const list of /** @type {const} */ (['events', 'observers'])) {
    for (let index = 0; index < program[list].length; index++) {
      for (const step of insideOf(program[list][index].step)) {
        yield { ...program, [list]: program[list].map((one, place) => place === index ? { ...one, step } : one) }
      }
    }
  }
  for (const [name, plain] of /** @type {const} */ ([
    ['turn', 0], ['closed', false], ['budget', 1], ['slice', Infinity], ['round', Infinity]
  ])) {
    if (program[name] !== plain) yield { ...program, [name]: plain }
  }
  for (const [index, job] of program.jobs.entries()) {
    for (const [name, plain] of Object.entries(PLAIN)) {
      if (job[/** @type {keyof JobPlan} */ (name)] === plain || Array.isArray(plain) && job.uses.length === 0) continue
      yield { ...program, jobs: program.jobs.map((one, place) => place === index ? { ...one, [name]: plain } : one) }
    }
  }
}

const PLAIN = {
  release: 0, deadline: Infinity, priority: 0, period: Infinity, reservation: null, uses: [], miss: 'continue',
  isHandled: true
}

/** @param {Step[]} list @returns {Generator<Step[]>} */
function* smallerSteps(list) {
  for (let index = 0; index < list.length; index++) {
    const [before, step, after] = [list.slice(0, index), list[index], list.slice(index + 1)]
    yield [...before, ...after]
    for (const inner of [step.body, step.otherwise, ...step.bodies ?? []]) {
      if (inner?.length > 0) yield [...before, ...inner, ...after]
    }
    for (const less of insideOf(step)) yield [...before, less, ...after]
  }
}

/** Yields a step with less inside. @param {Step} step @returns {Generator<Step>} */
function* insideOf(step) {
  for (const name of ['body', 'otherwise']) {
    if (step[name] !== undefined) for (const less of smallerSteps(step[name])) yield { ...step, [name]: less }
  }
  if (step.bodies !== undefined) {
    for (let index = 0; index < step.bodies.length; index++) {
      const others = step.bodies.filter((_, place) => place !== index)
      if (others.length > 0) yield { ...step, bodies: others }
      for (const less of smallerSteps(step.bodies[index])) {
        yield { ...step, bodies: step.bodies.map((body, place) => place === index ? less : body) }
      }
    }
  }
  if (step.guards?.length > 1) {
    for (let index = 0; index < step.guards.length; index++) {
      yield { ...step, guards: step.guards.filter((_, place) => place !== index) }
    }
  }
  if (step.plan !== undefined) {
    for (const body of smallerSteps(step.plan.body)) yield { ...step, plan: { ...step.plan, body } }
  }
  for (const [name, least] of /** @type {const} */ ([['ms', 0], ['count', 1], ['job', 0]])) {
    if (step[name] > least) {
      yield { ...step, [name]: least }
      if (step[name] > least + 1) yield { ...step, [name]: step[name] >> 1 }
    }
  }
}

/**
 * Leaves out all parts that the failure does not need.
 *
 * @param {Program} program @param {(program: Program) => Promise<boolean>} fails
 * @param {number} [most] the maximum number of attempts
 */
export async function shrink(program, fails, most = 3000) {
  for (let changed = true; changed && most > 0;) {
    changed = false
    for (const candidate of smaller(program)) {
      if (--most < 0) break
      if (!await fails(candidate)) continue
      program = candidate
      changed = true
      break
    }
  }
  return program
}

// --- printing

/** @param {Program} program */
export function show(program) {
  const { seed, jobs, events, observers, faults, ...settings } = program
  return [
    `seed ${seed} ${parameters(settings)}`,
    ...jobs.flatMap((plan, index) => showPlan(plan, `job ${index}`, 0)),
    ...events.flatMap(({ at, via, step }) => [`at ${at}, by the ${via}:`, ...showStep(step, 1)]),
    ...observers.flatMap(({ type, skip, step }) => [`observer of ${type} ${skip + 1}:`, ...showStep(step, 1)]),
    ...faults.map(({ where, skip }) => `${where} throws, call ${skip + 1}`)
  ].join('\n')
}

/** @param {object} record */
const parameters = record => Object.entries(record)
  .filter(([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0))
  .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`).join(' ')

/** @param {JobPlan} plan @param {string} title @param {number} depth @returns {string[]} */
function showPlan({ body, ...plan }, title, depth) {
  const rest = Object.fromEntries(Object.entries(plan).filter(([name, value]) => {
    return value !== PLAIN[/** @type {keyof typeof PLAIN} */ (name)] && !(name === 'io' && plan.reservation === null)
  }))
  return [`${'  '.repeat(depth)}${title}: ${parameters(rest)}`, ...body.flatMap(step => showStep(step, depth + 1))]
}

/** @param {Step} step @param {number} depth @returns {string[]} */
function showStep({ op, body, otherwise, bodies, plan, ...rest }, depth) {
  if (plan !== undefined) return showPlan(plan, op, depth)
  const indent = '  '.repeat(depth)
  return [
    `${indent}${op} ${parameters(rest)}`.trimEnd(),
    ...(body ?? []).flatMap((/** @type {Step} */ inner) => showStep(inner, depth + 1)),
    ...otherwise?.length > 0
      ? [`${indent}then`, ...otherwise.flatMap((/** @type {Step} */ inner) => showStep(inner, depth + 1))] : [],
    ...(bodies ?? []).flatMap((/** @type {Step[]} */ inner) => {
      return [`${indent}-`, ...inner.flatMap(one => showStep(one, depth + 1))]
    })
  ]
}
