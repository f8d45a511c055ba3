// Plain JavaScript: the listener searches and renders.
import { field } from './page.mjs'
import { find } from './search.mjs'

field.addEventListener('input', () => find(field.value))
