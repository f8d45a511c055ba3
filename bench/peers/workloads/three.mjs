import {
  Box3,
  BufferGeometry,
  CatmullRomCurve3,
  Color,
  Euler,
  Float32BufferAttribute,
  Frustum,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  Object3D,
  PerspectiveCamera,
  Quaternion,
  Raycaster,
  Scene,
  Shape,
  ShapeGeometry,
  SphereGeometry,
  TorusKnotGeometry,
  Vector3
} from 'three'
import { digest, seeded } from './inputs.mjs'

export const sizes = { small: 2, full: 250 }

const rounded = list => Array.from(list, value => Math.round(value * 1e5) / 1e5)

export function main(size) {
  const random = seeded(1)
  const scene = new Scene()
  let parent = scene
  for (let i = 0; i < size; i++) {
    const mesh = new Mesh(
      i % 2 ? new SphereGeometry(1, 3 + size / 5, 2 + size / 5) : new TorusKnotGeometry(1, 0.4, 3 + size / 2, 8),
      new MeshBasicMaterial({ color: new Color().setHSL(i / size, 0.5, 0.5) })
    )
    mesh.position.set(random.real(-9, 9), random.real(-9, 9), random.real(-30, -5))
    mesh.quaternion.setFromEuler(new Euler(i, i * 2, i * 3))
    ;(i % 5 ? parent : scene).add(mesh)
    if (i % 5 === 0) parent = mesh
  }
  scene.updateMatrixWorld(true)
  const camera = new PerspectiveCamera(60, 1, 0.1, 100)
  camera.updateMatrixWorld()
  const frustum = new Frustum().setFromProjectionMatrix(
    new Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse)
  )
  let seen = 0
  scene.traverse(object => {
    if (object.isMesh && frustum.intersectsObject(object)) seen++
  })
  const hits = []
  for (let i = 0; i < size / 6; i++) {
    const caster = new Raycaster(
      new Vector3(0, 0, 0),
      new Vector3(random.real(-0.5, 0.5), random.real(-0.5, 0.5), -1).normalize()
    )
    hits.push(
      ...caster
        .intersectObjects(scene.children)
        .map(({ distance, faceIndex }) => [Math.round(distance * 1e4), faceIndex])
    )
  }
  const geometry = new BufferGeometry().setAttribute(
    'position',
    new Float32BufferAttribute(
      Array.from({ length: size * 9 }, () => random.real(-1, 1)),
      3
    )
  )
  geometry.computeVertexNormals()
  geometry.computeBoundingSphere()
  const shape = new Shape().moveTo(0, 0).lineTo(5, 0).bezierCurveTo(6, 2, 6, 3, 5, 5).lineTo(0, 5)
  const object = new Object3D()
  object.lookAt(1, 2, 3)
  return [
    seen,
    hits.length,
    digest(hits),
    rounded(new Box3().setFromObject(scene).getSize(new Vector3()).toArray()),
    digest(rounded(geometry.getAttribute('normal').array)),
    new ShapeGeometry(shape, 4).index.count,
    rounded(
      new CatmullRomCurve3([new Vector3(), new Vector3(1, 2, 3), new Vector3(4, 0, 1)])
        .getSpacedPoints(5)
        .flatMap(p => p.toArray())
    ),
    rounded(new Quaternion().slerpQuaternions(object.quaternion, new Quaternion(), 0.3).toArray()),
    digest(scene.toJSON().object.children.length)
  ]
}
