// adopt() keeps the effects of a page: edits of the user, uses of events, and rules.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { adopt } from '../../../addons/adopt.mjs'
import { rewrittenModule } from '../../support/modules.mjs'
import { editablePage } from '../../support/editable-page.mjs'

/** Typical listeners; `host` is a virtual clock, which `work` advances. */
const { listeners } = await rewrittenModule(`
function work(host, ms) { for (let i = 0; i < ms; i++) host.advance(1) }
function stop(event) { event.preventDefault(); event.stopPropagation() }
export const listeners = (host, log) => {
  let kept = null
  let state = ''
  return {
    controlled(event) {
      state = event.target.value
      work(host, 9)
      event.target.value = state
      log.push(\`set \${state}\`)
    },
    preview({ target }) {
      const { value } = target
      work(host, 9)
      log.push(\`preview \${value}\`)
    },
    async later({ target }) {
      const { value } = target
      await null
      work(host, 9)
      target.value = value
    },
    reaction({ target }) {
      const { value } = target
      Promise.resolve().then(() => { work(host, 9); target.value = value })
    },
    prevent(event) {
      work(host, 5)
      event.preventDefault()
      work(host, 5)
      log.push('end')
    },
    stopBy(event) {
      work(host, 5)
      stop(event)
      work(host, 5)
      log.push('end')
    },
    keep(event) {
      kept = event
      work(host, 5)
      kept.preventDefault()
    },
    closure(event) {
      const act = () => event.preventDefault()
      work(host, 5)
      act()
    },
    // Callbacks that are no listeners of the field.
    writeBack: field => () => {
      const { value } = field
      work(host, 9)
      field.value = value
    },
    upperCase: field => () => {
      const { value } = field
      work(host, 9)
      field.value = value.toUpperCase()
    },
    show: field => () => {
      const text = state
      work(host, 9)
      field.value = text
    },
    showLater: field => () => {
      const text = state
      Promise.resolve().then(() => { work(host, 9); field.value = text })
    },
    note({ target }) {
      state = target.value
    },
    data(event) {
      const { key } = event
      work(host, 5)
      log.push(key ?? event.type)
    },
    work(ms, name) {
      return () => {
        work(host, ms)
        log.push(name)
      }
    }
  }
}
`)

/** A callback of 9 ms that claims nothing, because the analysis knows that `performance` has no effects. */
const { compute } = await rewrittenModule(
  'export function compute() { for (let i = 0; i < 9; i++) performance.advance() }')

/** Gives `compute` the clock of a page, and logs the end of each call. */
function watchComputing({ host, scheduler, log }) {
  Object.defineProperty(performance, 'advance', { value: () => host.advance(1), configurable: true })
  scheduler.observe(({ type }) => { if (type === 'finish') log.push('end') })
}

/** A page with fields, adopted or plain. */
function pageWith({ rules, isAdopted = true, ...options } = {}) {
  const page = editablePage()
  const { host, window, log } = page
  const scheduler = new Scheduler({ host: window.host, slice: 1, round: 1, ...options })
  const adoption = isAdopted ? adopt(window, { scheduler, rules, warn: false }) : null
  return { ...page, scheduler, adoption, ...listeners(host, log) }
}

const edits = suite('edits by the user')

/** Types into a field, one key per 5 ms, and returns its text. */
function typedText(make, options) {
  const page = pageWith(options)
  const field = page.field('input', 'text')
  make(page, field)
  ;[...'abcd'].forEach((key, i) => page.host.after(5 * i, () => page.type(field, key)))
  page.host.run()
  page.adoption?.release()
  return { text: field.value, log: page.log.join() }
}

edits('a controlled field keeps every character', () => {
  const { text, log } = typedText((page, field) => field.addEventListener('input', page.controlled))
  assert.is(text, 'abcd')
  assert.is(log, 'set a,set ab,set abc,set abcd')
})

edits('a controlled field keeps every character if its form listens', () => {
  const { text } = typedText((page, field) => page.parentOf(field).addEventListener('input', page.controlled))
  assert.is(text, 'abcd')
})

edits('a listener that waits behind another one finishes before the next edit', () => {
  const { text, log } = typedText((page, field) => {
    field.addEventListener('input', page.work(3, 'first'))
    field.addEventListener('input', page.controlled)
  })
  assert.is(text, 'abcd')
  assert.is(log, 'first,set a,first,set ab,first,set abc,first,set abcd')
})

