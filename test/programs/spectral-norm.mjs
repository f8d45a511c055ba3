// Tiny functions that the innermost loops call.

function a(i, j) {
  return 1 / ((i + j) * (i + j + 1) / 2 + i + 1)
}

function multiplyAv(n, v, result) {
  for (var i = 0; i < n; ++i) {
    var sum = 0
    for (var j = 0; j < n; ++j) sum += a(i, j) * v[j]
    result[i] = sum
  }
}

function multiplyAtv(n, v, result) {
  for (var i = 0; i < n; ++i) {
    var sum = 0
    for (var j = 0; j < n; ++j) sum += a(j, i) * v[j]
    result[i] = sum
  }
}

function multiplyAtAv(n, v, result, scratch) {
  multiplyAv(n, v, scratch)
  multiplyAtv(n, scratch, result)
}

export function main(n) {
  var u = [], v = [], w = [], vBv = 0, vv = 0
  for (var i = 0; i < n; ++i) {
    u[i] = 1
    v[i] = w[i] = 0
  }
  for (var k = 0; k < 10; ++k) {
    multiplyAtAv(n, u, v, w)
    multiplyAtAv(n, v, u, w)
  }
  for (var m = 0; m < n; ++m) {
    vBv += u[m] * v[m]
    vv += v[m] * v[m]
  }
  return Math.sqrt(vBv / vv)
}

export const sizes = { small: 10, full: 1200 }
