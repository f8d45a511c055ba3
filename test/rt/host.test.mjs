import { execFile, spawnSync } from 'node:child_process'
import { runInNewContext } from 'node:vm'
import { Window } from 'happy-dom'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, defaultHost, extend } from '../../rt.mjs'
import { makeHost } from '../support/platform-host.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { world as plainWorld } from '../support/world.mjs'

const LONGEST_DELAY = 2 ** 31 - 1

// --- a browser whose time advances only while its macrotasks run

const EPOCH = 1.7e12

// In Firefox messages run before a frame until their queue is empty or 1/15 s has passed. In Chromium frames
// and messages alternate.
const PATIENCE = { firefox: 1000 / 15, chromium: 0 }

/**
 * @param {object} [options]
 * @param {number} [options.interval] ms between two frames
 * @param {keyof typeof PATIENCE} [options.engine]
 * @param {boolean} [options.page] a worker otherwise
 */
function browser({ interval = 16, engine = 'firefox', page = true } = {}) {
  const window = new Window()
  let time = 0
  let created = 0
  let visibility = 'visible'
  let tasks = []
  const log = []

  function add(kind, at, fn) {
    const task = { kind, time: at, order: created++, fn }
    tasks.push(task)
    return task
  }
  const remove = task => { tasks = tasks.filter(other => other !== task) }
  // A frame has the time of its display refresh, however late its callback runs.
  const latestFrame = () => Math.floor(time / interval) * interval
  const outstanding = kind => tasks.filter(task => task.kind === kind).length
  const drawing = () => !here.framesStopped && visibility === 'visible'

  function next() {
    const busy = tasks.some(task => task.kind === 'message' && task.time <= time)
    const ready = tasks.filter(task => task.kind !== 'frame' ||
      (drawing() && (!busy || time - task.time >= PATIENCE[engine])))
    return ready.sort((a, b) => a.time - b.time || a.order - b.order)[0]
  }

  class MessageChannel {
    constructor() {
      here.channels++
      this.port1 = { onmessage: null }
      this.port2 = {
        postMessage: data => {
          add('message', time, () => this.port1.onmessage({ data }))
          here.mostMessages = Math.max(here.mostMessages, outstanding('message'))
        }
      }
    }
  }

  const { document } = window
  Object.defineProperty(document, 'visibilityState', { get: () => visibility })

  // Each frame calls all callbacks that were requested before it.
  const callbacks = new Map()
  const draw = () => {
    const due = [...callbacks.values()]
    callbacks.clear()
    for (const fn of due) fn(latestFrame())
  }
  const frames = {
    requestAnimationFrame(fn) {
      here.frameRequests++
      if (!callbacks.size) add('frame', latestFrame() + interval, draw)
      callbacks.set(++created, fn)
      return created
    },
    cancelAnimationFrame: request => { callbacks.delete(request) }
  }
  const here = {
    channels: 0,
    mostMessages: 0,
    frameRequests: 0,
    framesStopped: false,
    log,
    outstanding,

    globals: {
      performance: { now: () => time, timeOrigin: EPOCH },
      navigator: {},
      document: page ? document : undefined,
      MessageChannel,
      setImmediate: undefined,
      setTimeout: (fn, ms) => add('timer', time + ms, fn),
      clearTimeout: remove,
      requestAnimationFrame: undefined,
      cancelAnimationFrame: undefined,
      ...(page && frames)
    },

    get time() {
      return time
    },

    advance(ms) {
      time += ms
    },

    show(state) {
      visibility = state
      document.dispatchEvent(new window.Event('visibilitychange'))
    },

    /** Runs `fn` as a task of the page at a given time. */
    at(when, fn) {
      add('page', when, fn)
    },

    /** Runs the next ready task, if its time is before `until`. */
    step(until) {
      const task = next()
      if (!task || Math.max(time, task.time) > until) return false
      remove(task)
      time = Math.max(time, task.time)
      log.push(`${time} ${task.kind}`)
      task.fn()
      return true
    },

    run(until) {
      while (here.step(until)) continue
      time = Math.max(time, until)
    },

    /** Like `run`, with the microtasks after every macrotask. */
    async drain(until) {
      do {
        for (let n = 0; n < 100; n++) await undefined
      } while (here.step(until))
      time = Math.max(time, until)
    },

    close: () => window.happyDOM.close()
  }
  return here
}

let copies = 0

function replaceGlobals(globals) {
  const before = Object.keys(globals).map(name => [name, Object.getOwnPropertyDescriptor(globalThis, name)])
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor)
      else delete globalThis[name]
    }
  }
}

/**
 * Calls `use` with a copy of the module that was imported with these globals. `use` may await microtasks
 * only.
 *
 * @param {object} globals
 * @param {(module: any) => any} use
 */
async function withGlobals(globals, use) {
  const restore = replaceGlobals(globals)
  try {
    return await use(await import(`../../rt.mjs?platform-${++copies}`))
  } finally {
    restore()
  }
}

/**
 * @param {any} options options of `browser`
 * @param {(here: any, module: any) => any} use
 */
