import { reals } from './inputs.mjs'

function advance(bodies, dt) {
  for (let i = 0; i < bodies.length; i++) {
    const a = bodies[i]
    for (let j = i + 1; j < bodies.length; j++) {
      const b = bodies[j]
      const dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z
      const squared = dx * dx + dy * dy + dz * dz + 0.01
      const magnitude = dt / (squared * Math.sqrt(squared))
      a.vx -= dx * b.mass * magnitude
      a.vy -= dy * b.mass * magnitude
      a.vz -= dz * b.mass * magnitude
      b.vx += dx * a.mass * magnitude
      b.vy += dy * a.mass * magnitude
      b.vz += dz * a.mass * magnitude
    }
  }
  for (const body of bodies) {
    body.x += dt * body.vx
    body.y += dt * body.vy
    body.z += dt * body.vz
  }
}

function energy(bodies) {
  let sum = 0
  bodies.forEach((a, i) => {
    sum += a.mass * (a.vx ** 2 + a.vy ** 2 + a.vz ** 2) / 2
    for (const b of bodies.slice(i + 1)) {
      sum -= a.mass * b.mass / Math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2 + (a.z - b.z) ** 2 + 0.01)
    }
  })
  return sum
}

function simulate(bodies, steps, dt) {
  const before = energy(bodies)
  for (let step = 0; step < steps; ++step) advance(bodies, dt)
  return { before, after: energy(bodies), bodies }
}

function inputs(size) {
  const values = reals(7 * 5, 9)
  const bodies = Array.from({ length: 5 }, (_, i) => {
    const [mass, x, y, z, vx, vy, vz] = values.subarray(i * 7)
    return { mass: Math.abs(mass), x, y, z, vx, vy, vz }
  })
  return [bodies, size, 0.001]
}

export default {
  name: 'n-body',
  kind: 'calls',
  fn: simulate,
  calls: { advance, energy },
  inputs,
  sizes: [0, 1, 20],
  benchSize: 50_000
}
