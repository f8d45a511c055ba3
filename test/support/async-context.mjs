// Adds the AsyncContext of the proposal to Node. Import this module before rt.mjs, which looks for it once.
import { AsyncLocalStorage } from 'node:async_hooks'

const Variable = class extends AsyncLocalStorage { get() { return this.getStore() } }
Object.assign(globalThis, { AsyncContext: { Variable } })
