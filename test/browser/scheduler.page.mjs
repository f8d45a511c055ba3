// The order of tasks and continuations in the platform's scheduler, if it exists, and in the scheduler of the
// addon.
import { Scheduler } from '../../rt.mjs'
import { TaskController, scheduler as ours, schedulerOf } from '../../addons/scheduler.mjs'
import { CASES, isPossible, ourLog } from '../support/scheduler-cases.mjs'
import { elapse, equal, test } from './page.mjs'

const { TaskSignal } = globalThis

/** The addon's own TaskController, which is unused where the platform has one. */
async function ownTaskController() {
  const native = globalThis.TaskController
  globalThis.TaskController = undefined
  const { TaskController } = await import('../../addons/scheduler.mjs?own')
  if (native) globalThis.TaskController = native
  return TaskController
}

const OwnTaskController = await ownTaskController()
const isFirefox = navigator.userAgent.includes('Firefox')

function spin(ms) {
  const ends = performance.now() + ms
  while (performance.now() < ends) {}
}

/** @param {object} scheduler @param {typeof OwnTaskController} Controller */
function worldOf(scheduler, Controller) {
  const words = []
  return {
    scheduler, TaskController: Controller, TaskSignal: Controller === globalThis.TaskController ? TaskSignal : undefined,
    words, spin,
    log: word => words.push(String(word)),
    timer: (fn, ms = 0) => { setTimeout(fn, ms) },
    idle: globalThis.requestIdleCallback?.bind(globalThis)
  }
}

const quick = () => schedulerOf(new Scheduler({ slice: 0.1, round: 0.2 }))
/** A scheduler without limits, for cases that depend on the work per round. Pages share the machine. */
const unhurried = () => schedulerOf(new Scheduler({ slice: Infinity, round: Infinity }))

const schedulers = [
  ['ours', () => ours, TaskController], ['ours, short rounds', quick, TaskController],
  ['ours, and our TaskController', () => ours, OwnTaskController],
  ...globalThis.scheduler?.yield ? [['the platform\'s', () => globalThis.scheduler, TaskController]] : []
]

for (const [whose, make, Controller] of schedulers) {
  const isOurs = whose.startsWith('ours')
  for (const one of CASES) {
    if (!isPossible(one, worldOf(null, Controller))) continue
    test(`${whose}: ${one.name}`, async () => {
      const world = worldOf(isOurs && one.inRound ? unhurried() : make(), Controller)
      await one.run(world)
      const isTold = globalThis.AsyncContext !== undefined
      const native = isFirefox && one.firefox || one
      // If the event loop of a page decides the order, the case is only tested on the virtual host.
      const log = !isOurs ? native.log : one.ours?.varies ? undefined : ourLog(one, isTold)
      if (log !== undefined) equal(world.words.join(' '), log)
    })
  }

  test(`${whose}: an abort of a task that is not awaited${isOurs ? ' is not reported' : ' is an unhandled rejection'}`, async () => {
    const reasons = []
    const note = event => {
      event.preventDefault()
      reasons.push(event.reason.name)
    }
    addEventListener('unhandledrejection', note)
    const controller = new Controller()
    make().postTask(() => {}, { signal: controller.signal })
    controller.abort()
    await elapse(20)
    removeEventListener('unhandledrejection', note)
    equal(reasons, isOurs ? [] : ['AbortError'])
  })
}
