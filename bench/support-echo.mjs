// The peer of external-channels, in a thread of Node or a worker of a browser. It receives from channels, and
// answers each message that is not a frame.
import { receive } from './support-external.mjs'

const endpoint = typeof self === 'object' ? self : (await import('node:worker_threads')).parentPort

receive(endpoint)
endpoint.addEventListener('message', ({ data }) => { if (!Array.isArray(data)) endpoint.postMessage(0) })
