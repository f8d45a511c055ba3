// Runs three endless jobs, or ?jobs=, next to an animation and a key handler on the default scheduler. After
// ?seconds= the page posts its measurements to ?report=.
import { rt } from '../../rt.mjs'
import { elapse, report } from './page.mjs'

const parameters = new URL(location.href).searchParams
const duration = Number(parameters.get('seconds')) * 1000

const rounds = Array(Number(parameters.get('jobs') ?? 3)).fill(0)
const frames = []
let keys = 0
let measuring = false

for (const index of rounds.keys()) {
  rt.spawn(function* () {
    for (let value = index; ; rounds[index]++) {
      // About a microsecond of work between two preemption points.
      for (let i = 0; i < 500; i++) value = Math.imul(value, 48271) + i | 0
      yield
    }
  }, { name: `load ${index + 1}` })
}

const moving = document.getElementById('moving')
requestAnimationFrame(function show(time) {
  if (measuring) frames.push(performance.now())
  moving.style.transform = `translateX(${100 + 100 * Math.sin(time / 300)}px)`
  requestAnimationFrame(show)
})

const typed = document.getElementById('typed')
addEventListener('keydown', event => {
  if (measuring && event.isTrusted) keys++
  typed.value = event.key
})

await elapse(1000)
const before = { ...rt.stats(), time: performance.now(), rounds: [...rounds] }
measuring = true
await elapse(duration)
measuring = false
const after = { ...rt.stats(), time: performance.now(), rounds: [...rounds] }
const spent = after.time - before.time

report({
  isolated: crossOriginIsolated,
  framesPerSecond: frames.length > 1 ? (frames.length - 1) / (frames.at(-1) - frames[0]) * 1000 : 0,
  keysPerSecond: keys / spent * 1000,
  busy: (after.busy - before.busy) / spent,
  longestRound: after.longestRound,
  longestBudget: after.longestBudget,
  rounds: after.rounds.map((count, index) => count - before.rounds[index])
})
