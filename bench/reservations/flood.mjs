import { workerData } from 'node:worker_threads'

/** Maximum number of messages in flight. Without a limit, the storm would run out of memory. */
const most = 2000
/** @type {{ port: MessagePort, received: Int32Array }} */
const { port, received } = workerData

for (let sent = 0; ;) {
  const taken = Atomics.load(received, 0)
  if (sent - taken < most) port.postMessage(sent++)
  else Atomics.wait(received, 0, taken, 10)
}
