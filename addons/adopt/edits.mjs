/**
 * addons/adopt/edits.mjs: finishes suspended listeners before the browser applies an edit of the user.
 *
 * In a plain page, the listeners of one edit have ended before the next edit. A controlled field relies on
 * this order: its listener reads the text, and writes the text back at its end. A character that was typed
 * in between would be lost.
 *
 *   keydown, beforeinput, composition, pointer or click on a field -> the suspended listeners of that field
 *   scroll, drag, drop on a target                                  -> the suspended listeners of that target
 *   keys and pointers anywhere                                      -> suspended listeners of the selection
 *
 * Other callbacks can write the field too: a timer that formats the text, or a message for which a framework
 * renders the field again. Which callbacks do so is unknown before they write. A callback that has claimed no
 * shared state yet is equal to a callback that starts after the listeners of the edit. So before an edit of
 * a field, all suspended callbacks with claims finish, whatever their kind and target. The listeners of the
 * edit start before all callbacks that wait, and finish before the next edit of any field.
 *
 * Some events precede an edit directly, without another event in between: see `precedesEdit`. Their listeners
 * run to completion.
 */

import { extend } from '../../rt.mjs'
/** @import { Realm } from './realms.mjs' */

/** Events after which the browser edits a field or moves a selection. */
const INPUTS = [
  'keydown', 'keypress', 'keyup', 'beforeinput', 'compositionstart', 'compositionupdate', 'compositionend',
  'pointerdown', 'pointermove', 'pointerup', 'mousedown', 'mousemove', 'mouseup', 'touchstart', 'touchmove',
  'touchend', 'click', 'wheel', 'paste', 'cut', 'drop'
]
/** Events that report a change by the browser. */
const CHANGES = ['scroll', 'selectionchange', 'drag', 'dragstart', 'dragover', 'dragend']
/** Events of INPUTS and CHANGES that the browser sends at each movement; they edit if a button is pressed. */
const MOVES = /move$/
/** Fields that the browser edits without an event `beforeinput`. */
const CONTROL = /^(?:checkbox|radio|range|color|file|number|date|time|month|week|datetime-local)$/
/** Events that the browser may answer with an edit of such a field, or of the field of a label. */
const BEFORE_CONTROLS = /^(?:key(?:down|press|up)|(?:pointer|mouse)(?:down|up)|touch(?:start|end)|click)$/
/** How many consecutive microtasks to wait for more code of the finished listeners. */
const MICROTASKS = 32

/**
 * Finishes suspended listeners before edits.
 *
 * @param {Realm} realm
 */
export function guardEdits({ target, calls, undo }) {
  const { addEventListener: add, removeEventListener: remove } = target
  if (typeof add !== 'function' || typeof target.document?.addEventListener !== 'function') return
  const guard = extend.markInternal((/** @type {any} */ event) => {
    if (!event.isTrusted || extend.page.isBusy()) return
    const edit = editOf(event)
    if (edit === null) return
    const finished = calls.finish(edit)
    if (finished.length === 0) return
    // Microtasks of the finished listeners must also finish before the edit.
    let left = MICROTASKS
    const again = extend.markInternal(() => {
      if (calls.finishTails(finished)) left = MICROTASKS
      if (--left > 0) target.queueMicrotask(again)
    })
    target.queueMicrotask(again)
  })
  const options = { capture: true, passive: true }
  const types = INPUTS.concat(CHANGES)
  types.forEach(type => Reflect.apply(add, target, [type, guard, options]))
  undo.push(() => types.forEach(type => Reflect.apply(remove, target, [type, guard, options])))
}

/**
 * Whether the browser may edit the target of an event right after its listeners, before it sends another
 * event. An input method edits the field between any two events of a composition: Chromium selects the
 * composed text before `beforeinput`, and a listener that writes the selection then ends the composition.
 *
 * @param {any} event @param {any} target the innermost target
 */
export function precedesEdit({ type, isComposing }, target) {
  if (isComposing === true) return true
  if (!BEFORE_CONTROLS.test(type)) return false
  const field = fieldOf(target)
  if (field === null) return false
  if (field === target || type !== 'click') return isControl(field)
  return true // a click on a label clicks its field
}

/**
 * Whether the browser sends an event right after an edit of a field.
 *
 * @param {any} event @param {any} target the innermost target
 */
export const followsEdit = ({ type }, target) =>
  (type === 'input' || type === 'change') && fieldOf(target) !== null

/** @param {any} field */
const isControl = ({ localName, type }) =>
  localName === 'select' || localName === 'input' && CONTROL.test(type)

/**
 * The callbacks that must finish before an event.
 *
 * @typedef {object} Edit
 * @property {boolean} changesField whether the browser may change the text or the state of a field, so that
 *   callbacks with claims must finish
 * @property {(type: string, target: any) => boolean} isAffected whether a listener must finish: by the type
 *   and the innermost target of the event with which the listener was called
 */

/** @param {any} event @returns {Edit | null} null if no callback must finish */
function editOf(event) {
  const { type } = event
  if (MOVES.test(type) && event.buttons === 0) return null
  const target = event.composedPath()[0]
  if (CHANGES.includes(type)) {
    return { changesField: false, isAffected: (other, at) => other === type && at === target }
  }
  const field = fieldOf(target)
  // A text field changes when a key is pressed. The release of the key must not finish the listener of this
  // edit. Only controls, such as check boxes, change when a key is released.
  if (type === 'keyup' && (field === null || !isControl(field))) return null
  return {
    changesField: field !== null && type !== 'wheel',
    isAffected: (other, at) => other === 'selectionchange' ||
      field !== null && isSameField(field, fieldOf(at)) || at !== target && isInside(at, target)
  }
}

/** @param {any} a @param {any} b a field, or null */
function isSameField(a, b) {
  if (a === b) return true
  // A click on a radio button changes its whole group.
  return a.type === 'radio' && b?.type === 'radio' && a.name === b.name && a.form === b.form
}

/**
 * Whether a node is in the shadow tree of a host. For a closed tree the window sees only the host.
 *
 * @param {any} node @param {any} host
 */
function isInside(node, host) {
  while (node) {
    if (node === host) return true
    node = node.getRootNode?.().host
  }
  return false
}

/**
 * Returns the field that the browser edits when the user acts on a target: the control of a label, the select
 * of an option, or the outermost editable element.
 *
 * @param {any} target @returns {any} the field, or null
 */
function fieldOf(target) {
  const { localName } = target ?? {}
  if (localName === 'input' || localName === 'textarea' || localName === 'select') return target
  if (typeof target?.closest !== 'function') return null
  if (target.isContentEditable) {
    while (target.parentElement?.isContentEditable) target = target.parentElement
    return target
  }
  return target.closest('select') ?? target.closest('label')?.control ?? null
}