for (const [type, isFinished] of [['text', false], ['checkbox', true]]) {
  edits(`keyup ${isFinished ? 'finishes' : 'leaves'} a listener of a ${type} field`, () => {
    const page = pageWith()
    const field = page.field('input', type)
    field.addEventListener('input', page.work(9, 'end'))
    page.host.after(0, () => page.act(field, 'input'))
    page.host.after(2, () => {
      page.act(field, 'keyup')
      page.log.push('released')
    })
    page.host.run()
    page.adoption.release()
    assert.is(page.log.join(), isFinished ? 'end,released' : 'released,end')
  })
}

edits('a listener with the rule interleave does not finish before the next edit', () => {
  const rules = { event: { type: 'input', interleave: true } }
  const { text } = typedText((page, field) => field.addEventListener('input', page.controlled), { rules })
  assert.is.not(text, 'abcd')
  const kept = typedText((page, field) => {
    field.addEventListener('input', page.preview)
    field.addEventListener('change', page.controlled)
  }, { rules })
  assert.is(kept.text, 'abcd')
})

/** Ways of a page to call a callback soon that is no listener of the edited field. */
const OTHER_CALLBACKS = {
  timer: ({ window }, fn) => window.setTimeout(fn, 1),
  frame: ({ window }, fn) => window.requestAnimationFrame(fn),
  message({ window }, fn) {
    const { port1, port2 } = new window.MessageChannel()
    port1.onmessage = fn
    port2.postMessage(null)
  },
  'listener of a button'({ window, field }, fn) {
    const button = field('button')
    button.addEventListener('click', fn)
    window.fire(button, 'click')
  }
}

/** Types a key each 5 ms while a callback that is no listener of the field is suspended. */
function typedBeside(kind, name, options) {
  const page = pageWith(options)
  const field = page.field('input', 'text')
  field.addEventListener('input', page.note)
  ;[...'abcdefgh'].forEach((key, i) => page.host.after(5 * i + 3, () => page.type(field, key)))
  page.host.after(10, () => OTHER_CALLBACKS[kind](page, page[name](field)))
  page.host.run()
  page.adoption?.release()
  return field.value
}

for (const kind in OTHER_CALLBACKS) {
  for (const name of ['writeBack', 'upperCase', 'show', 'showLater']) {
    edits(`a ${kind} with ${name} finishes before the next edit of the field`, () => {
      const text = typedBeside(kind, name)
      assert.is(text.toLowerCase(), 'abcdefgh')
      assert.is(text, typedBeside(kind, name, { isAdopted: false }))
    })
  }
}

edits('a timer with the rule interleave does not finish before the next edit', () => {
  const rules = { timer: { interleave: true } }
  assert.is.not(typedBeside('timer', 'writeBack', { rules }), 'abcdefgh')
})

edits('a listener of an edit starts before timers that wait for their turn', () => {
  const page = pageWith({ budget: 1 })
  watchComputing(page)
  const field = page.field('input', 'text')
  field.addEventListener('input', page.note)
  page.window.setTimeout(compute, 1)
  page.window.setTimeout(page.show(field), 2) // waits until `compute` has ended
  page.host.after(5, () => page.type(field, 'a'))
  page.host.run()
  page.adoption.release()
  assert.is(field.value, 'a')
})

edits('a listener of an edit finishes before the next edit of another field', () => {
  const page = pageWith({ budget: 1 })
  watchComputing(page)
  const [field, other] = ['text', 'text'].map(type => page.field('input', type))
  const show = page.show(field)
  other.addEventListener('input', () => { compute(); show() })
  field.addEventListener('input', page.note)
  page.host.after(1, () => page.type(other, 'x'))
  page.host.after(3, () => page.type(field, 'a'))
  page.host.run()
  page.adoption.release()
  assert.is(field.value, 'a')
})

edits('a timer that waits for a claim finishes before the next edit of the field', () => {
  const page = pageWith({ budget: 1 })
  const field = page.field('input', 'text')
  field.addEventListener('input', page.note)
  page.window.setTimeout(page.show(field), 1)
  const { port1, port2 } = new page.window.MessageChannel()
  port1.onmessage = page.show(field)
  page.host.after(0, () => port2.postMessage(null))
  page.host.after(5, () => page.type(field, 'a'))
  page.host.run()
  page.adoption.release()
  assert.is(field.value, 'a')
})

