import { rt } from 'rt.mjs'
import type { Mutex, Semaphore } from 'rt.mjs/sync'
import { Latest, Ring, SharedMutex, SharedSemaphore } from 'rt.mjs/shared'
import { is } from './equal.js'

is<number>()(new Latest(0, { shared: true }).read())
is<number | undefined>()(new Ring<number>(5).read())
is<string>()(Latest.from<string>(new SharedArrayBuffer(8)).read())
// @ts-expect-error
new Latest(0).write('x')
// @ts-expect-error
new Ring<number>(5).write('x')

const mutex: Mutex = new SharedMutex({ name: 'm' })
const semaphore: Semaphore = new SharedSemaphore(2)
is<SharedArrayBuffer>()(new SharedMutex().buffer)
is<SharedMutex>()(SharedMutex.from(new SharedMutex().buffer, { name: 'm' }))
is<boolean>()(new SharedSemaphore(2, { buffer: new SharedSemaphore(2).buffer }).abandoned)
rt.spawn(function* () {
  is<number>()(yield* mutex.use(() => 5))
  is<void>()(yield* semaphore.acquire())
})
// @ts-expect-error
new SharedMutex({ shared: true })
// @ts-expect-error
SharedSemaphore.from(new ArrayBuffer(8))
