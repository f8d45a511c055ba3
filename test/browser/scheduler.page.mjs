// The order of tasks and continuations: of the platform's own scheduler, where there is one, and of ours.
import * as rt from '../../rt.mjs'
import { CASES, isPossible, ourLog } from '../support/scheduler-cases.mjs'
import { elapse, equal, test } from './page.mjs'

const { TaskSignal, TaskController = rt.TaskController } = globalThis
const isFirefox = navigator.userAgent.includes('Firefox')

function spin(ms) {
  const ends = performance.now() + ms
  while (performance.now() < ends) {}
}

/** @param {object} scheduler @param {typeof rt.TaskController} TaskController */
function worldOf(scheduler, TaskController) {
  const words = []
  return {
    scheduler, TaskController, TaskSignal: TaskController === rt.TaskController ? undefined : TaskSignal, words, spin,
    log: word => words.push(String(word)),
    timer: (fn, ms = 0) => { setTimeout(fn, ms) },
    idle: globalThis.requestIdleCallback?.bind(globalThis)
  }
}

const quick = () => new rt.Scheduler({ slice: 0.1, round: 0.2 })
/** For what depends on how much is done in a round: pages share the machine. */
const unhurried = () => new rt.Scheduler({ slice: Infinity, round: Infinity })

const schedulers = [
  ['ours', () => rt.rt, TaskController], ['ours, short rounds', quick, TaskController],
  ['ours, and our TaskController', () => rt.rt, rt.TaskController],
  ...globalThis.scheduler?.yield ? [['the platform\'s', () => globalThis.scheduler, TaskController]] : []
]

for (const [whose, schedulerOf, Controller] of schedulers) {
  const isOurs = whose.startsWith('ours')
  for (const one of CASES) {
    if (!isPossible(one, worldOf(null, Controller))) continue
    test(`${whose}: ${one.name}`, async () => {
      const world = worldOf(isOurs && one.inRound ? unhurried() : schedulerOf(), Controller)
      await one.run(world)
      const isTold = globalThis.AsyncContext !== undefined
      const native = isFirefox && one.firefox || one
      // Where the event loop of a page decides, only the virtual one is asked.
      const log = !isOurs ? native.log : one.ours?.varies ? undefined : ourLog(one, isTold)
      if (log !== undefined) equal(world.words.join(' '), log)
    })
  }

  test(`${whose}: an abort that nobody has asked about${isOurs ? ' is not reported' : ' is an unhandled rejection'}`, async () => {
    const reasons = []
    const note = event => {
      event.preventDefault()
      reasons.push(event.reason.name)
    }
    addEventListener('unhandledrejection', note)
    const controller = new Controller()
    schedulerOf().postTask(() => {}, { signal: controller.signal })
    controller.abort()
    await elapse(20)
    removeEventListener('unhandledrejection', note)
    equal(reasons, isOurs ? [] : ['AbortError'])
  })
}
