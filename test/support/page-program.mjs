/**
 * Random programs of a page: callbacks that register, remove, fire and clear each other, and log their steps.
 */

/**
 * @typedef {{ name: string, acts: Act[] }} Callback
 * @typedef {{ kind: string, of: number, callback: number, ms: number, once: boolean }} Act
 */

const KINDS = {
  note: 6, timer: 4, clear: 3, interval: 1, frame: 2, cancelFrame: 1, add: 4, remove: 3, fire: 4, dispatch: 1, handler: 1, abort: 1,
  throw: 0.5, microtask: 1
}

/**
 * Acts that a suspended callback would perform too late: an event under way does not reach its new listeners,
 * and its timers follow others that are due at the same time. With `suspends`, only the main program performs
 * them.
 */
const EARLY = ['add', 'handler', 'dispatch', 'interval']

/** @param {import('./seeded.mjs').Random} random @param {{ suspends?: boolean }} [options] */
export function randomPage(random, { suspends = false } = {}) {
  // Callbacks of a cancelable event finish inside the event, and their microtasks run after it.
  const cancelable = random.chance(0.3)
  const count = random.integer(3, 10)
  const act = isMain => {
    const kind = random.weighted(KINDS)
    const isNote = cancelable && kind === 'microtask' || suspends && !isMain && EARLY.includes(kind)
    return {
      kind: isNote ? 'note' : kind,
      of: random.integer(0, 5),
      callback: random.integer(0, count - 1),
      ms: random.pick([0, 0, 1, 5, 16, 20]),
      once: random.chance(0.4)
    }
  }
  const acts = (length, isMain = false) => Array.from({ length }, () => act(isMain))
  return { cancelable, main: acts(12, true), callbacks: Array.from({ length: count }, (_, n) => ({ name: `c${n}`, acts: acts(random.integer(1, 6)) })) }
}

/** Maximum number of calls of a program. */
const MOST_CALLS = 60

/**
 * @param {any} window
 * @param {ReturnType<typeof randomPage>} program
 * @param {(text: string) => void} log
 */
export function play(window, { main, callbacks, cancelable }, log) {
  let calls = 0
  const body = window.element('body', null)
  const targets = [body, window.element('button', body), window.element('input', body)]
  const timers = []
  const frames = []
  const intervals = []
  let controller = new window.AbortController()
  const fns = callbacks.map(({ name, acts }, index) => {
    const fn = function (event) {
      const call = ++calls
      if (call > MOST_CALLS) return
      const at = event?.currentTarget?.localName ?? ''
      log(`${name}${at && ` ${at} ${event.eventPhase} ${this === event.currentTarget || index % 3 === 0}`}`)
      perform(acts, name)
    }
    return index % 3 === 0 ? { handleEvent: fn } : fn
  })
  const callable = n => fns[n].handleEvent ?? fns[n]

  function perform(acts, name) {
    let microtasks = 0
    for (const { kind, of, callback, ms, once } of acts) {
      const target = targets[of % 3]
      // A callback always or never has the signal, because Node also removes listeners added again without
      // it.
      const signal = callback % 3 === 1 ? controller.signal : undefined
      const settings = { capture: callback % 2 === 1, once, passive: of > 4, signal }
      if (kind === 'note') log(`${name} goes on`)
      else if (kind === 'timer') timers.push(window.setTimeout(callable(callback), ms))
      else if (kind === 'clear') window.clearTimeout(timers[(timers.length - of + 6) % timers.length])
      else if (kind === 'frame') frames.push(window.requestAnimationFrame(callable(callback)))
      else if (kind === 'cancelFrame') window.cancelAnimationFrame(frames[frames.length - 1 - of % 2])
      else if (kind === 'add') target.addEventListener('click', fns[callback], settings)
      else if (kind === 'remove') target.removeEventListener('click', fns[callback], settings)
      else if (kind === 'fire') window.fire(target, 'click', { bubbles: of > 2, cancelable })
      else if (kind === 'dispatch') target.dispatchEvent(new window.Event('click', { bubbles: true }))
      else if (kind === 'handler') target.onclick = of > 3 ? null : callable(callback)
      else if (kind === 'microtask') microtasks++
      else if (kind === 'interval') {
        let left = 2
        const id = window.setInterval(() => {
          if (--left === 0) window.clearInterval(id)
          log('interval')
        }, ms + 1.37) // not due together with other callbacks, even after it is set again
        intervals.push(id)
      } else if (kind === 'abort') {
        controller.abort()
        controller = new window.AbortController()
      } else if (kind === 'throw') {
        break
      }
    }
    // The microtasks of a suspended callback run when it suspends. They are therefore queued last.
    for (let n = 0; n < microtasks; n++) window.queueMicrotask(() => log(`microtask of ${name}`))
    if (acts.some(({ kind }) => kind === 'throw')) throw new Error(name)
  }
  perform(main.filter(({ kind }) => kind !== 'throw' && kind !== 'microtask'), 'main')
}
