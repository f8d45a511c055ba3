/**
 * Programs of a page, each with the log that it writes on every platform: unmodified, adopted, rewritten, and
 * suspended at every point. `window` is the global object. `log` notes a text. `source()` makes `{ target,
 * type, fire }`, an object whose listeners the platform calls in a separate task after `fire()`. `steps` is
 * work with points.
 */

/** @param {(text: string) => void} log @param {string} name */
function steps(log, name) {
  for (const part of ['', "'"]) log(name + part)
}

/**
 * @typedef {{ window: any, log: (text: string) => void, source: () => { target: any, type: string, fire: ()
 *   => void } }} Page
 */

/** @type {Record<string, { log: string, errors?: string, run: (page: Page) => void }>} */
export const pageCases = {
  'listeners run one after the other, with the microtasks of each in between': {
    log: "a a' m1 m2 b b' m3 after",
    run({ window, log, source }) {
      const { target, type, fire } = source()
      target.addEventListener(type, () => {
        steps(log, 'a')
        window.queueMicrotask(() => {
          log('m1')
          window.queueMicrotask(() => log('m2'))
        })
      })
      target.addEventListener(type, () => {
        steps(log, 'b')
        window.queueMicrotask(() => log('m3'))
        window.setTimeout(() => log('after'))
      })
      fire()
    }
  },
  'a listener is called on its target, with the event and its place': {
    log: "a a' true true true 2 b b' true true",
    run({ log, source }) {
      const { target, type, fire } = source()
      target.addEventListener(type, function (event) {
        steps(log, 'a')
        log(String(this === target))
        log(String(arguments.length === 1 && event.type === type && event.target === target))
        log(String(event.currentTarget === target))
        log(String(event.eventPhase))
      })
      const handler = {
        handleEvent(event) {
          steps(log, 'b')
          log(String(this === handler))
          log(String(event.currentTarget === target))
        }
      }
      target.addEventListener(type, handler)
      fire()
    }
  },
  'handleEvent is looked up when the event comes': {
    log: "late late'",
    run({ log, source }) {
      const { target, type, fire } = source()
      const handler = { handleEvent() { steps(log, 'early') } }
      target.addEventListener(type, handler)
      handler.handleEvent = () => { steps(log, 'late') }
      fire()
    }
  },
  'a listener is there once, and once in each phase': {
    log: "a a' a a'",
    run({ log, source }) {
      const { target, type, fire } = source()
      const listener = () => { steps(log, 'a') }
      target.addEventListener(type, listener)
      target.addEventListener(type, listener, { passive: true })
      target.addEventListener(type, listener, true)
      fire()
    }
  },
  'once is once, and may be again': {
    log: "a a' b b' a a'",
    run({ window, log, source }) {
      const { target, type, fire } = source()
      const a = () => { steps(log, 'a') }
      target.addEventListener(type, a, { once: true })
      target.addEventListener(type, () => {
        steps(log, 'b')
        target.addEventListener(type, a, { once: true })
        fire()
      }, { once: true })
      fire()
    }
  },
  'once is once, also where its method is asked for in vain': {
    log: "a a' end",
    errors: 'not yet',
    run({ log, source }) {
      const { target, type, fire } = source()
      let heard = 0
      const handler = {
        get handleEvent() {
          if (heard === 0) throw new Error('not yet')
          return () => { steps(log, 'a') }
        }
      }
      target.addEventListener(type, handler, { once: true })
      target.addEventListener(type, () => {
        if (++heard === 4) return log('end')
        if (heard === 1) target.addEventListener(type, handler)
        if (heard === 3) target.removeEventListener(type, handler)
        fire()
      })
      fire()
    }
  },
  'options are read once': {
    log: "capture once passive signal capture delay a a' b b",
    run({ window, log, source }) {
      const { target, type, fire } = source()
      const once = new Set()
      const options = Object.defineProperties({}, Object.fromEntries(['signal', 'passive', 'once', 'capture'].map(name => [name, {
        get() {
          log(name)
          return name !== 'signal' && once.size < once.add(name).size || undefined
        }
      }])))
      target.addEventListener(type, () => { steps(log, 'a') }, options)
      target.removeEventListener(type, () => {}, options)
      let heard = 0
      target.addEventListener(type, () => {
        log('b')
        if (++heard === 1) fire()
      })
      window.setTimeout(fire, { valueOf: () => log('delay') })
    }
  },
  'a signal removes its listeners, those that have not been called too': {
    log: "a a'",
    run({ window, log, source }) {
      const { target, type, fire } = source()
      const controller = new window.AbortController()
      const aborted = new window.AbortController()
      aborted.abort()
      target.addEventListener(type, () => { steps(log, 'never') }, { signal: aborted.signal })
      target.addEventListener(type, () => {
        steps(log, 'a')
        controller.abort()
        target.removeEventListener(type, anew)
      })
      target.addEventListener(type, () => { steps(log, 'removed') }, { signal: controller.signal })
      const anew = () => { steps(log, 'anew') }
      target.addEventListener(type, anew, { signal: controller.signal })
      target.removeEventListener(type, anew)
      target.addEventListener(type, anew)
      fire()
    }
  },
  'what a listener removes is not called, what it adds hears the next event': {
    log: "a a' c c' added added'",
    run({ window, log, source }) {
      const { target, type, fire } = source()
      const removed = () => { steps(log, 'removed') }
      target.addEventListener(type, () => {
        steps(log, 'a')
        target.removeEventListener(type, removed)
        target.addEventListener(type, () => { steps(log, 'added') }, { once: true })
      }, { once: true })
      target.addEventListener(type, removed)
      target.addEventListener(type, () => {
        steps(log, 'c')
        fire()
      }, { once: true })
      fire()
    }
  },
  'an error is reported, and the next listener called': {
    log: "a a' b b' timer timer'",
    errors: 'thrown, also thrown',
    run({ window, log, source }) {
      const { target, type, fire } = source()
      target.addEventListener(type, () => {
        steps(log, 'a')
        throw new Error('thrown')
      })
      target.addEventListener(type, () => {
        steps(log, 'b')
        window.setTimeout(() => {
          steps(log, 'timer')
          throw new Error('also thrown')
        })
      })
      fire()
    }
  },
  'no listener is none, what is none is refused': {
    log: 'TypeError TypeError',
    run({ log, source }) {
      const { target, type, fire } = source()
      target.addEventListener(type, null)
      target.removeEventListener(type, null)
      target.removeEventListener(type, () => {})
      for (const [name, listener] of [[type, 1], [Symbol(type), () => {}]]) {
        try {
          target.addEventListener(name, listener)
        } catch (error) {
          log(error.name)
        }
      }
      fire()
    }
  },
  'timers run by time, then in order, with their arguments': {
    log: "a a' 1,2 b b' c c' d d'",
    run({ window, log }) {
      window.setTimeout(() => { steps(log, 'd') }, 200) // longer than a pause of a busy machine between two calls
      window.setTimeout((...args) => {
        steps(log, 'a')
        log(args.join())
      }, 10, 1, 2)
      window.setTimeout(() => { steps(log, 'b') }, 10)
      window.setTimeout(() => { steps(log, 'c') }, 10)
    }
  },
  'a timer that is cleared does not run, by whoever is before it': {
    log: "a a' c c'",
    run({ window, log }) {
      const before = window.setTimeout(() => { steps(log, 'never') }, 5)
      window.setTimeout(() => {
        steps(log, 'a')
        window.clearTimeout(cleared)
        window.clearTimeout(undefined)
      }, 10)
      const cleared = window.setTimeout(() => { steps(log, 'b') }, 10)
      window.setTimeout(() => { steps(log, 'c') }, 10)
      window.clearTimeout(before)
    }
  },
  'a timer is cleared by anything that is its number, which is asked once': {
    log: "asked a a' asked c c'",
    run({ window, log }) {
      const asked = id => ({
        valueOf() {
          log('asked')
          return id
        }
      })
      window.setTimeout(() => {
        steps(log, 'a')
        window.clearTimeout(asked(ids[1]))
        window.clearTimeout(`${ids[2]}.7`)
      }, 10)
      const ids = [5, 10, 10].map(ms => window.setTimeout(() => { steps(log, 'never') }, ms))
      window.setTimeout(() => { steps(log, 'c') }, 10)
      window.clearTimeout(asked(ids[0]))
    }
  },
  'timers set timers': {
    log: "a a' b b' c c'",
    run({ window, log }) {
      window.setTimeout(() => {
        window.setTimeout(() => {
          window.setTimeout(() => { steps(log, 'c') })
          steps(log, 'b')
        })
        steps(log, 'a')
      })
    }
  },
  'an interval goes on after an error': {
    log: "i i' i i'",
    errors: '1, 2',
    run({ window, log }) {
      let count = 0
      const id = window.setInterval(() => {
        steps(log, 'i')
        if (++count === 2) window.clearInterval(id)
        throw new Error(String(count))
      }, 20)
    }
  },
  'a listener that stops the event keeps it from those after it': {
    log: "a a' end",
    run({ log, source }) {
      const { target, type, fire } = source()
      let heard = 0
      target.addEventListener(type, event => {
        if (++heard > 1) return
        event.stopImmediatePropagation()
        steps(log, 'a')
        fire()
      })
      target.addEventListener(type, () => { log(heard === 2 ? 'end' : 'never') })
      fire()
    }
  },
  'what a script dispatches tells whether it was prevented, by whom it can be': {
    log: "a a' true b b' false c c' true 2",
    run({ window, log }) {
      const target = new window.EventTarget()
      const note = (name, options) => {
        const fn = event => {
          event.preventDefault()
          steps(log, name)
          return false // a return value that is ignored
        }
        target.addEventListener('note', fn, options)
        return () => target.removeEventListener('note', fn)
      }
      window.setTimeout(() => {
        for (const [name, cancelable, options] of [['a', false], ['b', true], ['c', true, { passive: true }]]) {
          const remove = note(name, options)
          log(String(target.dispatchEvent(new window.Event('note', { cancelable }))))
          remove()
        }
        const event = new window.Event('note')
        target.addEventListener('note', () => { log(String(event.eventPhase)) }, { once: true })
        target.dispatchEvent(event)
      })
    }
  },
  'an interval ends when it is cleared by itself': {
    log: "i i' i i' i i'",
    run({ window, log }) {
      let left = 3
      const id = window.setInterval(() => {
        steps(log, 'i')
        if (--left === 0) window.clearInterval(id)
      }, 20)
    }
  },
  'a property holds a handler, which is called in the place where the first was set': {
    log: "true b b' c c' null",
    run({ log, source }) {
      const { target, type, fire } = source()
      const first = () => { steps(log, 'a') }
      target[`on${type}`] = first
      target.addEventListener(type, () => { steps(log, 'c') })
      log(String(target[`on${type}`] === first))
      target[`on${type}`] = () => { steps(log, 'b') }
      target.addEventListener(type, () => {
        target[`on${type}`] = null
        log(String(target[`on${type}`]))
      })
      fire()
    }
  },
  'a handler that is taken back before its turn is not called, one that takes its place is': {
    log: "a a' c c' after d d'",
    run({ log, source }) {
      const { target, type, fire } = source()
      target.addEventListener(type, () => {
        steps(log, 'a')
        target[`on${type}`] = () => { steps(log, 'c') }
      }, { once: true })
      target[`on${type}`] = () => { steps(log, 'never') }
      target.addEventListener(type, () => {
        log('after')
        target[`on${type}`] = null
        target.addEventListener(type, () => { steps(log, 'd') })
        fire()
      }, { once: true })
      fire()
    }
  },
  'what is removed in one phase is called in the other': {
    log: "a a' b b' c c'",
    run({ log, source }) {
      const { target, type, fire } = source()
      const [b, c, never] = ['b', 'c', 'never'].map(name => () => { steps(log, name) })
      target.addEventListener(type, () => {
        steps(log, 'a')
        target.removeEventListener(type, b)
        target.removeEventListener(type, c, { capture: true })
        target.removeEventListener(type, never)
      }, true)
      target.addEventListener(type, b, true)
      target.addEventListener(type, b)
      target.addEventListener(type, never, { once: true })
      target.addEventListener(type, c)
      fire()
    }
  },
  'what a script dispatches has been handled when it goes on': {
    log: "before a a' b b' after",
    run({ window, log }) {
      const target = new window.EventTarget()
      target.addEventListener('note', () => { steps(log, 'a') })
      target.addEventListener('note', () => { steps(log, 'b') })
      window.setTimeout(() => {
        log('before')
        target.dispatchEvent(new window.Event('note'))
        log('after')
      })
    }
  }
}

