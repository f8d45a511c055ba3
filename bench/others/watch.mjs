// Measures the page as a user sees it. Runs before any script replaces the functions of the platform.
import { eventTiming, frameRates, spread } from '../../examples/macro/statistics.mjs'
import { watchTimings } from '../../examples/macro/timings.mjs'

const timings = watchTimings()
const drawFrame = requestAnimationFrame.bind(window)
const lengths = () => ['editor', 'filter'].map(id => document.getElementById(id).value.length)
const sum = numbers => numbers.reduce((all, number) => all + Number(number), 0)
/** Inputs that wait for their results: the time of the input, and the length of all typed text. */
const typed = []
let inputs = 0
addEventListener('input', ({ timeStamp }) => {
  inputs++
  typed.push([timeStamp, sum(lengths())])
}, true)

/** Starts measuring. Call `measured(keys)` for the results when `isAnswered(keys)` returns true. */
globalThis.watch = () => {
  const frames = [performance.now()]
  const answers = []
  const status = document.getElementById('status')
  drawFrame(function frame() {
    const now = performance.now()
    frames.push(now)
    const answered = sum(status.value.match(/\d+/g) ?? [])
    while (typed.length > 0 && typed[0][1] <= answered) answers.push(now - typed.shift()[0])
    drawFrame(frame)
  })
  const taken = () => Object.fromEntries(globalThis.report().map(({ name, calls, time, longest }) => [name, { calls, time, longest }]))
  const before = taken()
  globalThis.isAnswered = keys => inputs >= keys && (typed.length === 0 || globalThis.report().length === 0)
  globalThis.measured = async keys => {
    const { events, longFrames } = await timings.between(frames[0], performance.now())
    const after = taken()
    const calls = ['edit', 'find', 'draw', 'send', 'trend'].filter(name => name in after).map(name => ({
      name, calls: after[name].calls - (before[name]?.calls ?? 0), time: after[name].time - (before[name]?.time ?? 0),
      longest: after[name].longest
    }))
    return {
      timing: events && eventTiming(events, keys),
      answer: spread(answers),
      frames: frameRates(frames),
      late: frames.filter((time, i) => i > 0 && time - frames[i - 1] > 50).length,
      longFrames,
      calls,
      result: ['preview', 'grid', 'status'].map(id => document.getElementById(id).innerHTML).join()
    }
  }
}
