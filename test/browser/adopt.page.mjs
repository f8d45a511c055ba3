import { Scheduler } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { adopt } from '../../addons/adopt.mjs'
import * as plain from '../support/page-cases.mjs'
import { elapse, equal, inWorker, ok, test } from './page.mjs'

const inFirefox = navigator.userAgent.includes('Firefox')

const url = new URL('../support/page-cases.mjs', import.meta.url)
const rewritten = preemptify.import(url)

// A busy machine interrupts rounds. Microtasks that come after the end of a round are deferred, and a callback of a
// higher rank can then overtake them. So rounds are long.
const round = 1000

const ways = {
  'by itself': [async () => plain, null],
  adopted: [async () => plain, {}],
  'adopted, with twins': [() => rewritten, { round }],
  'suspended at every point': [() => rewritten, { budget: 1, round }]
}

for (const [way, [load, options]] of Object.entries(ways)) {
  for (const title of Object.keys({ ...plain.pageCases, ...plain.browserCases, ...inWorker ? {} : plain.windowCases })) {
    test(`${title}: ${way}`, async () => {
      const scripts = await load()
      const { log: expected, errors = '', run } = { ...scripts.pageCases, ...scripts.browserCases, ...scripts.windowCases }[title]
      const log = []
      const thrown = []
      const onError = event => {
        event.preventDefault()
        thrown.push(event.error.message)
      }
      addEventListener('error', onError)
      const scheduler = options && new Scheduler(options)
      const adoption = options && adopt(globalThis, { scheduler, warn: false })
      const channels = []
      const source = () => {
        const { port1: target, port2 } = new MessageChannel()
        channels.push(target)
        target.start()
        return { target, type: 'message', fire: () => port2.postMessage(null) }
      }
      try {
        run({ window: globalThis, log: text => log.push(text), source })
        const words = () => log.join(' ').split(' ').length
        for (let looks = 0; looks < 800 && (words() < expected.split(' ').length || thrown.join(', ') !== errors); looks++) await elapse(10)
        await elapse(0)
      } finally {
        adoption?.release()
        removeEventListener('error', onError)
        for (const port of channels) port.close()
      }
      equal(log.join(' '), expected)
      equal(thrown.join(', '), errors)
    })
  }
}

test('release restores all properties of the page', () => {
  const holders = ['EventTarget', 'HTMLElement', 'Document', 'MessagePort', 'MutationObserver', 'XMLHttpRequest', 'Worker']
    .map(name => globalThis[name]?.prototype).filter(Boolean)
  for (let holder = globalThis; holder !== null; holder = Object.getPrototypeOf(holder)) holders.push(holder)
  const look = () => holders.map(holder => Object.getOwnPropertyDescriptors(holder))
  const before = look()
  const changed = () => look().flatMap((all, index) => Reflect.ownKeys(all)
    .filter(name => ['value', 'get', 'set', 'writable', 'enumerable', 'configurable'].some(part => !Object.is(all[name][part], before[index][name]?.[part])))
    .map(String))
  equal(changed(), [])
  const adoption = adopt(globalThis, { warn: false })
  ok(['setTimeout', 'addEventListener', 'MutationObserver', 'onmessage'].every(name => inWorker && name === 'MutationObserver' || changed().includes(name)), changed().join())
  adoption.release()
  equal(changed(), [])
})

if (!inWorker) {
  test('events and errors of an adopted iframe belong to its window', async () => {
    const frame = document.createElement('iframe')
    document.body.append(frame)
    const { contentWindow: window } = frame
    const adoption = adopt(window, { warn: false })
    const log = []
    const note = event => {
      event.preventDefault()
      log.push(event.message.replace(/.*: /, ''))
    }
    addEventListener('error', note) // for errors of the outer page
    window.onerror = message => {
      log.push(`within: ${message.replace(/.*: /, '')}`)
      return true
    }
    const target = new window.EventTarget()
    const listener = event => {
      log.push(inFirefox || window.event === event)
      throw new Error(event.type)
    }
    for (const each of [listener, { handleEvent: listener }]) target.addEventListener('note', each)
    window.document.body.onclick = listener
    target.dispatchEvent(new window.Event('note'))
    window.document.body.click()
    window.setTimeout(() => { throw new Error('timer') })
    for (let looks = 0; looks < 800 && log.length < 7; looks++) await elapse(10)
    adoption.release()
    frame.remove()
    removeEventListener('error', note)
    equal(log, [true, 'within: note', true, 'within: note', true, 'within: click', 'within: timer'])
  })
}
