// Svelte: a controlled field. The handler and a derived value compute.
import { mount as mountComponent } from 'svelte'
import Field from './Field.svelte'

export const mount = (target, props) => mountComponent(Field, { target, props })