async function inBrowser(options, use) {
  const { scheduling, background, ...rest } = options
  const here = browser(rest)
  if (scheduling) here.globals.navigator.scheduling = scheduling(here)
  if (background) {
    here.signals = []
    here.globals.scheduler = {
      postTask(fn, { priority, signal }) {
        assert.is(priority, 'background')
        background.push(fn)
        here.signals.push(signal)
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            background.splice(background.indexOf(fn), 1)
            reject(signal.reason)
          })
        })
      }
    }
  }
  try {
    await withGlobals(here.globals, module => use(here, module))
  } finally {
    await here.close()
  }
}

function* forEver(here, step = 1) {
  for (;;) {
    here.advance(step)
    yield
  }
}

/** Records the start time of each round. */
function beginnings(scheduler) {
  const starts = []
  scheduler.observe(({ type, start }) => { if (type === 'round') starts.push(start) })
  return starts
}

/** The times of all frames of a page that draws in every frame. */
function animation(here) {
  const drawn = []
  const draw = time => {
    drawn.push(time)
    here.globals.requestAnimationFrame(draw)
  }
  here.globals.requestAnimationFrame(draw)
  return drawn
}

const multiples = (interval, count) => Array.from({ length: count }, (_, index) => interval * (index + 1))

/** The number of rounds that start in each frame. */
const perFrame = (starts, interval, frames) => Array.from({ length: frames }, (_, frame) => {
  return starts.filter(start => Math.floor(start / interval) === frame).length
})

// --- rounds in a page

const pages = suite('a page')

// The first frame is expected after 16.7 ms, a round ends 2 ms later, and the points are 1 ms apart. In
// Firefox the message that is posted at 34 ms runs before the frame.
const PACED = {
  firefox: [
    '0 message', '5 message', '10 message', '15 message',
    '19 frame', '19 message', '24 message', '29 message', '34 message',
    '35 frame', '35 message', '40 message', '45 message'
  ],
  chromium: [
    '0 message', '5 message', '10 message', '15 message',
    '19 frame', '19 message', '24 message', '29 message',
    '34 frame', '34 message', '39 message', '44 message'
  ]
}

for (const engine of Object.keys(PATIENCE)) {
  const messages = PACED[engine].filter(entry => entry.endsWith('message')).map(entry => parseInt(entry))

  pages(`${engine}: a round ends when a frame is due, and the next waits for the frame`, () => {
    return inBrowser({ interval: 16, engine }, (here, { Scheduler }) => {
      const scheduler = new Scheduler({ round: 5, budget: 1 })
      const starts = beginnings(scheduler)
      scheduler.spawn(forEver(here))
      here.run(46.5)
      assert.equal(here.log, PACED[engine])
      assert.equal(starts, messages)
      assert.is(here.frameRequests, 3)
    })
  })

  pages(`${engine}: rounds of async jobs wait for the frame`, () => {
    return inBrowser({ interval: 16, engine }, async (here, { Scheduler }) => {
      const scheduler = new Scheduler({ round: 5, budget: 1 })
      const starts = beginnings(scheduler)
      scheduler.spawn(async () => {
        const job = scheduler.current
        for (;;) {
          here.advance(1)
          await job.yield()
        }
      })
      await here.drain(46.5)
      assert.equal(starts, messages)
    })
  })

  for (const round of [0.5, 1, 3, 5, 6, 8, 9, 12]) {
    pages(`${engine}, rounds of ${round} ms: a page that draws gets every frame`, () => {
      return inBrowser({ interval: 16, engine }, (here, { Scheduler }) => {
        const scheduler = new Scheduler({ round, budget: 1 })
        const drawn = animation(here)
        scheduler.spawn(forEver(here, 0.5))
        here.run(16 * 41 - 1)
        assert.equal(drawn, multiples(16, 40))
        assert.ok(scheduler.stats().busy > 0.75 * here.time)
      })
    })
  }
}

pages('firefox: rounds that outlast a frame alternate with frames', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 20, budget: 1 })
    scheduler.spawn(forEver(here))
    here.run(300)
    const kinds = here.log.map(entry => entry.split(' ')[1])
    assert.ok(kinds.length > 15)
    assert.equal(kinds, kinds.map((_, index) => index % 2 ? 'frame' : 'message'))
  })
})

for (const round of [1, 3, 5]) {
  pages(`firefox, rounds of ${round} ms: a 120 Hz display gets all its frames`, () => {
    return inBrowser({ interval: 8 }, (here, { Scheduler }) => {
      const scheduler = new Scheduler({ round, budget: 1 })
      const drawn = animation(here)
      // Three frames without rounds show the scheduler the display rate.
      for (const time of [1, 9, 17]) here.at(time, () => scheduler.spawn(execute(here, 1)))
      here.at(32, () => scheduler.spawn(forEver(here, 0.5)))
      here.run(8 * 41 - 1)
      assert.equal(drawn, multiples(8, 40))
      assert.ok(scheduler.stats().busy > 0.75 * (here.time - 32))
    })
  })
}