/**
 * @type {typeof pageCases} cases that need a window; in its workers, WebKit calls timers with another `this`
 */
export const windowCases = {
  'timers are called on the global object, what they return is for nobody, and each ends what the other function has set': {
    log: "a a' true b b' true",
    run({ window, log }) {
      window.setTimeout(function () {
        steps(log, 'a')
        log(String(this === window))
        return false
      })
      const ticking = window.setInterval(function () {
        steps(log, 'b')
        log(String(this === window))
        window.clearTimeout(ticking)
        return true
      }, 10)
      window.clearInterval(window.setTimeout(() => { steps(log, 'never') }, 5))
    }
  },
  'a frame that fails keeps none of the others from being drawn': {
    log: "a a' b b' true",
    errors: 'thrown',
    run({ window, log }) {
      window.requestAnimationFrame(() => {
        steps(log, 'a')
        throw new Error('thrown')
      })
      window.requestAnimationFrame(function () {
        steps(log, 'b')
        log(String(this === undefined))
      })
    }
  },
  'frames are drawn in order, without those that are cancelled': {
    log: "a a' b b' d d' true",
    run({ window, log }) {
      /** @type {number[]} */
      const times = []
      window.requestAnimationFrame(time => {
        times.push(time)
        steps(log, 'a')
        window.cancelAnimationFrame(cancelled)
        window.requestAnimationFrame(later => {
          steps(log, 'd')
          // A callback that waits until the next frame gets the time of that frame.
          log(String(times[0] <= times[1] && times[1] <= later && times[0] < later))
        })
      })
      window.requestAnimationFrame(time => {
        times.push(time)
        steps(log, 'b')
      })
      const cancelled = window.requestAnimationFrame(() => { steps(log, 'c') })
    }
  }
}

