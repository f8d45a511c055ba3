/**
 * A textbook machine for critical sections: one processor that advances tick by tick, and asks the protocol
 * at each tick which job runs. It contains no schedulers, generators or queues.
 *
 *   'none'         sections exclude each other, a failed request waits, and priority inversion is possible
 *   'inheritance'  in addition, the holder of a lock runs by the best key of all jobs that it blocks, through
 *                  chains (Sha, Rajkumar, Lehoczky 1990, section III)
 *   'npcs'         a job in a section runs
 *   'stack'        a job starts when it is the most eligible job and its level exceeds the system ceiling.
 *   Until
 *                  then the top of the run-time stack runs (Baker 1991, section 4). A started job is never
 *                  tested again
 *   'immediate'    a job in a section runs at the ceiling of the resource, above jobs of the same priority.
 *   Only
 *                  for fixed priorities (Lampson, Redell 1980; the highest locker)
 *
 * At each instant, the events occur in this order. First the job that ran unlocks what it no longer holds, or
 * ends. Then jobs are released, and sleepers wake. Then the protocol decides. The chosen job takes its locks,
 * sleeps, changes keys of other jobs, or cancels them. A cancelled job unlocks all its locks when it runs
 * next.
 */

/**
 * @typedef {object} ProtocolJob
 * @property {string} name
 * @property {number} release
 * @property {number} priority
 * @property {number} [deadline] relative; default Infinity
 * @property {Step[]} steps
 * @property {string[]} [uses] the resources that it can need; default: the resources in its steps
 */

/**
 * Ticks of work, or a step without time. 'key': the priority of the job under fp, its relative deadline under
 * edf.
 *
 * @typedef {number | ['lock' | 'unlock', string] | ['sleep', number] | ['cancel', string] | ['key', string,
 *   number]} Step
 */

const PROTOCOLS = ['none', 'inheritance', 'npcs', 'stack', 'immediate']

/**
 * @param {readonly ProtocolJob[]} jobs ties of keys go to the earlier release, then to the first in the list
 * @param {'fp' | 'edf'} policy
 * @param {string} protocol
 * @param {{ until?: number, staticCeilings?: boolean }} [options] `staticCeilings`: whether ceilings count
 *   all jobs; by default, they count the jobs that have not ended
 */
