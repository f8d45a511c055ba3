import { Box3, BufferAttribute, BufferGeometry, CatmullRomCurve3, Matrix4, Object3D, Quaternion, Raycaster, SphereGeometry, Vector3 } from 'three'

export const inputs = (name, which) => Array.from({ length: 5 }, (_, i) => new Vector3(i + which, i * i, 5 - i))

export const calls = {
  curve: list => new CatmullRomCurve3(list).getPoints(8).map(({ x, y, z }) => [x, y, z].join()),
  box: list => new Box3().setFromPoints(list).getSize(new Vector3()).toArray(),
  matrix: list => new Matrix4().lookAt(list[0], list[1], list[2]).invert().toArray(),
  quaternion: list => new Quaternion().setFromUnitVectors(list[1].normalize(), list[2].normalize()).toArray(),
  scene(list) {
    const parent = new Object3D()
    for (const point of list) parent.add(new Object3D().translateX(point.x).rotateY(point.y))
    parent.updateMatrixWorld(true)
    return parent.children.map(({ matrixWorld }) => matrixWorld.elements.join())
  },
  geometry: list => new BufferGeometry().setAttribute('position', new BufferAttribute(new Float32Array(list.flatMap(point => point.toArray())), 3)).center().attributes.position.array.join(),
  sphere: list => new SphereGeometry(list[1].x, 4, 3).attributes.position.count,
  ray: list => new Raycaster(list[0], list[1].normalize()).ray.distanceToPoint(list[3])
}
