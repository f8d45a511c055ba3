// Svelte: a controlled field. The handler and a derived value compute.
import { mount as mountComponent } from 'svelte'
import Field from './Field.svelte'
import Form from './Form.svelte'

export const mount = (target, props) => mountComponent(Field, { target, props })
export const mountForm = (target, props) => mountComponent(Form, { target, props })
