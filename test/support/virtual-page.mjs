/**
 * A page whose time moves only when a test moves it: timers, frames, event targets, observers and messages
 * over the virtual host. A microtask checkpoint follows each callback that is not called by script (HTML,
 * "clean up after running script").
 */

const PHASES = { capture: 1, target: 2, bubble: 3 }

/** The reference of a signal to a listener. It retains neither the listener nor its target. */
const removing = (target, type, callback, capture) => () => target.deref()?.removeEventListener(type, callback.deref(), { capture })

/**
 * @param {any} host a virtual host
 * @returns {any} a global object; `host`: the host for a scheduler of the page; `errors`: the reported errors
 */
export function virtualPage(host) {
  /** Number of callbacks on the stack. */
  let depth = 0
  /** @type {(() => void)[]} */
  const microtasks = []
  /** @type {unknown[]} */
  const errors = []
  let ids = 0

  /** Calls script from the event loop or, for an event that script dispatches, from script. */
  function call(fn, self, args) {
    depth++
    try {
      return Reflect.apply(fn, self, args)
    } catch (error) {
      errors.push(error)
    } finally {
      if (--depth === 0) while (microtasks.length > 0) call(microtasks.shift(), undefined, [])
    }
  }
  const loop = {
    ...host,
    post: fn => host.post(() => call(fn, undefined, [])),
    after: (ms, fn, options) => host.after(ms, () => call(fn, undefined, []), options),
    nested: () => depth > 1
  }

  class Event {
    #state
    constructor(type, { bubbles = false, cancelable = false, detail = null } = {}) {
      this.detail = detail
      Object.defineProperty(this, 'isTrusted', { value: false, configurable: true, enumerable: true })
      this.#state = { type, bubbles, cancelable, target: null, currentTarget: null, eventPhase: 0, defaultPrevented: false }
    }
    static of(event) { return event.#state }
    get type() { return this.#state.type }
    get bubbles() { return this.#state.bubbles }
    get cancelable() { return this.#state.cancelable }
    get target() { return this.#state.target }
    get currentTarget() { return this.#state.currentTarget }
    get eventPhase() { return this.#state.eventPhase }
    get defaultPrevented() { return this.#state.defaultPrevented }
    get timeStamp() { return host.time }
    preventDefault() { if (this.#state.cancelable && !this.#state.isPassive) this.#state.defaultPrevented = true }
    stopPropagation() { this.#state.isStopped = true }
    stopImmediatePropagation() { this.#state.isStopped = this.#state.isOver = true }
  }

  class EventTarget {
    #listeners = []
    static listeners(target) { return target.#listeners }
    addEventListener(type, callback, options) {
      if (callback !== null && callback !== undefined && typeof callback !== 'object' && typeof callback !== 'function') {
        throw new TypeError('listener is not an object')
      }
      const { capture = false, once = false, passive = false, signal } = typeof options === 'object' ? options : { capture: !!options }
      if (signal !== undefined && !(signal instanceof AbortSignal)) throw new TypeError('signal is not an AbortSignal')
      type = `${type}`
      if (signal?.aborted || callback == null) return
      if (this.#listeners.some(other => other.type === type && other.callback === callback && other.capture === capture)) return
      this.#listeners = [...this.#listeners, { type, callback, capture, once, passive, removed: false }]
      signal?.addEventListener('abort', removing(new WeakRef(this), type, new WeakRef(callback), capture))
    }
    removeEventListener(type, callback, options) {
      const capture = typeof options === 'object' ? !!options?.capture : !!options
      this.#listeners = this.#listeners.filter(other => {
        const isIt = other.type === type && other.callback === callback && other.capture === capture
        if (isIt) other.removed = true
        return !isIt
      })
    }
    dispatchEvent(event) { return dispatch(this, event) }
    static handlers = new WeakMap()
  }

  function dispatch(target, event) {
    const state = Event.of(event)
    const path = []
    for (let at = target; at; at = at.parent ?? (at === window || !(at instanceof Node) ? null : window)) path.push(at)
    Object.assign(state, { target, isStopped: false, isOver: false })
    const invoke = (at, capture, phase) => {
      if (state.isStopped) return
      Object.assign(state, { currentTarget: at, eventPhase: phase })
      for (const listener of EventTarget.listeners(at)) {
        if (listener.removed || listener.type !== state.type || listener.capture !== capture || state.isOver) continue
        if (listener.once) at.removeEventListener(state.type, listener.callback, { capture })
        state.isPassive = listener.passive
        const { callback } = listener
        if (typeof callback === 'function') call(callback, at, [event])
        else call(() => callback.handleEvent(event), undefined, [])
        state.isPassive = false
      }
    }
    for (const at of path.toReversed()) invoke(at, true, at === target ? PHASES.target : PHASES.capture)
    for (const at of path) if (at === target || state.bubbles) invoke(at, false, at === target ? PHASES.target : PHASES.bubble)
    Object.assign(state, { currentTarget: null, eventPhase: 0, target: target.isShadowed ? null : target })
    return !state.defaultPrevented
  }

  const hear = (prototype, type) => Object.defineProperty(prototype, `on${type}`, {
    configurable: true,
    enumerable: true,
    get() { return EventTarget.handlers.get(this)?.[type]?.fn ?? null },
    set(fn) {
      const all = EventTarget.handlers.get(this) ?? {}
      EventTarget.handlers.set(this, all)
      if (typeof fn === 'function' && all[type]?.fn) return void (all[type].fn = fn)
      if (all[type]) this.removeEventListener(type, all[type].heard)
      if (typeof fn !== 'function') return void (all[type] = null)
      const heard = function (event) { if (all[type].fn.call(this, event) === false) event.preventDefault() }
      all[type] = { fn, heard }
      Reflect.apply(native.add, this, [type, heard])
    }
  })
  const native = { add: EventTarget.prototype.addEventListener }

  class Node extends EventTarget {
    constructor(parent = null) {
      super()
      this.parent = parent
    }
  }
  class HTMLElement extends Node {
    constructor(name, parent) {
      super(parent)
      this.localName = name
    }
    matches(selector) { return selector === this.localName }
    focus() { fire(this, new Event('focus')) }
  }
  for (const type of ['click', 'input', 'keydown', 'error']) hear(HTMLElement.prototype, type)
  class MessagePort extends EventTarget {
    other = null
    postMessage(data) {
      host.post(() => fire(this.other, Object.assign(new Event('message'), { data })))
    }
  }
  hear(MessagePort.prototype, 'message')
  class MutationObserver {
    #fn
    #isQueued = false
    constructor(fn) { this.#fn = fn }
    disconnect() {}
    /** Notifies the observer, as a mutation does. */
    notify(record) {
      if (this.#isQueued) return
      this.#isQueued = true
      microtasks.push(() => {
        this.#isQueued = false
        call(this.#fn, this, [[record], this])
      })
    }
  }

  const timers = new Map()
  const cancel = id => {
    const number = +id | 0
    timers.get(number)?.()
    timers.delete(number)
  }
  const frames = new Map()
  const page = {
    Event,
    EventTarget,
    HTMLElement,
    MessagePort,
    MutationObserver,
    MessageChannel: class {
      constructor() {
        this.port1 = new MessagePort()
        this.port2 = new MessagePort()
        Object.assign(this.port1, { other: this.port2 })
        Object.assign(this.port2, { other: this.port1 })
      }
    },
    setTimeout(fn, ms = 0, ...args) {
      const id = ++ids
      timers.set(id, host.after(Math.max(0, +ms || 0), () => {
        timers.delete(id)
        call(fn, window, args)
      }))
      return id
    },
    clearTimeout: cancel,
    setInterval(fn, ms = 0, ...args) {
      const id = ++ids
      const set = () => timers.set(id, host.after(Math.max(1, +ms || 0), () => {
        set() // HTML sets the timer again after the callback, but engines keep the period
        call(fn, window, args)
      }))
      set()
      return id
    },
    clearInterval: cancel,
    requestAnimationFrame(fn) {
      const id = ++ids
      if (!isDrawing) {
        isDrawing = true
        host.frame(time => {
          isDrawing = false
          const due = [...frames]
          frames.clear()
          for (const [id, fn] of due) if (!cancelled.delete(id)) call(fn, undefined, [time])
        })
      }
      frames.set(id, fn)
      return id
    },
    cancelAnimationFrame(id) {
      if (!frames.delete(Number(id))) cancelled.add(Number(id))
    },
    queueMicrotask: fn => void microtasks.push(fn),
    reportError: error => void errors.push(error),
    AbortController
  }
  const cancelled = new Set()
  let isDrawing = false
  class Window extends Node {}
  const window = Object.assign(new Window(), page)
  hear(window, 'keydown')
  const fire = (target, event) => {
    Object.defineProperty(event, 'isTrusted', { value: true, configurable: true })
    return dispatch(target, event)
  }
  return Object.assign(window, {
    host: loop,
    errors,
    /** Dispatches an event like the user or the platform, in the present task. */
    dispatchTrusted: fire,
    /** Dispatches an event like the user or the platform, in a separate task. */
    fire: (target, type, options) => host.post(() => fire(target, new Event(type, options))),
    element: (name, parent) => new HTMLElement(name, parent)
  })
}
