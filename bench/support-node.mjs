// Replaces the parts of Node that benches need, for pages.
globalThis.process = /** @type {any} */ ({
  argv: [],
  env: {},
  pid: 0,
  platform: navigator.platform,
  arch: '',
  versions: {},
  cpuUsage: () => ({ user: performance.now() * 1000, system: 0 }),
  cwd: () => '/'
})

globalThis.Buffer = /** @type {any} */ ({ alloc() {} })

const [engine] = navigator.userAgent.match(/Chrom\S+|Firefox\S+|Version\S+/) ?? ['']
export const cpus = () => [{ model: engine }]
export const availableParallelism = () => navigator.hardwareConcurrency
export const relative = (_, path) => path
export const fileURLToPath = String
export const setFlagsFromString = () => {}
export const openSync = () => { throw new Error('there are no files here') }
export const readSync = openSync
export const existsSync = () => false
export const writeFile = openSync
export const setMaxListeners = () => {}
const turns = new MessageChannel()
const posted = []
turns.port1.onmessage = () => posted.shift()()
export function setImmediate(fn) {
  posted.push(fn)
  turns.port2.postMessage(null)
}
/** Observes nothing, because pages are not notified of collections. */
export class PerformanceObserver {
  observe() {}
  disconnect() {}
}
export class Worker {}

/** Parses `--name value`, with defaults. */
export function parseArgs({ options }) {
  const values = Object.fromEntries(Object.entries(options).map(([name, { default: value }]) => [name, value]))
  for (let i = 2; i < process.argv.length; i += 2) values[process.argv[i].slice(2)] = process.argv[i + 1]
  return { values }
}