/** @type {typeof pageCases} cases that need a browser */
export const browserCases = {
  'who hears of an abort may add anew what it has removed': {
    log: "a a' b b' end",
    run({ window, log, source }) {
      const { target, type, fire } = source()
      const controller = new window.AbortController()
      const a = () => { steps(log, 'a') }
      controller.signal.addEventListener('abort', () => { target.addEventListener(type, a) })
      target.addEventListener(type, a, { signal: controller.signal })
      controller.abort()
      target.addEventListener(type, () => {
        steps(log, 'b')
        target.removeEventListener(type, a)
        target.addEventListener(type, () => { log('end') }, { once: true })
        fire()
      }, { once: true })
      fire()
    }
  },
  'who aborts goes on when all have heard of it': {
    log: "before a a' b b' after",
    run({ window, log }) {
      const controller = new window.AbortController()
      for (const name of ['a', 'b']) controller.signal.addEventListener('abort', () => { steps(log, name) })
      log('before')
      controller.abort()
      log('after')
    }
  },
  'a handler of the window is that of the body, too': {
    log: 'true true true',
    run({ window, log }) {
      const body = window.document?.body ?? window
      const [first, second, before] = [() => {}, () => {}, window.onerror]
      body.onerror = first
      log(String(window.onerror === first))
      window.onerror = second
      log(String(body.onerror === second))
      body.onerror = before
      log(String(window.onerror === before))
    }
  },
  'a database is made and read by the handlers of its requests': {
    log: "upgrade upgrade' open open' put put' get get' value complete complete' error error' closed",
    run({ window, log }) {
      const name = `pages ${window.performance.now()}`
      const opening = window.indexedDB.open(name)
      const on = (/** @type {any} */ request, /** @type {string} */ title, /** @type {(result: any) => void} */ then) => {
        request.onsuccess = () => {
          steps(log, title)
          then(request.result)
        }
      }
      opening.onupgradeneeded = () => {
        steps(log, 'upgrade')
        opening.result.createObjectStore('store')
      }
      on(opening, 'open', base => {
        const transaction = base.transaction('store', 'readwrite')
        const store = transaction.objectStore('store')
        on(store.put('value', 'key'), 'put', () => {
          on(store.get('key'), 'get', value => { log(value) })
        })
        transaction.oncomplete = () => {
          steps(log, 'complete')
          const adding = base.transaction('store', 'readwrite').objectStore('store').add('other', 'key')
          adding.onerror = event => {
            steps(log, 'error')
            event.preventDefault()
            event.stopPropagation()
            base.close()
            window.indexedDB.deleteDatabase(name).addEventListener('success', () => { log('closed') })
          }
        }
      })
    }
  }
}