pages('a 30 Hz display gets its frames, and rounds use the time between them', () => {
  return inBrowser({ interval: 32 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const drawn = animation(here)
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here))
    here.run(32 * 60 + 2)
    assert.equal(drawn, multiples(32, 60))
    const counts = perFrame(starts, 32, 60)
    assert.ok(counts[0] === 4 && counts[59] > 6, counts.join(' '))
  })
})

pages('a late frame does not change the expected interval of frames', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here))
    // The page blocks the thread past the time of a frame. The next frame comes on time.
    here.at(63, () => here.advance(12))
    here.run(16 * 12 - 1)
    const counts = perFrame(starts, 16, 12)
    assert.equal([counts.slice(0, 5), counts.slice(6)], [[4, 3, 4, 3, 2], [4, 4, 4, 4, 4, 4]])
  })
})

pages('after frames that the page itself delayed, all frames come again', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const drawn = animation(here)
    scheduler.spawn(forEver(here, 0.5))
    for (let frame = 1; frame < 40; frame++) here.at(frame * 50, () => here.advance(45))
    here.run(16 * 250)
    assert.equal(drawn.slice(-60), multiples(16, 249).slice(-60))
  })
})

pages('on an idle page a job starts immediately, however old the last frame is', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    const times = [40, 62, 90, 106, 135, 149, 1000]
    for (const time of times) here.at(time, () => scheduler.spawn(execute(here, 1)))
    scheduler.spawn(execute(here, 18))
    here.run(2000)
    assert.equal(starts, [0, 5, 10, 15, ...times])
  })
})

pages('on a nearly idle page a job starts immediately', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    const times = [0, 6, 12, 15.5, 22, 40]
    for (const time of times) here.at(time, () => scheduler.spawn(execute(here, 1)))
    here.run(60)
    assert.equal(starts, times)
  })
})

pages('a loop that spawns and awaits short jobs delays no animation frame', () => {
  return inBrowser({ interval: 16 }, async (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const drawn = animation(here)
    const spawning = (async () => {
      while (here.time < 100) await scheduler.spawn(execute(here, 3))
    })()
    await here.drain(160)
    await spawning
    assert.equal(drawn.slice(0, 6), multiples(16, 6))
  })
})

pages('without isInputPending rounds run as background tasks', () => {
  const posted = []
  return inBrowser({ interval: 16, background: posted }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(execute(here, 12))
    while (posted.length > 0) posted.shift()()
    assert.equal(starts, [0, 5, 10])
    assert.equal(['message', 'timer'].map(here.outstanding), [0, 0])
  })
})

pages('a timer runs a background round that other tasks delay, and runs it once', () => {
  const posted = []
  return inBrowser({ interval: 16, background: posted }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(execute(here, 2))
    here.run(3)
    assert.equal(starts, [])
    here.run(30)
    assert.equal(starts, [4])
    for (const fn of posted) fn()
    assert.equal(starts, [4])
  })
})

pages('each background round has its own signal and is aborted when its timer wins', () => {
  const posted = []
  return inBrowser({ interval: 16, background: posted }, async (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(execute(here, 12))
    const waiting = []
    for (const time of [4, 13, 22]) {
      waiting.push(posted.length)
      here.run(time)
      for (let n = 0; n < 5; n++) await undefined // an unhandled rejection would fail the test
    }
    assert.equal([starts, waiting, posted], [[4, 13, 22], [1, 1, 1], []])
    assert.is(new Set(here.signals).size, 3)
  })
})

pages('rounds alternate with tasks that leave no time for background tasks or frames', () => {
  return inBrowser({ interval: 16, background: [] }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    scheduler.spawn(forEver(here))
    // A message handler that posts the next message.
    const { port1, port2 } = new here.globals.MessageChannel()
    let others = 0
    port1.onmessage = () => {
      here.advance(1)
      others++
      port2.postMessage(null)
    }
    port2.postMessage(null)
    here.run(500)
    const { busy } = scheduler.stats()
    assert.ok(busy > 220 && others > 200, `${busy} ms, others ${others} ms`)
  })
})

pages('rounds are not posted to rt after it has replaced globalThis.scheduler', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler, rt }) => {
    const restore = replaceGlobals({ scheduler: rt })
    try {
      const scheduler = new Scheduler({ round: 5, budget: 1 })
      const starts = beginnings(scheduler)
      scheduler.spawn(execute(here, 12))
      here.run(100)
      assert.equal(starts, [0, 5, 10])
      assert.is(rt.stats().jobs, 0)
    } finally {
      restore()
    }
  })
})

pages('with isInputPending rounds are messages', () => {
  const scheduling = () => ({ isInputPending: () => false })
  const posted = []
  return inBrowser({ interval: 16, engine: 'chromium', scheduling, background: posted }, (here, { Scheduler }) => {
    new Scheduler({ round: 5, budget: 1 }).spawn(execute(here, 2))
    here.run(10)
    assert.equal(here.log, ['0 message'])
    assert.equal(posted, [])
  })
})

