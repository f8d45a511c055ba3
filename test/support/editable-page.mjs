/** A virtual page with fields that a user edits: the browser applies each key after `keydown` and `beforeinput`. */
import { virtualHost } from './virtual-host.mjs'
import { virtualPage } from './virtual-page.mjs'

export function editablePage() {
  const host = virtualHost({ frame: 16.3 })
  const window = virtualPage(host)
  const log = []
  window.document = { addEventListener() {}, removeEventListener() {} }
  const body = window.element('body', null)
  const field = (name, type, group = '') => {
    const element = window.element(name, body)
    return Object.assign(element, { type, name: group, form: null, value: '', closest: () => null })
  }
  const composedPath = { value() { return [this.target] }, configurable: true }
  Object.defineProperty(window.Event.prototype, 'composedPath', composedPath)

  /** Dispatches a trusted event in the present task. Returns whether its default happens. */
  const act = (target, type, { buttons = 1, ...options } = {}) => {
    const event = Object.assign(new window.Event(type, { bubbles: true, ...options }), { buttons })
    return window.dispatchTrusted(target, event)
  }
  /** Types a character. */
  const type = (target, key) => {
    if (!act(target, 'keydown', { cancelable: true }) || !act(target, 'beforeinput', { cancelable: true })) return
    target.value += key
    act(target, 'input')
    act(target, 'change')
  }
  /** Types a character at a time. Rewritten code of a test that typed would finish callbacks by its claims. */
  const typeAt = (time, target, key) => { host.after(time, () => type(target, key)) }
  return { host, window, log, field, act, type, typeAt, parentOf: () => body }
}
