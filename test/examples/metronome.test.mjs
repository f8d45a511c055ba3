import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  Lateness, latenessAt, leadIn, pauseFor, playByTimers, playScheduled, voices, workFrom, workLength
} from '../../examples/metronome/metronome.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

const tempo = 120 // 500 ms per beat
const seconds = 6

/** The timers and the clock of a page, on the virtual host. */
function timersOf(host) {
  const setTimeout = (fn, ms) => host.after(ms, fn)
  const end = cancel => cancel?.()
  return {
    setTimeout,
    clearTimeout: end,
    setInterval(fn, ms) {
      let cancel
      const arm = time => {
        cancel = host.after(Math.max(0, time - host.now()), () => {
          arm(time + ms)
          fn()
        })
      }
      arm(host.now() + ms)
      return () => cancel()
    },
    clearInterval: end
  }
}

function playOn(play, load) {
  const host = virtualHost()
  const ticks = voices.map(() => [])
  let worked = 0
  const end = play({
    tempo,
    load: () => load,
    host,
    timers: timersOf(host),
    step: () => host.advance(0.125),
    onTick: (voice, lateness, time) => ticks[voice].push({ lateness, time }),
    onWork: ms => { worked += ms }
  })
  host.run({ until: seconds * 1000 - 1 })
  return { host, ticks, end, share: () => worked / (seconds * 1000 - workFrom(tempo)) }
}

const due = voices.map(({ beats, offset }) =>
  Math.ceil((seconds * 1000 - leadIn - offset * 500) / (beats * 500) - 1e-9))
const latest = ticks => Math.max(...ticks.flat().map(({ lateness }) => lateness))

const metronome = suite('metronome')

for (const [name, play] of Object.entries({ playScheduled, playByTimers })) {
  metronome(`${name} without load plays each voice on the beat`, () => {
    const { ticks } = playOn(play, 0)
    assert.equal(ticks.map(({ length }) => length), due)
    assert.ok(latest(ticks) < 1e-6)
    assert.equal(ticks[1].map(({ time }) => time - leadIn), [500, 1500, 2500, 3500, 4500, 5500])
  })

  metronome(`${name} stops after end()`, () => {
    const { host, ticks, end } = playOn(play, 0.5)
    const before = ticks.flat().length
    end()
    host.run()
    assert.is(ticks.flat().length, before)
    assert.ok(host.time < (seconds + 1) * 1000)
  })

  metronome(`${name}: the heavy job gets its share of the time`, () => {
    assert.ok(Math.abs(playOn(play, 0.5).share() - 0.5) < 0.03)
  })
}

metronome('under full load the scheduler is late by a budget, timers by a piece of work', () => {
  const scheduled = playOn(playScheduled, 1)
  assert.equal(scheduled.ticks.map(({ length }) => length), due)
  assert.ok(latest(scheduled.ticks) <= 1, `${latest(scheduled.ticks)}`)
  assert.ok(scheduled.share() > 0.98)
  const plain = playOn(playByTimers, 1)
  assert.ok(latest(plain.ticks) > workLength / 2)
  assert.ok(latest(plain.ticks) <= workLength)
})

metronome('latenessAt is negative for a timer that fires early', () => {
  assert.is(latenessAt(999.5, 0, 500), -0.5)
  assert.is(latenessAt(1030, 0, 500), 30)
  assert.is(latenessAt(99.5, 100, 500), -0.5)
})

metronome('pauseFor returns the pause that leaves the share of work', () => {
  assert.is(pauseFor(1), 0)
  assert.is(pauseFor(0.5), workLength)
  assert.is(pauseFor(0), workLength)
})

metronome('Lateness summarizes the last ticks', () => {
  const lateness = new Lateness()
  assert.ok(Number.isNaN(lateness.summary().max))
  for (let ms = 1; ms <= 100; ms++) lateness.add(ms, ms)
  assert.equal(lateness.summary(), { mean: 50.5, p99: 99, max: 100 })
  for (let i = 0; i < 5000; i++) lateness.add(i, 1)
  assert.is(lateness.count, 5100)
  assert.ok(lateness.recent.length < 2000)
  assert.is(lateness.summary().max, 1)
})

metronome.run()
