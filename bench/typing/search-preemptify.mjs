// rt.mjs without a change of the search: preemptify rewrites the module of the plain search.
import { preemptify } from '../../addons/preemptify.mjs'
import { on } from '../../alarms.mjs'
import { field } from './page.mjs'

const { find } = await preemptify.import('./search.mjs', { base: import.meta.url })
on(field, 'input', find, { before: () => field.value, excess: 'restart', deadline: 200 })
