// Plain JavaScript: the listener calls fuse.js and renders.
import { find } from './fuse.mjs'
import { field } from './page.mjs'

field.addEventListener('input', () => find(field.value))