export function simulate(jobs, policy, protocol, { until = 1e4, staticCeilings = false } = {}) {
  if (!PROTOCOLS.includes(protocol)) {
    throw new RangeError(`protocol must be one of ${PROTOCOLS}, got ${protocol}`)
  }
  const machine = jobs.map((job, index) => newState(job, index, policy))
  /** @type {string[]} */
  const trace = []
  /** @type {Map<string, JobState>} */
  const holders = new Map()
  /** @type {JobState[]} the run-time stack, by first dispatch */
  const stack = []
  /** @type {JobState | null} */
  let running = null
  let time = 0
  /** @type {string[] | null} */
  let deadlock = null
  let sleeps = 0

  const note = (/** @type {string} */ text) => { trace.push(`${time} ${text}`) }
  const active = () => machine.filter(state => state.isReleased && !state.isEnded)
  const ready = () => active().filter(isReady)
  const named = (/** @type {string} */ name) =>
    /** @type {JobState} */ (machine.find(({ job }) => job.name === name))
  const better = (/** @type {JobState} */ a, /** @type {JobState} */ b) => compare(a.key, b.key) ||
    a.job.release - b.job.release || a.index - b.index

  const ceilingOf = (/** @type {string} */ resource) => Math.max(-Infinity, ...machine
    .filter(({ uses, isEnded }) => uses.has(resource) && (staticCeilings || !isEnded))
    .map(({ level }) => level))
  const systemCeiling = () => Math.max(-Infinity, ...[...holders.keys()].map(ceilingOf))

  /** The best key of a job and of all jobs that it blocks. @returns {number[]} */
  function effective(/** @type {JobState} */ state) {
    let best = state.key
    for (const other of machine) {
      if (other.wants === null || holders.get(other.wants) !== state) continue
      const theirs = effective(other)
      if (compare(theirs, best) < 0) best = theirs
    }
    return best
  }

  /** @returns {JobState | undefined} */
  function choose() {
    const candidates = ready()
    const [first] = candidates.toSorted(better)
    switch (protocol) {
      case 'npcs':
        return candidates.find(({ held }) => held.length > 0) ?? first
      case 'stack':
        if (first === undefined || first.isStarted || first.level > systemCeiling()) return first
        return stack[stack.length - 1]
      case 'immediate': {
        const raised = (/** @type {JobState} */ { job, held }) =>
          Math.max(job.priority, ...held.map(ceilingOf))
        return candidates.toSorted((a, b) =>
          raised(b) - raised(a) || Number(b.held.length > 0) - Number(a.held.length > 0) || better(a, b))[0]
      }
      case 'inheritance': {
        const ranked = candidates.map(state => ({ state, key: effective(state) }))
        return ranked.sort((a, b) => compare(a.key, b.key) || better(a.state, b.state))[0]?.state
      }
    }
    return first
  }

  /**
   * Performs steps without time, up to the next work, a wait or the end.
   * @param {JobState} state @param {boolean} locks whether to take locks as well
   */
  function perform(state, locks) {
    while (isReady(state) && !state.isEnded) {
      const step = state.job.steps[state.next]
      const isPoint = typeof step === 'number' ? state.done < step : step !== undefined && step[0] !== 'unlock'
      if (isPoint && state.isCancelled && locks) {
        // A cancellation is delivered when the job runs next.
        if (choose() !== state) return
        for (const resource of state.held.toReversed()) unlock(state, resource)
        return end(state)
      }
      if (isPoint && typeof step === 'object' && !locks) return
      if (step === undefined) end(state)
      else if (typeof step === 'number') {
        if (state.done < step) return
        state.done = 0
        state.next++
      } else {
        state.next++
        if (step[0] === 'lock') lock(state, step[1])
        else if (step[0] === 'unlock') unlock(state, step[1])
        else if (step[0] === 'sleep') sleep(state, step[1])
        else if (step[0] === 'key') rekey(named(step[1]), step[2])
        else cancel(named(step[1]))
      }
    }
  }

  /** @param {JobState} state @param {number} ticks */
  function sleep(state, ticks) {
    state.wakes = time + ticks
    state.sleep = sleeps++
    note(`block ${state.job.name} on=sleep`)
    running = null
  }

  /** @param {JobState} state @param {number} to */
  function rekey(state, to) {
    state.key = policy === 'fp' ? [-to] : [state.job.release + to, -state.job.priority]
  }

  /** @param {JobState} state */
  function cancel(state) {
    if (state.isEnded || state.isCancelled) return
    state.isCancelled = true
    if (!state.isStarted) return end(state)
    if (isReady(state)) return
    state.wants = state.wakes = null
    note(`wake ${state.job.name}`)
  }

  /** @param {JobState} state */
  function end(state) {
    state.isEnded = true
    state.finish = time
    if (state.isStarted) stack.splice(stack.indexOf(state), 1)
    note(state.isCancelled ? `cancel ${state.job.name} error=Error` : `finish ${state.job.name}`)
    if (running === state) running = null
  }

  /** @param {JobState} state @param {string} resource */
  function lock(state, resource) {
    if (!holders.has(resource)) {
      holders.set(resource, state)
      state.held.push(resource)
      return
    }
    if (protocol !== 'inheritance' && protocol !== 'none') {
      throw new Error(`${state.job.name} finds ${resource} held at ${time} under ${protocol}`)
    }
    state.wants = resource
    note(`block ${state.job.name} on=${resource}`)
    running = null
    deadlock ??= cycleFrom(state)
  }

  /** @param {JobState} state @param {string} resource */
  function unlock(state, resource) {
    state.held = state.held.filter(other => other !== resource)
    holders.delete(resource)
    const [next] = machine.filter(({ wants }) => wants === resource)
      .sort((a, b) => compare(effective(a), effective(b)) || better(a, b))
    if (next === undefined) return
    next.wants = null
    next.held.push(resource)
    holders.set(resource, next)
    note(`wake ${next.job.name}`)
  }

  /** @param {JobState} start @returns {string[] | null} */
  function cycleFrom(start) {
    const names = [start.job.name]
    for (let state = start; state.wants !== null;) {
      state = /** @type {JobState} */ (holders.get(state.wants))
      if (state === start) return names
      if (names.includes(state.job.name)) return null
      names.push(state.job.name)
    }
    return null
  }

  /**
   * Releases and wakes jobs. Events of one time occur in the order in which they were set, releases first.
   */
  function release() {
    const due = machine.filter(({ isReleased, isEnded, job }) => !isReleased && !isEnded && job.release <= time)
    for (const state of due.sort((a, b) => a.job.release - b.job.release || a.index - b.index)) {
      state.isReleased = true
      note(`release ${state.job.name}`)
    }
    for (const state of machine.filter(({ wakes }) => wakes === time).sort((a, b) => a.sleep - b.sleep)) {
      state.wakes = null
      note(`wake ${state.job.name}`)
    }
  }

  function dispatch() {
    const next = choose()
    if (next === undefined || next === running) return
    if (running !== null) note(`preempt ${running.job.name} by=${next.job.name}`)
    note(`${next.isStarted ? 'resume' : 'start'} ${next.job.name}`)
    if (!next.isStarted) stack.push(next)
    next.isStarted = true
    running = next
  }

  release()
  while (machine.some(({ isEnded }) => !isEnded) && deadlock === null) {
    if (time > until) throw new Error(`the machine did not end until ${until}`)
    // A job can block or end as soon as it is dispatched.
    /** @type {JobState | null} */
    let last
    do {
      dispatch()
      last = running
      if (running !== null) perform(running, true)
    } while (deadlock === null && (running !== last || running !== null && choose() !== running))
    if (deadlock !== null) break
    if (running !== null) {
      running.done++
      const { intervals } = running
      const [, ended] = intervals[intervals.length - 1] ?? []
      if (ended === time) intervals[intervals.length - 1][1] = time + 1
      else intervals.push([time, time + 1])
    }
    time++
    if (running !== null) perform(running, false)
    release()
  }
  return {
    /** The trace in the format of test/support/trace.mjs. */
    trace: trace.join('\n'),
    /** @type {[number, number][][]} */
    intervals: machine.map(({ intervals }) => intervals),
    finish: machine.map(({ finish }) => finish),
    deadlock
  }
}

