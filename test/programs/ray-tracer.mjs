// Spheres, a checkered floor, shadows and reflections: small vectors as objects, closures as surfaces.

const vector = (x, y, z) => ({ x, y, z })
const times = (k, v) => vector(k * v.x, k * v.y, k * v.z)
const minus = (a, b) => vector(a.x - b.x, a.y - b.y, a.z - b.z)
const plus = (a, b) => vector(a.x + b.x, a.y + b.y, a.z + b.z)
const dot = (a, b) => a.x * b.x + a.y * b.y + a.z * b.z
const length = v => Math.sqrt(dot(v, v))
const normal = v => times(1 / (length(v) || 1e-12), v)
const cross = (a, b) => vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)

const colour = {
  scale: (k, c) => ({ r: k * c.r, g: k * c.g, b: k * c.b }),
  plus: (a, b) => ({ r: a.r + b.r, g: a.g + b.g, b: a.b + b.b }),
  times: (a, b) => ({ r: a.r * b.r, g: a.g * b.g, b: a.b * b.b }),
  black: { r: 0, g: 0, b: 0 },
  white: { r: 1, g: 1, b: 1 },
  byte: v => Math.floor(Math.min(v, 1) * 255)
}

class Sphere {
  constructor(centre, radius, surface) {
    this.centre = centre
    this.squared = radius * radius
    this.surface = surface
  }

  normal(at) {
    return normal(minus(at, this.centre))
  }

  intersect(ray) {
    const towards = minus(this.centre, ray.start)
    const v = dot(towards, ray.direction)
    let distance = 0
    if (v >= 0) {
      const discriminant = this.squared - (dot(towards, towards) - v * v)
      if (discriminant >= 0) distance = v - Math.sqrt(discriminant)
    }
    return distance === 0 ? null : { thing: this, ray, distance }
  }
}

class Plane {
  constructor(direction, offset, surface) {
    this.direction = direction
    this.offset = offset
    this.surface = surface
  }

  normal() {
    return this.direction
  }

  intersect(ray) {
    const denominator = dot(this.direction, ray.direction)
    if (denominator > 0) return null
    return { thing: this, ray, distance: (dot(this.direction, ray.start) + this.offset) / -denominator }
  }
}

const shiny = {
  diffuse: () => colour.white,
  specular: () => ({ r: 0.5, g: 0.5, b: 0.5 }),
  reflect: () => 0.7,
  roughness: 250
}

const checkered = {
  diffuse: at => (Math.floor(at.z) + Math.floor(at.x)) % 2 !== 0 ? colour.white : colour.black,
  specular: () => colour.white,
  reflect: at => (Math.floor(at.z) + Math.floor(at.x)) % 2 !== 0 ? 0.1 : 0.7,
  roughness: 150
}

class Tracer {
  depth = 5

  closest(ray, scene) {
    return scene.things
      .map(thing => thing.intersect(ray))
      .reduce((best, hit) => hit !== null && (best === null || hit.distance < best.distance) ? hit : best, null)
  }

  trace(ray, scene, depth) {
    const hit = this.closest(ray, scene)
    return hit === null ? colour.black : this.shade(hit, scene, depth)
  }

  shade({ thing, ray, distance }, scene, depth) {
    const { direction } = ray
    const at = plus(times(distance, direction), ray.start)
    const upright = thing.normal(at)
    const reflected = minus(direction, times(2, times(dot(upright, direction), upright)))
    const natural = scene.lights.reduce((sum, light) => this.light(thing, at, upright, scene, reflected, sum, light),
      colour.black)
    const mirrored = depth >= this.depth ? { r: 0.5, g: 0.5, b: 0.5 }
      : colour.scale(thing.surface.reflect(at), this.trace({ start: at, direction: reflected }, scene, depth + 1))
    return colour.plus(natural, mirrored)
  }

  light(thing, at, upright, scene, reflected, sum, light) {
    const towards = minus(light.at, at)
    const direction = normal(towards)
    const near = this.closest({ start: at, direction }, scene)
    if (near !== null && near.distance <= length(towards)) return sum
    const illumination = dot(direction, upright)
    const lit = illumination > 0 ? colour.scale(illumination, light.colour) : colour.black
    const specular = dot(direction, normal(reflected))
    const shine = specular > 0 ? colour.scale(specular ** thing.surface.roughness, light.colour) : colour.black
    return colour.plus(sum, colour.plus(colour.times(thing.surface.diffuse(at), lit),
      colour.times(thing.surface.specular(at), shine)))
  }

  render(scene, size, paint) {
    const { camera } = scene
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) {
        const sideways = times((x - size / 2) / 2 / size, camera.right)
        const upwards = times(-(y - size / 2) / 2 / size, camera.up)
        const direction = normal(plus(camera.forward, plus(sideways, upwards)))
        paint(x, y, this.trace({ start: camera.at, direction }, scene, 0))
      }
    }
  }
}

function camera(at, lookAt) {
  const forward = normal(minus(lookAt, at))
  const right = times(1.5, normal(cross(forward, vector(0, -1, 0))))
  return { at, forward, right, up: times(1.5, normal(cross(forward, right))) }
}

export function main(size) {
  const pixels = []
  new Tracer().render({
    things: [
      new Plane(vector(0, 1, 0), 0, checkered),
      new Sphere(vector(0, 1, -0.25), 1, shiny),
      new Sphere(vector(-1, 0.5, 1.5), 0.5, shiny)
    ],
    lights: [
      { at: vector(-2, 2.5, 0), colour: { r: 0.49, g: 0.07, b: 0.07 } },
      { at: vector(1.5, 2.5, 1.5), colour: { r: 0.07, g: 0.07, b: 0.49 } },
      { at: vector(0, 3.5, 0), colour: { r: 0.21, g: 0.21, b: 0.35 } }
    ],
    camera: camera(vector(3, 2, 4), vector(-1, 0.5, 0))
  }, size, (x, y, { r, g, b }) => pixels.push(colour.byte(r) << 16 | colour.byte(g) << 8 | colour.byte(b)))
  return pixels
}

export const sizes = { small: 5, full: 190 }