pages('chromium: rounds continue until a late frame comes', () => {
  const scheduling = () => ({ isInputPending: () => false })
  return inBrowser({ interval: 16, engine: 'chromium', scheduling }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here, 0.25))
    here.framesStopped = true
    here.run(30)
    // The frame is due at 16.67 ms and expected until 18.67 ms.
    assert.equal(starts, [0, 5, 10, 15, 18.75, 23.75, 28.75])
    here.framesStopped = false
    here.run(51)
    assert.equal(here.log.slice(-6), [
      '33.75 frame', '33.75 message', '38.75 message', '43.75 message', '48.75 frame', '48.75 message'
    ])
    assert.is(here.outstanding('timer'), 0)
  })
})

pages('an idle scheduler requests no frame', () => {
  return inBrowser({}, (here, { Scheduler }) => {
    const scheduler = new Scheduler()
    scheduler.spawn(execute(here, 2))
    here.run(100)
    assert.equal(here.log, ['0 message', '16 frame'])
    assert.equal(['message', 'frame', 'timer'].map(here.outstanding), [0, 0, 0])
  })
})

pages('after a pause a job starts before a frame is requested, unless one is due soon', () => {
  return inBrowser({}, (here, { Scheduler }) => {
    const scheduler = new Scheduler()
    const requests = []
    for (const time of [1, 34, 78]) here.at(time, () => scheduler.spawn(() => { requests.push(here.frameRequests) }))
    here.run(100)
    assert.equal(requests, [0, 1, 3]) // the third job waits for the frame at 80 ms
    assert.is(here.frameRequests, 3)
  })
})

pages('without frames rounds continue after a timeout, until frames come again', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here))
    here.framesStopped = true
    here.run(86)
    assert.equal(starts, [0, 5, 10, 15, 69, 74, 79, 84])
    assert.equal(here.log, [
      '0 message', '5 message', '10 message', '15 message',
      '69 timer', '69 message', '74 message', '79 message', '84 message'
    ])
    here.framesStopped = false
    const drawn = animation(here)
    here.run(16 * 12 - 1)
    assert.equal(drawn, [80, 96, 112, 128, 144, 160, 176])
    assert.equal(perFrame(starts, 16, 12).slice(6), [3, 3, 4, 4, 4, 4])
  })
})

pages('rounds of a hidden page are posted directly and request no frames', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    here.show('hidden')
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here))
    here.run(39)
    assert.equal(starts, [0, 5, 10, 15, 20, 25, 30, 35])
    assert.equal(['frame', 'timer'].map(here.outstanding), [0, 0])
  })
})

pages('hiding the page releases a round that waits for a frame', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here))
    here.at(15.5, () => here.show('hidden'))
    here.at(28, () => here.show('visible'))
    here.run(26)
    assert.equal(here.log, [
      '0 message', '5 message', '10 message', '15 message', '19 page', '19 message', '24 message'
    ])
    assert.is(here.outstanding('timer'), 0)
    const drawn = animation(here)
    here.run(16 * 8 - 1)
    assert.equal(drawn, [16, 32, 48, 64, 80, 96, 112])
    assert.equal(perFrame(starts, 16, 8).slice(3), [3, 4, 4, 4, 4])
  })
})

pages('each round takes one message of a single channel, with at most one outstanding', () => {
  return inBrowser({}, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 2 })
    scheduler.spawn(function* () {
      for (let n = 0; n < 200; n++) {
        scheduler.spawn(execute(here, 0.5), { deadline: 1 + n })
        here.advance(0.5)
        yield
      }
    })
    here.run(1000)
    const messages = here.log.filter(entry => entry.endsWith('message')).length
    assert.is(messages, scheduler.stats().rounds)
    assert.ok(messages > 50)
    assert.equal([here.mostMessages, here.channels], [1, 1])
  })
})

pages('rounds of several schedulers wait for the same frame and keep their order', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    const names = ['one', 'two', 'three']
    const ran = []
    for (const name of names) {
      const scheduler = new Scheduler({ round: 5, budget: 1 })
      scheduler.observe(({ type }) => { if (type === 'round') ran.push(name) })
      scheduler.spawn(forEver(here))
    }
    here.run(300)
    assert.equal(ran, ran.map((_, index) => names[index % 3]))
    assert.ok(ran.length > 50)
    assert.ok(here.log.filter(entry => entry.endsWith('frame')).length > 5)
    assert.equal(here.log.filter(entry => entry.endsWith('timer')), [])
    assert.equal([here.channels, here.mostMessages], [1, 3])
  })
})

pages('importing the module creates no channel and makes no request', () => {
  return inBrowser({}, (here, { defaultHost, rt }) => {
    defaultHost().hidden()
    assert.is(rt.now(), 0)
    here.run(100)
    assert.equal([here.channels, here.log], [0, []])
  })
})

pages('pending input ends a round early, so the event loop runs before the next round', () => {
  const scheduling = here => ({ isInputPending: () => here.time >= 7 && here.time < 8 })
  return inBrowser({ interval: 1000, scheduling }, (here, { Scheduler }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here))
    here.run(11)
    assert.equal(starts, [0, 5, 7])
  })
})

pages('without isInputPending the host has no inputPending', () => {
  return inBrowser({}, (here, { defaultHost }) => assert.is(defaultHost().inputPending, undefined))
})

