import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { boardOf, FAST_INPUT, HIGH, LOW, OUTPUT } from '../../examples/rover/board.mjs'
import { scaleFor } from '../../examples/rover/chart.mjs'
import { patientHost } from '../../examples/rover/clock.mjs'
import { drive, slice } from '../../examples/rover/drive.mjs'
import { Intervals } from '../../examples/rover/intervals.mjs'
import { Field, radius, reach, trackWidth, Vehicle } from '../../examples/rover/vehicle.mjs'
import { edf, fp, Scheduler } from '../../rt.mjs'
import { assertTrace, record } from '../support/trace.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

const near = (actual, expected, within = 1e-6) =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not about ${expected}`)
const rounded = value => Math.round(value * 100) / 100

const obstacles = [
  { x: 5, y: 2, radius: 0.4 }, { x: 8, y: 5.5, radius: 0.5 },
  { x: 9.5, y: 2.2, radius: 0.35 }, { x: 3.2, y: 6, radius: 0.35 }
]

/** A rover in a field of 12 by 8 m, on the virtual host. */
function setUp({ policy = edf, obstacles = [], speed = 2, ...place } = {}) {
  const host = virtualHost()
  // Time stamps of events come from a real clock, so the virtual host replaces them.
  host.eventTime = () => host.now()
  const scheduler = new Scheduler({ host, policy, slice })
  const field = new Field(12, 8, obstacles)
  const hits = []
  const vehicle = new Vehicle(field, {
    time: 0, speed, ...place,
    onHit(speed) {
      hits.push({ time: rounded(host.time), speed: rounded(speed) })
      board.bump()
    }
  })
  const actuations = []
  const board = boardOf(vehicle, {
    now: () => host.now(),
    step: () => host.advance(0.05),
    onLine: (line, time) => actuations.push({ time, distance: Number(line) })
  })
  host.frame(function frame() {
    vehicle.advance(host.time)
    host.frame(frame)
  })
  return { host, scheduler, field, vehicle, board, hits, actuations }
}

function driveOn(options, seconds = 0) {
  const rover = setUp(options)
  const { host, scheduler, board } = rover
  const driving = drive(scheduler, { way: options.way, board, step: () => host.advance(0.1) })
  driving.hogs(options.hogs ?? 0)
  host.run({ until: seconds * 1000 })
  assert.equal(host.errors, [])
  return { ...rover, driving }
}

const intervalsOf = actuations =>
  actuations.slice(1).map(({ time }, at) => rounded(time - actuations[at].time))
const range = list => [Math.min(...list), Math.max(...list)]

const field = suite('examples/rover: the field')

field('clearance is the distance to the nearest wall or obstacle', () => {
  const room = new Field(10, 6, [{ x: 5, y: 3, radius: 1 }])
  assert.is(room.clearance(1, 3), 1)
  assert.is(room.clearance(3.5, 3), 0.5)
  assert.is(room.clearance(5, 3), -1)
  assert.is(room.clearance(9, 5.75), 0.25)
})

field('distance counts along a direction and ignores obstacles behind or beside', () => {
  const room = new Field(10, 6, [{ x: 5, y: 3, radius: 1 }])
  near(room.distance(1, 3, 0), 3)
  near(room.distance(1, 3, Math.PI), 1)
  near(room.distance(1, 3, Math.PI / 2), 3)
  near(room.distance(9, 3, 0), 1)
  near(room.distance(1, 1.5, 0), 9)
  near(room.distance(1, 1, Math.PI / 4), 5 * Math.SQRT2)
})

const driving = suite('examples/rover: the vehicle')

driving('the vehicle moves the same distance for any interval of updates', () => {
  const place = ms => {
    const vehicle = new Vehicle(new Field(12, 8), { time: 100, speed: 2, x: 1, y: 4 })
    vehicle.drive(1, 1)
    for (let time = 100; time < 1100; time += ms) vehicle.advance(time)
    vehicle.advance(1100)
    return vehicle
  }
  // A second at 2 m/s, less the distance that the inertia of 80 ms costs.
  near(place(1000).x, 1 + 2 * (1 - 0.08), 0.01)
  near(place(0.3).x, place(1000).x, 0.01)
  assert.is(place(7).y, 4)
})

driving('opposite tracks turn the vehicle on the spot', () => {
  const vehicle = new Vehicle(new Field(12, 8), { time: 0, speed: 2, x: 6, y: 4 })
  vehicle.drive(1, -1)
  vehicle.advance(1000)
  near(vehicle.x, 6)
  near(vehicle.heading, 2 * 2 * (1 - 0.08) / trackWidth, 0.02)
})

driving('the vehicle stops at an obstacle, reports one hit and can drive backwards', () => {
  const hits = []
  const onHit = speed => hits.push(speed)
  const vehicle = new Vehicle(new Field(12, 8), { time: 0, speed: 2, x: 11, y: 4, onHit })
  vehicle.drive(1, 1)
  vehicle.advance(2000)
  assert.is(hits.length, 1)
  assert.ok(hits[0] > 1.5 && hits[0] < 2)
  near(vehicle.x, 12 - radius, 0.01)
  vehicle.drive(-1, -1)
  vehicle.advance(3000)
  assert.ok(vehicle.x < 10.5)
  vehicle.drive(1, 1)
  vehicle.advance(5000)
  assert.is(hits.length, 2)
})

driving('the range is the distance to the nearest obstacle in the beam, up to its reach', () => {
  const room = new Field(12, 8, [{ x: 6, y: 4.6, radius: 0.3 }])
  const rangeAt = (x, heading = 0) => new Vehicle(room, { time: 0, speed: 2, x, y: 4, heading }).range()
  near(rangeAt(9), 3 - radius)
  assert.is(rangeAt(7.5), Infinity)
  assert.ok(rangeAt(4) < 2, 'what is to the side of the way')
  assert.is(rangeAt(5.4), Infinity, 'what is too far to the side')
  assert.ok(rangeAt(8 - reach, Math.PI) <= reach)
})

const pins = suite('examples/rover: the board')

/** Runs a sketch to completion. */
function run({ host, scheduler }, sketch) {
  const job = scheduler.spawn(sketch)
  host.run({ until: host.time + 2000 })
  assert.is(job.state, 'done')
}

for (const [name, levels, expected] of [
  ['HIGH, LOW is forward', [HIGH, LOW, HIGH, LOW], [2, 2]],
  ['LOW, HIGH is backward', [LOW, HIGH, LOW, HIGH], [-2, -2]],
  ['equal levels stand', [HIGH, HIGH, LOW, LOW], [0, 0]],
  ['forward and backward turn', [HIGH, LOW, LOW, HIGH], [2, -2]]
]) {
  pins(`motors: ${name}`, () => {
    const rover = setUp({ x: 6 })
    const { board, vehicle } = rover
    run(rover, function* () {
      const motors = [8, 9, 6, 7]
      for (const pin of motors) board.pinMode(pin, OUTPUT)
      for (const at of [0, 1, 2, 3]) yield board.digitalWrite(motors[at], levels[at])
      assert.is(board.digitalRead(8), levels[0])
    })
    near(vehicle.left, expected[0], 0.01)
    near(vehicle.right, expected[1], 0.01)
  })
}

for (const [x, cm] of [[9, 275], [11.25, 50], [4, 38_000 / 2 / 29.1]]) {
  pins(`a trigger has an echo as long as the way is far: ${Math.round(cm)} cm`, () => {
    const rover = setUp({ x })
    const { host, board } = rover
    run(rover, function* () {
      board.pinMode(11, OUTPUT)
      board.pinMode(2, FAST_INPUT)
      yield board.digitalWrite(11, HIGH)
      yield board.delayMicroseconds(10)
      yield board.digitalWrite(11, LOW)
      const began = host.time
      const duration = yield board.pulseIn(2, HIGH)
      near(duration / 2 / 29.1, cm, 1)
      near(host.time - began, 0.45 + duration / 1000, 0.01)
      assert.is(yield board.pulseIn(2, HIGH), 0, 'an echo is heard once')
    })
  })
}

pins('without a trigger there is no echo', () => {
  const rover = setUp({ x: 9 })
  run(rover, function* () {
    rover.board.pinMode(11, OUTPUT)
    yield rover.board.digitalWrite(11, LOW)
    assert.is(yield rover.board.pulseIn(2, HIGH), 0)
  })
})

pins('a pulse is measured correctly, however late it is read', () => {
  const rover = setUp({ x: 9 })
  run(rover, function* () {
    const { board } = rover
    board.pinMode(11, OUTPUT)
    yield board.digitalWrite(11, HIGH)
    yield board.digitalWrite(11, LOW)
    yield board.delay(500)
    near((yield board.pulseIn(2, HIGH)) / 2 / 29.1, 275, 1)
  })
})

pins('pins without wires throw', () => {
  const rover = setUp()
  const { board } = rover
  run(rover, function* () {
    for (const work of [board.digitalWrite(8, HIGH), board.pulseIn(3, HIGH), board.pulseIn(2, LOW)]) {
      let message
      try {
        yield work
      } catch (error) {
        message = error.message
      }
      assert.match(message, /^pin [238] (is not an output|captures no pulses)$/)
    }
  })
})

const ways = suite('examples/rover: with reservations and without')

for (const [policy, most] of [[edf, 103.3], [fp, 104.6]]) {
  for (const hogs of [0, 1, 8]) {
    ways(`${policy.name}, reservations, ${hogs} hogs: actuations every 101.4 to ${most} ms, no hit`, () => {
      const { actuations, hits } = driveOn({ way: 'reserved', policy, hogs, obstacles, x: 3, y: 4 }, 60)
      assert.equal(hits, [])
      const intervals = intervalsOf(actuations)
      assert.is(intervals.length, 588)
      // The interval is 100 ms and 4 or 8 transfers; with hogs also one step of a hog. Under fp both loops
      // have the same rate, so their transfers alternate when they meet.
      assert.ok(intervals.every(ms => ms >= 101.4 && ms <= most), range(intervals).join())
      assert.ok(actuations.some(({ distance }) => distance <= 100))
    })
  }

  ways(`${policy.name}, turns: every hog delays every transfer`, () => {
    const slowest = [1, 2, 4, 6, 8].map(hogs => {
      const { actuations } = driveOn({ way: 'turns', policy, hogs, x: 3, y: 4 }, 20)
      return Math.floor(range(intervalsOf(actuations))[1])
    })
    assert.equal(slowest, [184, 273, 458, 637, 821])
  })
}

ways('at 2 m/s with 6 hogs, reservations avoid the wall, and turns hit it', () => {
  const starts = Array.from({ length: 16 }, (_, at) => 4 + at / 20)
  const hitsOf = (way, hogs) =>
    starts.filter(x => driveOn({ way, hogs, x, y: 4 }, 5).hits.length > 0).length
  const cases = [['reserved', 6], ['turns', 0], ['turns', 6], ['single', 6]]
  assert.equal(cases.map(([way, hogs]) => hitsOf(way, hogs)), [0, 0, 10, 16])
})

ways('the wall is detected at 79 cm with reservations, and with turns after the hit', () => {
  const noticed = way => {
    const { actuations, hits } = driveOn({ way, hogs: 6, x: 4.45, y: 4 }, 5)
    const { time, distance } = actuations.find(({ distance }) => distance <= 100)
    const nearest = Math.min(...actuations.map(({ distance }) => distance))
    return { time: rounded(time), distance: rounded(distance), nearest: rounded(nearest), hits }
  }
  assert.equal(noticed('reserved'), { time: 3451.7, distance: 79.04, nearest: 64.65, hits: [] })
  assert.equal(noticed('turns'),
    { time: 4237.7, distance: 27.78, nearest: 16.48, hits: [{ time: 4213, speed: 2 }] })
})

ways('a single loop acts only after sensing and its delay', () => {
  const alone = intervalsOf(driveOn({ way: 'single', x: 3, y: 4, obstacles }, 20).actuations)
  // 300 ms of delays, 7 to 11 transfers, and the travel time of the sound.
  assert.ok(alone.every(ms => ms >= 302 && ms <= 343), range(alone).join())
  const beside = intervalsOf(driveOn({ way: 'single', x: 3, y: 4, obstacles, hogs: 6 }, 20).actuations)
  assert.ok(beside.every(ms => ms >= 680), range(beside).join())
})

/** The records of the jobs between two times. */
function traceOf(way, from, to) {
  const { host, scheduler, driving } = driveOn({ way, hogs: 2, x: 3, y: 4 }, from / 1000)
  const recording = record(scheduler, { only: ['wake', 'block', 'resume', 'preempt'] })
  host.run({ until: to })
  recording.stop()
  driving.end()
  return recording
}

ways('an actuation with a reservation runs before the hogs, transfer by transfer', () => {
  assertTrace(traceOf('reserved', 298, 304), `
    303.2  wake    actuation
    303.2  preempt hog by=actuation
    303.2  resume  actuation
    303.55 block   actuation on=Sleep, wake    actuation, resume  actuation
    303.9  block   actuation on=Sleep
    303.9  wake    actuation
    303.9  resume  actuation
    304.25 block   actuation on=Sleep, wake    actuation, resume  actuation
    304.6  block   actuation on=Sleep
    304.6  wake    actuation
    304.6  resume  actuation
    304.6  block   actuation on=Sleep
    304.6  resume  hog
    308.7  preempt hog by=hog
    308.7  resume  hog`)
})

ways('an actuation that takes turns waits for a hog at every transfer', () => {
  assertTrace(traceOf('turns', 315, 366), `
    323.55 preempt hog by=actuation, resume  actuation
    323.9  block   actuation on=Sleep, wake    actuation, resume  hog
    333.9  preempt hog by=sensing, resume  sensing
    334.3  block   sensing on=Sleep, wake    sensing, resume  hog
    344.3  preempt hog by=actuation, resume  actuation
    344.65 block   actuation on=Sleep, wake    actuation, resume  hog
    354.65 preempt hog by=sensing, resume  sensing, block   sensing on=Sleep, resume  hog
    364.65 preempt hog by=actuation, resume  actuation
    365    block   actuation on=Sleep, wake    actuation, resume  hog`)
})

ways('a bump is handled within its bound with reservations, after hogs with turns', () => {
  const latest = way => {
    const { host, scheduler, board, driving } = driveOn({ way, hogs: 6, x: 3, y: 4 }, 1)
    const delays = []
    scheduler.observe(({ type, job }) => {
      if (type === 'start' && job.name === 'bumper') delays.push(job.started - job.release)
    })
    for (let at = 0; at < 20; at++) {
      board.bump()
      host.run({ until: host.time + 61 })
    }
    assert.is(delays.length, 20)
    return { latest: rounded(Math.max(...delays)), worst: driving.worstDelay }
  }
  assert.equal(latest('reserved'), { latest: 0, worst: 77.2 })
  assert.equal(latest('turns'), { latest: 61.6, worst: undefined })
})

ways('after a bump the rover backs off', () => {
  const { host, vehicle, board } = driveOn({ way: 'reserved', hogs: 6, x: 3, y: 4 }, 2)
  const { x } = vehicle
  board.bump()
  host.run({ until: host.time + 300 })
  assert.ok(vehicle.x < x, `${vehicle.x} is ahead of ${x}`)
  assert.ok(vehicle.left < -1.5 && vehicle.right < -1.5)
  host.run({ until: host.time + 500 })
  assert.ok(vehicle.left > 1.5, 'and goes on')
})

ways('the remote control steers while the way is free', () => {
  for (const [side, sign] of [['left', -1], ['right', 1]]) {
    const { host, vehicle, board } = driveOn({ way: 'reserved', hogs: 6, x: 3, y: 4 }, 1)
    board.steer({ left: false, right: false, [side]: true })
    host.run({ until: host.time + 300 })
    assert.ok(vehicle.heading * sign > 0.3, `${side}: ${vehicle.heading}`)
    const { heading } = vehicle
    board.steer({ left: false, right: false })
    host.run({ until: host.time + 500 })
    assert.ok(vehicle.left > 1.5 && vehicle.right > 1.5)
    assert.ok((vehicle.heading - heading) * sign < 0.6)
  }
})

ways('hogs can be added and removed while the rover drives', () => {
  const { host, actuations, driving } = driveOn({ way: 'turns', x: 3, y: 4 }, 1)
  const slowest = () => {
    const from = actuations.length
    host.run({ until: host.time + 1500 })
    return range(intervalsOf(actuations.slice(from)))[1]
  }
  assert.ok(slowest() < 104)
  driving.hogs(6)
  assert.ok(slowest() > 300)
  driving.hogs(0)
  slowest()
  assert.ok(slowest() < 104)
})

for (const way of ['reserved', 'turns', 'single']) {
  ways(`${way}: after end() no job runs, listens or waits`, async () => {
    const { host, scheduler, board, driving, actuations } = driveOn({ way, hogs: 3, x: 3, y: 4 }, 1)
    driving.end()
    const { length } = actuations
    board.bump()
    await host.drain({ until: host.time + 2000 })
    assert.is(actuations.length, length)
    await scheduler.idle()
    assert.equal([host.timers, host.posts], [[], 0])
    // The board and the scheduler can be used again.
    drive(scheduler, { way, board })
  })
}

const figures = suite('examples/rover: displayed figures')

figures('intervals are measured between actuations and not across an interruption', () => {
  const intervals = new Intervals()
  for (const time of [1000, 1100, 1202, 1300]) intervals.add(time)
  intervals.interrupt()
  for (const time of [9000, 9100]) intervals.add(time)
  const { recent, count, min, mean, max } = intervals
  assert.equal(recent, [100, 102, 98, 100])
  assert.equal({ count, min, mean, max }, { count: 4, min: 98, mean: 100, max: 102 })
  near(intervals.deviation, Math.SQRT2)
  for (let i = 0; i < 5000; i++) intervals.add(9200 + i * 100)
  assert.ok(intervals.recent.length < 400)
  assert.is(intervals.count, 5004)
})

figures('the scale fits the largest value', () => {
  assert.equal([0, 103, 200, 201, 590, 9000].map(scaleFor), [200, 200, 200, 400, 600, 1400])
})

figures('a patient clock follows the host and stops while it is not read', () => {
  const host = virtualHost()
  host.eventTime = ({ timeStamp }) => timeStamp
  const patient = patientHost(host, 35)
  const read = ms => {
    host.advance(ms)
    return patient.now()
  }
  assert.equal([read(10), read(35), read(500), read(10)], [10, 45, 80, 90])
  assert.is(patient.eventTime({ timeStamp: host.time - 4 }), 86)
  host.advance(500)
  assert.is(patient.eventTime({ timeStamp: host.time }), 125)
  assert.is(patient.now(), 125)
})

field.run()
driving.run()
pins.run()
ways.run()
figures.run()