edits('a timer without claims stays suspended while the user edits a field', () => {
  const page = pageWith({ budget: 1 })
  watchComputing(page)
  const field = page.field('input', 'text')
  page.window.setTimeout(compute, 1)
  page.host.after(5, () => {
    page.type(field, 'a')
    page.log.push('edited')
  })
  page.host.run()
  page.adoption.release()
  assert.is(page.log.join(), 'edited,end')
})

edits('a listener with the rule atomic runs to completion inside its event', () => {
  const page = pageWith({ rules: { event: { type: 'input', atomic: true } } })
  const field = page.field('input', 'text')
  field.addEventListener('input', page.work(9, 'end'))
  page.window.fire(field, 'input')
  page.host.post(() => page.log.push('after'))
  page.host.run()
  assert.equal(page.log, ['end', 'after'])
})

edits('a timer with the rule atomic runs in one piece', () => {
  const page = pageWith({ rules: { timer: { atomic: true } } })
  page.window.setTimeout(page.work(5, 'timer'), 1)
  page.host.after(2, () => page.log.push('between'))
  page.host.run()
  assert.equal(page.log, ['timer', 'between'])
})

edits('microtasks of a listener finish before the next edit', () => {
  const { text } = typedText((page, field) => field.addEventListener('input', page.reaction))
  assert.is(text, typedText((page, field) => field.addEventListener('input', page.reaction), { isAdopted: false }).text)
})

for (const [type, name, isFinished] of [['click', 'button', false], ['input', 'input', true]]) {
  edits(`a ${type} listener ${isFinished ? 'finishes before' : 'outlasts'} an edit elsewhere`, () => {
    const page = pageWith({ budget: 1 })
    watchComputing(page)
    const [target, other] = [name, 'input'].map(name => page.field(name, 'text'))
    target.addEventListener(type, compute)
    page.window.fire(target, type)
    page.host.post(() => {
      page.act(other, 'keydown')
      page.log.push('edited')
    })
    page.host.run()
    assert.equal(page.log, isFinished ? ['end', 'edited'] : ['edited', 'end'])
  })
}

edits('a click on a radio button finishes the listeners of its group', () => {
  const page = pageWith()
  const [field, other] = ['a', 'a'].map(name => page.field('input', 'radio', name))
  field.addEventListener('input', page.work(9, 'end'))
  page.window.fire(field, 'input')
  page.host.post(() => {
    page.act(other, 'pointerdown')
    page.log.push('edited')
  })
  page.host.run()
  assert.equal(page.log, ['end', 'edited'])
})

edits('a listener of an event before a click on a check box runs to completion', () => {
  for (const type of ['pointerup', 'mouseup', 'keyup', 'click']) {
    const page = pageWith()
    const box = page.field('input', 'checkbox')
    box.addEventListener(type, page.work(9, 'end'))
    page.act(box, type)
    page.log.push('edited')
    page.host.run()
    assert.equal(page.log, ['end', 'edited'], type)
  }
})

edits('a scroll event finishes the suspended scroll listeners of its target only', () => {
  const page = pageWith()
  const [list, other] = ['ul', 'ul'].map(name => page.field(name))
  list.addEventListener('scroll', page.work(9, 'end'))
  page.window.fire(list, 'scroll')
  page.host.post(() => {
    page.act(other, 'scroll')
    page.log.push('other')
    page.act(list, 'scroll')
    page.log.push('same')
  })
  page.host.run({ until: 9 })
  assert.equal(page.log, ['other', 'end', 'same'])
})

edits('a pointer that moves without a pressed button finishes no listener', () => {
  const page = pageWith()
  const field = page.field('input', 'range')
  field.addEventListener('input', page.work(9, 'end'))
  page.window.fire(field, 'input')
  page.host.post(() => {
    page.act(field, 'pointermove', { buttons: 0 })
    page.log.push('moved')
    page.act(field, 'pointermove', { buttons: 1 })
    page.log.push('dragged')
  })
  page.host.run()
  assert.equal(page.log, ['moved', 'end', 'dragged'])
})

edits('release removes the listeners that finish others before edits', () => {
  const page = editablePage()
  const before = page.window.EventTarget.listeners(page.window).length
  const adoption = adopt(page.window, { scheduler: new Scheduler({ host: page.window.host }), warn: false })
  assert.ok(page.window.EventTarget.listeners(page.window).length > before)
  adoption.release()
  assert.is(page.window.EventTarget.listeners(page.window).length, before)
})

