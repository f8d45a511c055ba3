import { Box, Circle, EdgeShape, RevoluteJoint, Vec2, World } from 'planck'

export const sizes = { small: 1, full: 120 }

export function main(size) {
  const world = new World({ gravity: new Vec2(0, -10) })
  const ground = world.createBody()
  ground.createFixture(new EdgeShape(new Vec2(-40, 0), new Vec2(40, 0)), 0)
  const bodies = []
  for (let i = 0; i < (size > 9 ? 90 : 3); i++) {
    const body = world.createDynamicBody(new Vec2((i % 10) * 1.1 - 5, 2 + ((i / 10) | 0) * 1.2))
    body.createFixture(i % 2 ? new Circle(0.5) : new Box(0.5, 0.5), { density: 1, friction: 0.3, restitution: 0.1 })
    bodies.push(body)
  }
  world.createJoint(
    new RevoluteJoint({ motorSpeed: 1, maxMotorTorque: 20, enableMotor: true }, ground, bodies[0], new Vec2(0, 2))
  )
  let contacts = 0
  world.on('begin-contact', () => {
    contacts++
  })
  for (let i = 0; i < size; i++) world.step(1 / 60)
  const hits = []
  world.rayCast(new Vec2(-10, 1), new Vec2(10, 1), (fixture, point) => {
    hits.push(point.x)
    return 1
  })
  return [
    bodies.map(body => [body.getPosition().x, body.getPosition().y, body.getAngle()]),
    contacts,
    hits.sort((a, b) => a - b)
  ]
}
