import { Scheduler } from 'rt.mjs'
import { reportDeadlocks } from 'rt.mjs/deadlock'
import { TaskController, scheduler, schedulerOf } from 'rt.mjs/scheduler'
import { is } from './equal.js'

is<Promise<number>>()(scheduler.postTask(() => 5, { priority: 'user-blocking', delay: 5 }))
is<Promise<number>>()(scheduler.postTask(async () => 5))
is<Promise<string>>()(scheduler.postTask(function* () { yield; return 'end' }))
is<Promise<void>>()(scheduler.yield())
is<Promise<void>>()(scheduler.yield({ priority: 'background', signal: 'inherit', deadline: 10 }))
is<Promise<boolean>>()(schedulerOf(new Scheduler()).postTask(() => true, { priority: 3, deadline: 5 }))
const controller = new TaskController({ priority: 'background' })
scheduler.postTask(() => {}, { signal: controller.signal })
is<void>()(controller.setPriority('user-visible'))
// @ts-expect-error
scheduler.postTask(() => 5, { priority: 'urgent' })
// @ts-expect-error
scheduler.postTask(5)
// @ts-expect-error
new TaskController({ priority: 1 })

is<() => void>()(reportDeadlocks())
is<() => void>()(reportDeadlocks(new Scheduler()))
// @ts-expect-error
reportDeadlocks({})