edits.run()
delete performance.advance

const uses = suite('uses of events')

/** Dispatches a cancelable event; returns whether a listener prevented the default, and the log. */
function dispatched(name, { type = 'keydown', rules } = {}) {
  const page = pageWith({ rules })
  const target = page.field('p')
  target.addEventListener(type, page[name])
  const isDefault = page.act(target, type, { cancelable: true })
  page.log.push('after')
  page.host.run()
  return [isDefault ? 'default' : 'prevented', ...page.log].join()
}

uses('a listener stays in its event until the statement that prevents the default', () => {
  assert.is(dispatched('prevent'), 'prevented,after,end')
  assert.is(dispatched('stopBy'), 'prevented,after,end')
})

uses('a listener that passes its event on stays in the event to its end', () => {
  assert.is(dispatched('keep'), 'prevented,after')
  assert.is(dispatched('closure'), 'prevented,after')
})

uses('a listener that only reads its event leaves it after its first budget', () => {
  assert.is(dispatched('data'), 'default,after,keydown')
})

uses('the rule interleave lets a listener that passes its event on leave it', () => {
  const rules = { event: { type: 'keydown', interleave: true } }
  assert.is(dispatched('keep', { rules }), 'default,after')
  assert.is(dispatched('prevent', { rules }), 'prevented,after,end')
})

/** Returns how a listener uses its event, from the text of its twin: 0, 1 or 2 (see `extend.code.eventUseOf`). */
function useOf(text) {
  const rewritten = preemptify.source(`
function go(n) { for (let i = 0; i < n; i++); }
function stop(event) { event.preventDefault() }
function name(event) { return event.type }
const listener = ${text}
`, { exclusive: false })
  const changes = /,(?:\[this\]|null),(\d+)\)/.exec(rewritten.slice(rewritten.indexOf('const listener')))
  const code = Number(changes?.[1] ?? 0) >> 9
  const hasLength = Reflect.get(new Function(`return ${text}`)(), 'length') > 0
  return code > 0 ? code - 1 : hasLength ? 2 : 0
}

for (const [text, use, what] of [
  ['() => { go(5) }', 0, 'no parameter'],
  ['e => { go(e.target.value) }', 0, 'a read of data'],
  ['({ target }) => { go(target) }', 0, 'a pattern of data'],
  ['({ preventDefault }) => { go(5) }', 2, 'a pattern with a method'],
  ['({ target, ...rest }) => { go(5) }', 2, 'a rest element'],
  ['(...list) => { go(5) }', 2, 'a rest parameter'],
  ['function () { go(arguments.length) }', 2, 'its arguments'],
  ['e => { e.preventDefault(); go(5) }', 1, 'a call before the work'],
  ['e => { e?.["stopPropagation"](); go(5) }', 1, 'an optional call by a text'],
  ['e => { if (e.key) { e.returnValue = false } go(5) }', 1, 'an assignment'],
  ['e => { e.dataTransfer.setData("a", "b"); go(5) }', 1, 'dragged data'],
  ['e => { go(5); e.preventDefault() }', 2, 'a call in its last statement'],
  ['e => { stop(e); go(5) }', 1, 'a function that uses it'],
  ['e => { name(e); go(5) }', 0, 'a function that reads it'],
  ['e => { unknown(e); go(5) }', 2, 'an unknown function'],
  ['e => { window.kept = e; go(5) }', 2, 'an assignment to a property'],
  ['e => { e = e || 1; go(5) }', 2, 'an assignment to the parameter'],
  ['e => { const all = [e]; go(5) }', 2, 'an array'],
  ['e => { e[go.x](); go(5) }', 2, 'a computed member'],
  ['e => { setTimeout(() => e.preventDefault()); go(5) }', 2, 'a closure'],
  ['e => { const read = () => e.key; go(5) }', 0, 'a closure that reads'],
  ['e => { go(e + 1) }', 2, 'a number'],
  ['(e = 1) => { go(e) }', 2, 'a number by default'],
  ['e => { go(5) }', 0, 'a parameter without use'],
  ['() => { go(event.key) }', 2, 'the event of the window'],
  ['(e = 1) => { e.preventDefault(); go(5) }', 1, 'a parameter with a default']
]) {
  uses(`the analysis of a listener with ${what} gives ${use}`, () => {
    assert.is(useOf(text), use)
  })
}

uses.run()
