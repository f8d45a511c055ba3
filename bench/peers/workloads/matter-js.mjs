import Matter from 'matter-js'

export const sizes = { small: 1, full: 300 }

export function main(size) {
  Matter.Common._nextId = 0
  Matter.Common._seed = 0
  const engine = Matter.Engine.create()
  const boxes = Matter.Composites.stack(100, 0, size > 9 ? 12 : 2, size > 9 ? 8 : 1, 3, 3, (x, y) =>
    Matter.Bodies.polygon(x, y, 3 + (((x + y) | 0) % 4), 14, { friction: 0.1 })
  )
  const events = []
  Matter.Events.on(engine, 'collisionStart', ({ pairs }) => {
    events.push(pairs.length)
  })
  Matter.Composite.add(engine.world, [
    boxes,
    Matter.Bodies.rectangle(200, 400, 800, 40, { isStatic: true }),
    Matter.Constraint.create({ bodyA: boxes.bodies[0], pointB: { x: 100, y: 50 } })
  ])
  for (let i = 0; i < size; i++) Matter.Engine.update(engine, 1000 / 60)
  return [
    boxes.bodies.map(({ position, angle }) => [position.x, position.y, angle]),
    events.length,
    Matter.Query.point(boxes.bodies, boxes.bodies[1].position).length
  ]
}