pages('eventTime converts times since the epoch to the clock of the host', () => {
  return inBrowser({}, (here, { defaultHost, Scheduler }) => {
    const host = defaultHost()
    assert.is(host.eventTime({ timeStamp: 120.5 }), 120.5)
    assert.is(host.eventTime({ timeStamp: EPOCH + 120.5 }), 120.5)
    assert.is(host.eventTime({ timeStamp: 0 }), 0)
    assert.is(new Scheduler().now(), 0)
  })
})

pages('frame() calls back before the next frame with its time, and can be cancelled', () => {
  return inBrowser({ interval: 16 }, (here, { defaultHost }) => {
    const { frame } = defaultHost()
    const drawn = []
    frame(time => drawn.push(time))
    frame(time => drawn.push(-time))()
    here.run(40)
    assert.equal(drawn, [16])
  })
})

pages('hidden() returns whether the page is hidden', () => {
  return inBrowser({}, (here, { defaultHost }) => {
    const { hidden } = defaultHost()
    const seen = [hidden()]
    here.show('hidden')
    seen.push(hidden())
    here.show('visible')
    seen.push(hidden())
    assert.equal(seen, [false, true, false])
  })
})

pages('errors of handlers go to reportError', () => {
  const failure = new Error('thrown by a handler')
  return inBrowser({}, (here, { Scheduler }) => {
    const reported = []
    const restore = replaceGlobals({ reportError: error => { reported.push(error) } })
    try {
      const scheduler = new Scheduler({ budget: 1, onMiss() { throw failure } })
      scheduler.spawn(execute(here, 3), { deadline: 1 })
      here.run(10)
    } finally {
      restore()
    }
    assert.equal(reported, [failure])
  })
})

pages.run()

// --- workers

const workers = suite('a worker')

workers('rounds of a worker are posted directly, through one channel', () => {
  return inBrowser({ page: false }, (here, { Scheduler, defaultHost }) => {
    const scheduler = new Scheduler({ round: 5, budget: 1 })
    const starts = beginnings(scheduler)
    scheduler.spawn(forEver(here))
    here.run(39)
    assert.equal(starts, [0, 5, 10, 15, 20, 25, 30, 35])
    assert.equal([here.channels, defaultHost().frame, defaultHost().hidden()], [1, undefined, false])
  })
})

workers.run()

// --- timers

const timers = suite('timers')

// Measured values in ms: the delay of a timer, and the duration of a turn of the event loop.
const LATE = 0.4
const TURN = 0.02

/** Makes each turn of the event loop take `ms` ms. */
function takeTime(here, ms) {
  const { MessageChannel } = here.globals
  globalThis.MessageChannel = class extends MessageChannel {
    constructor() {
      super()
      const { postMessage } = this.port2
      this.port2.postMessage = message => {
        here.advance(ms)
        postMessage(message)
      }
    }
  }
}

timers('a page sets its timers half a millisecond early, up to the limit of setTimeout', () => {
  return inBrowser({}, (here, { defaultHost }) => {
    const { after } = defaultHost()
    const delays = []
    globalThis.setTimeout = (_, ms) => delays.push(ms)
    for (const ms of [5, 5.5, 100.9, 2 ** 31, 2 ** 31 + 0.5, 1e15]) after(ms, () => {}, { ref: true })
    assert.equal(delays, [4, 5, 100, 2147483647, 2147483647, 2147483647])
  })
})

for (const page of [true, false]) {
  const place = page ? 'page' : 'worker'
  // Browsers lengthen nested timers and fire timers late.
  const hurdles = here => {
    const { setTimeout } = here.globals
    let depth = 0
    globalThis.setTimeout = (fn, ms) => {
      const level = depth + 1
      return setTimeout(() => {
        depth = level
        try {
          fn()
        } finally {
          depth = 0
        }
      }, (level > 4 ? Math.max(4, ms) : ms) + LATE)
    }
    takeTime(here, TURN)
  }

  for (const period of [1, 2, 3, 4.5, 5, 5.6, 10, 16.7, 100]) {
    const exact = period >= 5
    timers(`timers keep a period of ${period} ms on an idle ${place} with few turns`, () => {
      return inBrowser({ page, engine: 'chromium' }, (here, { Scheduler }) => {
        hurdles(here)
        const scheduler = new Scheduler({ budget: 1 })
        const late = []
        for (let n = 1; n <= 40; n++) {
          const release = n * period
          scheduler.spawn(() => { late.push(here.time - release) }, { release })
        }
        here.run(41 * period)
        assert.is(late.length, 40)
        const most = exact ? 2 * TURN : 0.5 + LATE + 2 * TURN
        assert.ok(late.every(ms => ms >= 0 && ms < most), `${late}`)
        const turns = here.log.filter(entry => entry.endsWith('message')).length
        assert.ok(turns * TURN < here.time / 4, `${turns} turns in ${here.time} ms`)
      })
    })
  }
}

timers('alarms that are closer together than timers allow leave Firefox its frames', () => {
  return inBrowser({ interval: 16 }, (here, { Scheduler }) => {
    takeTime(here, 0.005)
    const drawn = animation(here)
    const scheduler = new Scheduler({ budget: 1 })
    for (let n = 1; n <= 800; n++) scheduler.spawn(() => {}, { release: n * 0.4 })
    here.run(16 * 20 - 1)
    assert.equal(drawn, multiples(16, 19))
  })
})

