import { workerData } from 'node:worker_threads'

/** Messages on their way, at the most: memory must not be what ends the storm. */
const most = 2000
/** @type {{ port: MessagePort, received: Int32Array }} */
const { port, received } = workerData

for (let sent = 0; ;) {
  const taken = Atomics.load(received, 0)
  if (sent - taken < most) port.postMessage(sent++)
  else Atomics.wait(received, 0, taken, 10)
}
