import { Body, Box, Quaternion, Sphere, Vec3, World } from 'cannon-es'

export const inputs = (name, which) => Array.from({ length: 4 }, (_, i) => (i + 1) * (which + 1) * 0.4)

export const calls = {
  spheres(list) {
    const world = new World({ gravity: new Vec3(0, -9.8, 0) })
    for (const x of list) world.addBody(new Body({ mass: x, shape: new Sphere(1), position: new Vec3(x, x * 2, 0) }))
    for (let i = 0; i < 4; i++) world.step(1 / 60)
    return world.bodies.map(body => body.position.toString())
  },
  boxes(list) {
    const world = new World({ gravity: new Vec3(0, -9.8, 0) })
    for (const x of list.slice(0, 2)) world.addBody(new Body({ mass: 1, shape: new Box(new Vec3(1, x, 1)), position: new Vec3(0, x * 2, 0) }))
    for (let i = 0; i < 2; i++) world.step(1 / 60)
    return world.bodies.map(body => body.position.toString())
  },
  quaternion: list => list.map(x => new Quaternion().setFromEuler(x, 1, 2).vmult(new Vec3(1, x, 3)).toString()),
  tangents: list => list.map(x => {
    const [one, other] = [new Vec3(), new Vec3()]
    new Vec3(x, 1, 2).unit().tangents(one, other)
    return `${one} ${other}`
  }),
  inertia: list => list.map(x => new Box(new Vec3(x, 1, 2)).calculateLocalInertia(x).toString())
}