timers('a hidden page sets timers instead of taking turns', () => {
  return inBrowser({}, (here, { defaultHost }) => {
    here.show('hidden')
    const fired = []
    for (const ms of [0.5, 3, 10]) defaultHost().after(ms, () => fired.push(here.time), { ref: true })
    here.run(50)
    assert.equal(fired, [1, 3, 10])
    assert.equal(here.log.filter(entry => entry.endsWith('message')), [])
  })
})

timers('in a hidden page a timer of 0 ms fires after the call that sets it returns', () => {
  return inBrowser({}, (here, { defaultHost }) => {
    here.show('hidden')
    const log = []
    defaultHost().after(0, () => log.push('timer'), { ref: true })
    log.push('returned')
    here.run(1)
    assert.equal(log, ['returned', 'timer'])
  })
})

timers('a release beyond the range of setTimeout happens on time', () => {
  return inBrowser({}, (here, { Scheduler }) => {
    const scheduler = new Scheduler()
    const job = scheduler.spawn(function* () {}, { release: 5e9 })
    here.run(5e9 - 1.5)
    assert.equal([job.state, here.log], ['pending', ['2147483647 timer', '4294967294 timer']])
    here.run(5e9)
    assert.equal([job.state, job.started], ['done', 5e9])
  })
})

timers('a timer that is cancelled does not fire', () => {
  return inBrowser({}, (here, { defaultHost }) => {
    const { after } = defaultHost()
    const fired = []
    after(5, () => fired.push('kept'), { ref: true })
    after(5, () => fired.push('cancelled'), { ref: true })()
    here.run(10)
    assert.equal(fired, ['kept'])
  })
})

timers('only timers with ref: false are unreferenced', () => {
  const unreferenced = []
  const setTimeout = (_, ms) => ({ unref: () => unreferenced.push(ms) })
  const host = makeHost({ performance, setImmediate, setTimeout })
  host.after(1, () => {}, { ref: true })
  host.after(2, () => {}, { ref: false })
  assert.equal(unreferenced, [2])
})

timers('on any host, a timer that fires early is set again, and no job starts early', () => {
  const host = virtualHost({ early: 0.5 })
  const scheduler = new Scheduler({ host })
  const starts = []
  for (const release of [3, 7.25, 7.5, 100]) {
    scheduler.spawn(() => { starts.push(host.time) }, { release })
  }
  host.run()
  assert.equal(starts, [3, 7.25, 7.5, 100])
})