/** @typedef {ReturnType<typeof newState>} JobState */

/** @param {JobState} state */
const isReady = ({ wants, wakes }) => wants === null && wakes === null

/** @param {ProtocolJob} job @param {number} index @param {'fp' | 'edf'} policy */
function newState(job, index, policy) {
  const { deadline = Infinity, steps } = job
  const named = steps.flatMap(step => typeof step === 'object' && step[0] === 'lock' ? [step[1]] : [])
  return {
    job,
    index,
    /** Smaller is more eligible. */
    key: policy === 'fp' ? [-job.priority] : [job.release + deadline, -job.priority],
    level: policy === 'fp' ? job.priority : -deadline,
    uses: new Set(job.uses ?? named),
    isReleased: false,
    isStarted: false,
    isEnded: false,
    isCancelled: false,
    finish: NaN,
    /** The next step, and the part of it that is done. */
    next: 0,
    done: 0,
    /** @type {string[]} */
    held: [],
    /** @type {string | null} */
    wants: null,
    /** When the job wakes, and its position among the sleepers. @type {number | null} */
    wakes: null,
    sleep: 0,
    /** @type {[number, number][]} */
    intervals: []
  }
}

/** @param {number[]} a @param {number[]} b */
function compare(a, b) {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1
  return 0
}

