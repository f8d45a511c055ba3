// Gives Node an AsyncContext, as the proposal has it. Import this module before rt.mjs, which looks for it once.
import { AsyncLocalStorage } from 'node:async_hooks'

const Variable = class extends AsyncLocalStorage { get() { return this.getStore() } }
Object.assign(globalThis, { AsyncContext: { Variable } })