timers('on any host, pending input ends a round early', () => {
  const host = virtualHost({ turn: 1 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const rounds = []
  scheduler.observe(({ type, time, start }) => { if (type === 'round') rounds.push([start, time]) })
  scheduler.spawn(function* () {
    for (let n = 1; n <= 8; n++) {
      host.advance(1)
      host.hasInput = n === 2
      yield
    }
  })
  host.run()
  assert.equal(rounds, [[1, 3], [4, 9], [10, 11]])
})

timers('the default host limits delays to the range of setTimeout', () => {
  const delays = []
  const host = makeHost({ performance, setImmediate, setTimeout: (_, ms) => delays.push(ms) })
  for (const ms of [LONGEST_DELAY, LONGEST_DELAY + 1, 1e15, 2.25, 0, -5]) host.after(ms, () => {}, { ref: true })
  assert.equal(delays, [LONGEST_DELAY, LONGEST_DELAY, LONGEST_DELAY, 3, 0, 0])
})

timers.run()

// --- Node

const node = suite('Node')

node('a round lasts its full time, even right after another round', async () => {
  const scheduler = new Scheduler({ round: 16, budget: 100 })
  scheduler.spawn(function* () { for (let n = 0; n < 1e5; n++) yield })
  await scheduler.idle()
  // The thousand budgets take a few ms in total.
  assert.ok(scheduler.stats().rounds < 200, `${scheduler.stats().rounds} rounds`)
})

/**
 * Runs a module in its own process, which must exit by itself.
 *
 * @param {string} body
 * @param {string} [before] runs before rt.mjs is loaded
 */
function inProcess(body, before = '') {
  const script = `
    ${before}
    const { rt, Scheduler, defaultHost, extend } =
      await import(${JSON.stringify(new URL('../../rt.mjs', import.meta.url).href)})
    ${body}`
  const flags = ['--input-type=module', '--eval', script]
  const options = { encoding: 'utf8', timeout: 30_000 }
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, flags, options)
  assert.equal([status, signal, stderr], [0, null, ''])
  return stdout.split('\n').filter(Boolean)
}

node('rounds are posted by setImmediate, one at a time', () => {
  const posted = []
  const host = makeHost({ performance, setImmediate: fn => { posted.push(fn) } })
  const scheduler = new Scheduler({ host, round: Infinity }) // a busy machine can take 5 ms between two jobs
  const job = scheduler.spawn(() => 'ran')
  scheduler.spawn(() => 'too')
  assert.is(posted.length, 1)
  posted[0]()
  assert.is(job.state, 'done')
  assert.is(posted.length, 1)
})

for (const missing of [['setImmediate'], ['MessageChannel'], ['MessageChannel', 'setImmediate']]) {
  node(`jobs, waits and cancellations work without ${missing.join(' and ')}`, () => {
    const lines = inProcess(`
      const plain = rt.spawn(function* () { yield; return 1 })
      const sleeper = rt.spawn(function* () { yield new extend.Sleep(2, true); return 2 })
      const cancelled = rt.spawn(function* () { yield new extend.Sleep(1e6, true) })
      console.log(await plain, await sleeper)
      cancelled.cancel()
      await cancelled.catch(error => console.log(error.name))
      process.exit()`, `for (const name of ${JSON.stringify(missing)}) delete globalThis[name]`)
    assert.equal(lines, ['1 2', 'AbortError'])
  })
}

node('a page without MessageChannel posts turns and sets alarms by timers', async () => {
  const delays = []
  const { requestAnimationFrame, document } = new Window()
  const timer = (fn, ms) => {
    delays.push(ms)
    return setTimeout(fn, ms)
  }
  const host = makeHost({ performance, document, requestAnimationFrame, setTimeout: timer, clearTimeout })
  await new Promise(resolve => host.post(resolve))
  await new Promise(resolve => host.after(3, resolve, { ref: true }))
  assert.equal(delays, [0, 3])
})

node('timers that tests replace for a while delay no round and no alarm', () => {
  const lines = inProcess(`
    const { setImmediate, setTimeout } = globalThis
    globalThis.setImmediate = globalThis.setTimeout = () => {}
    const jobs = [rt.spawn(() => console.log('a job')), rt.spawn(() => console.log('a release'), { release: rt.now() + 1 })]
    Object.assign(globalThis, { setImmediate, setTimeout })
    await Promise.all([...jobs, rt.spawn(() => {})])`)
  assert.equal(lines, ['a job', 'a release'])
})

node('a job that yields forever lets immediates, timers and I/O run after each round', () => {
  const lines = inProcess(`
    import { stat } from 'node:fs/promises'
    const scheduler = new Scheduler({ round: 0.1 })
    const job = scheduler.spawn(function* () { for (;;) yield })
    job.catch(() => {})
    const heard = { immediates: 0, timers: 0, files: 0 }
    let rounds = 0
    let most = 0
    const enough = () => {
      if (heard.immediates < 50 || heard.timers < 5 || heard.files < 5) return false
      job.cancel()
      return true
    }
    const immediate = () => {
      most = Math.max(most, scheduler.stats().rounds - rounds)
      rounds = scheduler.stats().rounds
      heard.immediates++
      if (!enough()) setImmediate(immediate)
    }
    const timer = () => {
      heard.timers++
      if (!enough()) setTimeout(timer, 0)
    }
    const file = async () => {
      await stat(process.execPath)
      heard.files++
      if (!enough()) file()
    }
    immediate()
    timer()
    file()
    await scheduler.idle()
    console.log('rounds between two immediates: ' + most)`)
  assert.equal(lines, ['rounds between two immediates: 1'])
})

node('the process exits by itself after all jobs have ended', () => {
  const lines = inProcess(`
    console.log(await rt.spawn(function* () {
      for (let n = 0; n < 1000; n++) yield
      return 'done'
    }, { deadline: 1e9 }))`)
  assert.equal(lines, ['done'])
})

node('a job that waits forever and its deadline do not keep the process alive', () => {
  const lines = inProcess(`
    rt.spawn(function* () {
      console.log('waits')
      yield new Promise(() => {})
    }, { deadline: 1e6 })
    rt.idle().then(() => console.log('idle'))`)
  assert.equal(lines, ['waits'])
})

node('a future release or an aborting deadline keeps the process alive until then', () => {
  const lines = inProcess(`
    rt.spawn(() => console.log('released'), { release: rt.now() + 20 })
    rt.spawn(function* () { yield new Promise(() => {}) }, { deadline: 40, miss: 'abort' })
      .catch(error => console.log(error.name))`)
  assert.equal(lines.sort(), ['DeadlineError', 'released'])
})

node('a paused scheduler does not keep the process alive', () => {
  const lines = inProcess(`
    const scheduler = new Scheduler({ paused: true })
    scheduler.spawn(() => console.log('never'), { release: scheduler.now() + 1 })
    scheduler.spawn(() => console.log('never'))
    console.log('end')`)
  assert.equal(lines, ['end'])
})

node('a release beyond the range of setTimeout neither fires early nor warns', () => {
  const lines = inProcess(`
    const job = rt.spawn(() => {}, { release: rt.now() + 2 ** 31 + 1000 })
    job.catch(() => {})
    setTimeout(() => {
      console.log(job.state, rt.stats().rounds)
      job.cancel()
    }, 20)`)
  assert.equal(lines, ['pending 0'])
})

node('each thread has one default host, with the clock of performance', () => {
  const host = defaultHost()
  assert.is(defaultHost(), host)
  const before = performance.now()
  const now = host.now()
  assert.ok(before <= now && now <= performance.now())
  assert.equal([host.frame, host.inputPending, host.hidden()], [undefined, undefined, false])
  assert.is(host.eventTime({ timeStamp: performance.timeOrigin + 5 }), 5)
  const window = { performance: { timeOrigin: performance.timeOrigin + 2000 } } // a frame created later
  const document = { defaultView: window, ownerDocument: null }
  for (const target of [window, document, { ownerDocument: document }]) assert.is(host.eventTime({ timeStamp: 5, target }), 2005)
  for (const target of [null, {}, { ownerDocument: { defaultView: null } }]) assert.is(host.eventTime({ timeStamp: 5, target }), 5)
  const ofPort = runInNewContext('({ timeStamp: 5, target: {} })') // an event from another frame
  assert.ok(Number.isNaN(host.eventTime(ofPort)))
})

node.run()

const peers = suite('alongside timers and the process')

/** Runs a module in its own Node process, on the default host. The process must exit by itself. */
const run = source => new Promise(resolve => {
  const module = new URL('../../rt.mjs', import.meta.url)
  const text = `import { rt, extend } from '${module}'\n${source}`
  const options = { timeout: 60000, killSignal: 'SIGKILL' }
  execFile(process.execPath, ['--input-type=module', '-e', text], options, (error, stdout, stderr) => {
    resolve({ code: error ? error.code ?? error.signal : 0, output: (stdout + stderr).trim() })
  })
})

peers('jobs that never wait do not starve timers', async () => {
  const { host, scheduler } = plainWorld({ except: [], budget: 'auto' })
  const fired = []
  for (const ms of [1, 7, 12]) host.after(ms, () => { fired.push([ms, host.time]) })
  scheduler.spawn(function* () {
    while (fired.length < 3) {
      host.advance(0.25)
      yield
    }
  })
  await host.drain()
  assert.is(fired.every(([ms, time]) => time - ms <= 5.25), true, JSON.stringify(fired))
})

peers('continuations do not starve timers', async () => {
  const { host, scheduler } = plainWorld({ except: [], budget: 'auto' })
  const fired = []
  for (const ms of [1, 7, 12]) host.after(ms, () => { fired.push([ms, host.time]) })
  const loop = async () => {
    while (fired.length < 3) {
      host.advance(0.25)
      await scheduler.yield()
    }
    return 'ended'
  }
  const loops = [loop(), loop(), scheduler.spawn(loop)]
  await host.drain()
  assert.equal(await Promise.all(loops), Array(3).fill('ended'))
  assert.is(fired.every(([ms, time]) => time - ms <= 6), true, JSON.stringify(fired))
})

const busy = {
  'a generator': `rt.spawn(function* () { while (!fired) yield })`,
  'an async job': `rt.spawn(async () => { for (const job = rt.current; !fired;) await job.yield() })`,
  'a continuation': `;(async () => { while (!fired) await rt.yield() })()`,
  'jobs that spawn jobs': `const again = () => { if (!fired) rt.spawn(again) }
    again()`
}

for (const [title, work] of Object.entries(busy)) {
  peers(`in Node timers fire while ${title} keeps the thread busy`, async () => {
    const { code, output } = await run(`
      let fired = 0
      setTimeout(() => { fired++ }, 5)
      ${work}
      process.on('exit', () => console.log(fired))`)
    assert.equal([code, output], [0, '1'])
  })
}

const exits = {
  'is only imported': '',
  'has run its jobs': `await rt.spawn(function* () { for (let n = 0; n < 1000; n++) yield })`,
  'has run async jobs': `await rt.spawn(async () => { for (let n = 0, job = rt.current; n < 1000; n++) await job.yield() })`,
  'has jobs that wait for ever': `rt.spawn(function* () { yield new Promise(() => {}) })
    rt.spawn(function* () { yield new extend.Waitable() }, { deadline: 1e6 })
    rt.spawn(async () => { await new Promise(() => {}) })`,
  'has an alarm that asks for no reference': `extend.at(rt, rt.now() + 1e6, () => {}, { ref: false })`,
  'is paused': `rt.spawn(() => {}, { release: rt.now() + 1e6 })
    rt.pause()
    rt.spawn(() => {})`,
  'has cancelled what was pending': `rt.spawn(() => {}, { release: rt.now() + 1e6 }).cancel()
    extend.at(rt, rt.now() + 1e6, () => {}).cancel()`
}

for (const [title, source] of Object.entries(exits)) {
  peers(`Node is not kept alive by a scheduler that ${title}`, async () => {
    assert.equal(await run(source), { code: 0, output: '' })
  })
}

peers('Node stays alive until pending releases, alarms and aborting deadlines are due', async () => {
  const { code, output } = await run(`
    const seen = []
    rt.spawn(() => seen.push('released'), { release: rt.now() + 10 })
    extend.at(rt, rt.now() + 20, () => seen.push('fired'))
    rt.spawn(function* () { yield new extend.Waitable() }, { deadline: 30, miss: 'abort' }).catch(error => {
      seen.push(error.name)
    })
    process.on('exit', () => console.log(seen.sort().join(' ')))`)
  assert.equal([code, output], [0, 'DeadlineError fired released'])
})

peers.run()