// ----------------------------------------------------------------------------------------------- random sets

/**
 * Random jobs with properly nested critical sections. There is work between any two steps without time, so
 * that the order of events at one instant is never arbitrary.
 *
 * @param {import('./seeded.mjs').Random} random
 * @param {{ ordered?: boolean, acts?: boolean }} [options] `ordered`: inner sections use later resources, so
 *   that locks do not deadlock; `acts`: jobs also sleep, cancel, and change keys of others
 * @returns {ProtocolJob[]}
 */
export function randomSections(random, { ordered = false, acts = false } = {}) {
  const count = random.integer(2, 6)
  const resources = ['a', 'b', 'c', 'd'].slice(0, random.integer(1, 4))
  const priorities = random.shuffle(Array.from({ length: count }, (_, index) => index + 1))
  const deadlines = new Set()
  return priorities.map((priority, index) => {
    const release = random.integer(0, 15)
    let deadline = random.integer(3, 60)
    while (deadlines.has(release + deadline)) deadline++
    deadlines.add(release + deadline)
    const mine = resources.filter(() => random.chance(0.7))
    /** @type {Step[]} */
    const steps = random.chance(0.5) ? [random.integer(1, 3)] : []
    for (let sections = random.integer(0, 3); sections > 0; sections--) {
      steps.push(...section(random, mine, ordered), random.integer(1, 3))
    }
    if (steps.length === 0) steps.push(random.integer(1, 4))
    if (acts) act(random, steps, count)
    return { name: `j${index}`, release, priority, deadline, steps }
  })
}

/**
 * Inserts steps that concern other jobs between work. No two keys are ever equal.
 *
 * @param {import('./seeded.mjs').Random} random @param {Step[]} steps @param {number} count the number of
 *   jobs
 */
function act(random, steps, count) {
  for (let n = random.integer(0, 4); n > 0; n--) {
    const places = steps.flatMap((step, index) => typeof step === 'number' ? [index] : [])
    const name = `j${random.integer(0, count - 1)}`
    /** @type {Step} */
    const step = random.pick([
      ['sleep', random.integer(1, 8)], ['sleep', random.integer(1, 8)], ['key', name, random.real(1, 40)], ['cancel', name]
    ])
    steps.splice(random.pick(places) + 1, 0, step, 1)
  }
}

/**
 * @param {import('./seeded.mjs').Random} random @param {string[]} free @param {boolean} ordered
 * @returns {Step[]}
 */
function section(random, free, ordered) {
  if (free.length === 0) return [random.integer(1, 2)]
  const resource = random.pick(free)
  const inner = free.filter(other => ordered ? other > resource : other !== resource)
  /** @type {Step[]} */
  const steps = [['lock', resource], random.integer(1, 3)]
  while (random.chance(0.4)) steps.push(...section(random, inner, ordered), random.integer(1, 2))
  steps.push(['unlock', resource])
  return steps
}

// ----------------------------------------------------------------------------------- the same steps for a
// job

/**
 * The steps as a tree: a section is `[resource, ...parts]`, and other steps without time are `{ act: step }`.
 * @param {readonly Step[]} steps
 * @returns {any[]}
 */
export function nested(steps) {
  /** @type {any[][]} */
  const open = [[]]
  for (const step of steps) {
    if (typeof step === 'number') open[open.length - 1].push(step)
    else if (step[0] !== 'lock' && step[0] !== 'unlock') open[open.length - 1].push({ act: step })
    else if (step[0] === 'lock') open.push([step[1]])
    else {
      const closed = /** @type {any[]} */ (open.pop())
      if (closed[0] !== step[1]) throw new Error(`${step[1]} is unlocked inside ${closed[0]}`)
      open[open.length - 1].push(closed)
    }
  }
  return open[0]
}
