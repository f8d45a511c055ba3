/**
 * A rover on two tracks in a walled field, seen from above. Lengths in m, times in ms, angles in radians from
 * the x axis towards the y axis, which points down.
 */

/** @typedef {{ x: number, y: number, radius: number }} Obstacle */

/** Radius of the rover, m. */
export const radius = 0.25
/** Distance between the track centres, m. Tracks skid in a turn, so this is wider than the rover. */
export const trackWidth = 1
/** Range of the range finder, m. */
export const reach = 4
/** Half of the range finder's opening angle. */
export const beam = Math.PI / 9
const rays = 9
/** Time constant of the tracks, ms: after this time the speed error has fallen to 1/e. */
const inertia = 80
const longestStep = 4

/** The walled field with its obstacles. */
export class Field {
  /** @type {Obstacle[]} */
  obstacles = []

  /** @param {number} width @param {number} height @param {Obstacle[]} [obstacles] */
  constructor(width, height, obstacles = []) {
    this.width = width
    this.height = height
    this.obstacles = obstacles.map(obstacle => ({ ...obstacle }))
  }

  /**
   * Returns the distance from a point to the nearest wall or obstacle; negative inside of one.
   * @param {number} x @param {number} y
   */
  clearance(x, y) {
    let least = Math.min(x, y, this.width - x, this.height - y)
    for (const obstacle of this.obstacles) {
      least = Math.min(least, Math.hypot(x - obstacle.x, y - obstacle.y) - obstacle.radius)
    }
    return least
  }

  /**
   * Returns the distance from a point to the first wall or obstacle in a direction.
   * @param {number} x @param {number} y @param {number} angle
   */
  distance(x, y, angle) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
    let least = Math.min(
      cos > 0 ? (this.width - x) / cos : cos < 0 ? -x / cos : Infinity,
      sin > 0 ? (this.height - y) / sin : sin < 0 ? -y / sin : Infinity
    )
    for (const obstacle of this.obstacles) {
      const along = (obstacle.x - x) * cos + (obstacle.y - y) * sin
      const beside = (obstacle.y - y) * cos - (obstacle.x - x) * sin
      const half = obstacle.radius ** 2 - beside ** 2
      if (along > 0 && half > 0) least = Math.min(least, along - Math.sqrt(half))
    }
    return Math.max(0, least)
  }
}

/**
 * The rover. Its position changes only when `advance` is called with a later time.
 */
export class Vehicle {
  /** Speeds of the tracks, m/s. */
  left = 0
  right = 0
  isTouching = false
  #time
  #drive = { left: 0, right: 0 }
  #onHit

  /**
   * @param {Field} field
   * @param {object} options
   * @param {number} options.time time of the initial position, ms
   * @param {number} options.speed speed of a running motor, m/s
   * @param {number} [options.x]
   * @param {number} [options.y]
   * @param {number} [options.heading]
   * @param {(speed: number) => void} [options.onHit] called with the speed, m/s, when the rover hits
   *   something
   */
  constructor(field, options) {
    const { time, speed, x = field.width / 4, y = field.height / 2, heading = 0, onHit = () => {} } = options
    this.field = field
    this.speed = speed
    this.x = x
    this.y = y
    this.heading = heading
    this.#time = time
    this.#onHit = onHit
  }

  /** Sets the motors: 1 forward, -1 backward, 0 stop. @param {number} left @param {number} right */
  drive(left, right) {
    this.#drive = { left, right }
  }

  /** @param {number} time ms */
  advance(time) {
    while (this.#time < time) {
      const ms = Math.min(longestStep, time - this.#time)
      this.#time += ms
      this.#step(ms)
    }
  }

  /**
   * Returns the distance to the nearest obstacle in the beam of the range finder, m; Infinity beyond its
   * range.
   */
  range() {
    const { field, heading } = this
    const x = this.x + radius * Math.cos(heading)
    const y = this.y + radius * Math.sin(heading)
    let least = Infinity
    for (let ray = 0; ray < rays; ray++) {
      least = Math.min(least, field.distance(x, y, heading + beam * (2 * ray / (rays - 1) - 1)))
    }
    return least <= reach ? least : Infinity
  }

  /** @param {number} ms */
  #step(ms) {
    const rest = Math.exp(-ms / inertia)
    const follow = (speed, drive) => drive * this.speed + (speed - drive * this.speed) * rest
    this.left = follow(this.left, this.#drive.left)
    this.right = follow(this.right, this.#drive.right)
    const way = (this.left + this.right) / 2 * ms / 1000
    this.heading += (this.left - this.right) / trackWidth * ms / 1000
    const x = this.x + way * Math.cos(this.heading)
    const y = this.y + way * Math.sin(this.heading)
    const clearance = this.field.clearance(x, y)
    if (clearance < radius) return this.#touch()
    this.x = x
    this.y = y
    if (clearance > radius + 0.02) this.isTouching = false
  }

  /** Stops the rover at an obstacle. It can still turn. */
  #touch() {
    const speed = (this.left + this.right) / 2
    this.left -= speed
    this.right -= speed
    if (this.isTouching) return
    this.isTouching = true
    this.#onHit(Math.abs(speed))
  }
}
