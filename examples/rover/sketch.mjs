import { Latest } from '../../addons/shared.mjs'
import { FAST_INPUT, HIGH, INPUT, LOW, OUTPUT } from './board.mjs'

/**
 * The sketches of the autonomous vehicle of Qduino (Cheng, Li, West 2015, Listings 1 and 2), with a bumper
 * and a remote control. `loop` and `interrupt` are the functions of addons/reservations.mjs, or stand-ins for
 * them (drive.mjs).
 *
 * @typedef {import('./board.mjs').Board} Board
 *
 * @typedef {object} System
 * @property {(body: () => Generator, options: { capacity: number, period: number }) => void} loop
 * @property {(target: EventTarget, type: string, handler: () => any,
 *   options: { capacity: number, period: number }) => void} interrupt
 */

const leftMotorPin1 = 8
const leftMotorPin2 = 9
const rightMotorPin1 = 6
const rightMotorPin2 = 7
const trigPin = 11
const echoPin = 2
const remoteLeftPin = 4
const remoteRightPin = 5

/** Duration of backing off after a bump, ms. */
const retreat = 300

/**
 * Runs Listing 1: each loop has its own share of the processor.
 * @param {Board} board @param {System} system
 */
export function severalLoops(board, { loop, interrupt }) {
  const { setup, sense, actuate, backOff } = partsOf(board)
  const { delay, millis } = board
  const distChannel = new Latest()
  const bumpChannel = new Latest(-Infinity)

  setup()

  loop(function* actuation() {
    yield actuate(distChannel.read(), bumpChannel.read())
    // Keep motors in current state for fixed period
    yield delay(100)
  }, { capacity: 20, period: 100 })

  loop(function* sensing() {
    distChannel.write(yield sense())
    // Prevent sensor trigger signal being falsely detected as echo using delay
    yield delay(200)
  }, { capacity: 70, period: 100 })

  interrupt(board.bumper, 'bump', function* bumper() {
    bumpChannel.write(millis())
    yield backOff()
  }, { capacity: 2, period: 40 })
}

/**
 * Runs Listing 2: one loop, as in every Arduino sketch.
 * @param {Board} board @param {System} system
 */
export function oneLoop(board, { loop, interrupt }) {
  const { setup, sense, actuate, backOff } = partsOf(board)
  const { delay, millis } = board
  let bumped = -Infinity

  setup()

  loop(function* rover() {
    const distance = yield sense()
    yield delay(200)
    yield actuate(distance, bumped)
    yield delay(100)
  }, { capacity: 80, period: 100 })

  interrupt(board.bumper, 'bump', function* bumper() {
    bumped = millis()
    yield backOff()
  }, { capacity: 2, period: 40 })
}

/** Returns the parts that both sketches share. @param {Board} board */
function partsOf({ pinMode, digitalRead, digitalWrite, delayMicroseconds, millis, pulseIn, Serial }) {
  function setup() {
    for (const pin of [leftMotorPin1, leftMotorPin2, rightMotorPin1, rightMotorPin2]) pinMode(pin, OUTPUT)
    pinMode(trigPin, OUTPUT)
    pinMode(echoPin, FAST_INPUT)
    pinMode(remoteLeftPin, INPUT)
    pinMode(remoteRightPin, INPUT)
  }

  function* goForward() {
    yield digitalWrite(leftMotorPin1, HIGH)
    yield digitalWrite(leftMotorPin2, LOW)
    yield digitalWrite(rightMotorPin1, HIGH)
    yield digitalWrite(rightMotorPin2, LOW)
  }

  function* backOff() {
    yield digitalWrite(leftMotorPin1, LOW)
    yield digitalWrite(leftMotorPin2, HIGH)
    yield digitalWrite(rightMotorPin1, LOW)
    yield digitalWrite(rightMotorPin2, HIGH)
  }

  function* turnLeft() {
    yield digitalWrite(leftMotorPin1, LOW)
    yield digitalWrite(leftMotorPin2, HIGH)
    yield digitalWrite(rightMotorPin1, HIGH)
    yield digitalWrite(rightMotorPin2, LOW)
  }

  function* turnRight() {
    yield digitalWrite(leftMotorPin1, HIGH)
    yield digitalWrite(leftMotorPin2, LOW)
    yield digitalWrite(rightMotorPin1, LOW)
    yield digitalWrite(rightMotorPin2, HIGH)
  }

  /** Measures the distance to the obstacle ahead, cm. */
  function* sense() {
    yield digitalWrite(trigPin, LOW)
    yield delayMicroseconds(2)
    yield digitalWrite(trigPin, HIGH)
    yield delayMicroseconds(10)
    yield digitalWrite(trigPin, LOW)
    const duration = yield pulseIn(echoPin, HIGH)
    return duration / 2 / 29.1
  }

  /** @param {number | undefined} distance cm @param {number} bumped ms */
  function* actuate(distance, bumped) {
    // The rover does not move before the first measurement.
    if (distance === undefined) return
    Serial.println(distance)
    if (millis() - bumped < retreat) {
      yield backOff()
    } else if (distance <= 100) {
      yield backOff()
      yield turnRight()
    } else if (digitalRead(remoteLeftPin) === HIGH) {
      yield turnLeft()
    } else if (digitalRead(remoteRightPin) === HIGH) {
      yield turnRight()
    } else {
      yield goForward()
    }
  }

  return { setup, sense, actuate, backOff }
}
