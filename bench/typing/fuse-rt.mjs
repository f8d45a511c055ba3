// rt.mjs: preemptify rewrites the module that calls fuse.js, and fuse.js with it.
import { preemptify } from '../../addons/preemptify.mjs'
import { on } from '../../alarms.mjs'
import { field } from './page.mjs'

const { find } = await preemptify.import('./fuse.mjs', { base: import.meta.url })
on(field, 'input', find, { before: () => field.value, excess: 'restart', deadline: 200 })
