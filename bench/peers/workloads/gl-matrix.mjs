import { mat4, quat, vec3 } from 'gl-matrix'

export const sizes = { small: 5, full: 400000 }

export function main(size) {
  const matrix = mat4.create(),
    view = mat4.create(),
    other = mat4.create(),
    turn = quat.create(),
    point = vec3.fromValues(1, 2, 3)
  let sum = 0
  for (let i = 0; i < size; i++) {
    mat4.perspective(matrix, 0.8 + (i % 3) / 10, 1.5, 0.1, 100)
    mat4.lookAt(view, [0, i % 10, 5], [0, 0, 0], [0, 1, 0])
    quat.setAxisAngle(turn, [0, 1, 0], i / 100)
    mat4.fromRotationTranslation(other, turn, point)
    mat4.multiply(matrix, matrix, view)
    mat4.multiply(matrix, matrix, other)
    mat4.invert(other, matrix)
    sum += vec3.transformMat4(vec3.create(), point, matrix)[0] + (other?.[5] ?? 0)
  }
  return [
    sum,
    Array.from(matrix),
    vec3.str(point),
    Array.from(vec3.forEach([1, 2, 3, 4, 5, 6], 3, 0, 2, (out, a, k) => vec3.scale(out, a, k), 2))
  ]
}
