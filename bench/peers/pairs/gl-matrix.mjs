import { mat3, mat4, quat, vec3 } from 'gl-matrix'

export const inputs = (name, which) => [which + 1, 2, 3 - which]

export const calls = {
  multiply: ([x, y, z]) => mat4.str(mat4.multiply([], mat4.fromRotation(mat4.create(), x, [x, y, z]), mat4.fromScaling([], [x, y, z]))),
  invert: list => mat4.str(mat4.invert([], mat4.fromTranslation([], list))),
  each: list => vec3.forEach([...list, ...list, ...list], 3, 0, 3, vec3.normalize, null).join(),
  rotate: list => quat.str(quat.rotationTo([], vec3.normalize([], list), vec3.normalize([], [3, 2, 1]))),
  normal: list => mat3.str(mat3.normalFromMat4([], mat4.fromTranslation([], list)))
}
