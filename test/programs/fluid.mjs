// Jos Stam's stable fluids on a grid: closures over typed arrays, callbacks, no objects in the inner loops.

function FluidField(width, height, iterations) {
  var rowSize = width + 2
  var size = (width + 2) * (height + 2)
  var fields = { u: zeros(), v: zeros(), u0: zeros(), v0: zeros(), dens: zeros(), dens0: zeros() }

  function zeros() {
    return new Float64Array(size)
  }

  function addFields(x, s, dt) {
    for (var i = 0; i < size; i++) x[i] += dt * s[i]
  }

  function setBoundary(b, x) {
    var last = width + 1
    for (var i = 1; i <= width; i++) {
      x[i] = b === 2 ? -x[i + rowSize] : x[i + rowSize]
      x[i + (height + 1) * rowSize] = b === 2 ? -x[i + height * rowSize] : x[i + height * rowSize]
    }
    for (var j = 1; j <= height; j++) {
      x[j * rowSize] = b === 1 ? -x[1 + j * rowSize] : x[1 + j * rowSize]
      x[last + j * rowSize] = b === 1 ? -x[width + j * rowSize] : x[width + j * rowSize]
    }
    x[0] = 0.5 * (x[1] + x[rowSize])
    x[last] = 0.5 * (x[last - 1] + x[last + rowSize])
    var end = (height + 1) * rowSize
    x[end] = 0.5 * (x[1 + end] + x[end - rowSize])
    x[end + last] = 0.5 * (x[end + width] + x[end + last - rowSize])
  }

  function solve(b, x, x0, a, c) {
    for (var k = 0; k < iterations; k++) {
      for (var j = 1; j <= height; j++) {
        var at = j * rowSize + 1
        for (var i = 1; i <= width; i++, at++) {
          x[at] = (x0[at] + a * (x[at - 1] + x[at + 1] + x[at - rowSize] + x[at + rowSize])) / c
        }
      }
      setBoundary(b, x)
    }
  }

  function advect(b, d, d0, u, v, dt) {
    for (var j = 1; j <= height; j++) {
      for (var i = 1; i <= width; i++) {
        var at = j * rowSize + i
        var x = Math.min(Math.max(i - dt * width * u[at], 0.5), width + 0.5)
        var y = Math.min(Math.max(j - dt * height * v[at], 0.5), height + 0.5)
        var i0 = x | 0, j0 = y | 0
        var s1 = x - i0, s0 = 1 - s1, t1 = y - j0, t0 = 1 - t1
        var corner = i0 + j0 * rowSize
        d[at] = s0 * (t0 * d0[corner] + t1 * d0[corner + rowSize]) +
          s1 * (t0 * d0[corner + 1] + t1 * d0[corner + 1 + rowSize])
      }
    }
    setBoundary(b, d)
  }

  function project(u, v, p, div) {
    var h = -0.5 / Math.sqrt(width * height)
    for (var j = 1; j <= height; j++) {
      for (var i = 1; i <= width; i++) {
        var at = j * rowSize + i
        div[at] = h * (u[at + 1] - u[at - 1] + v[at + rowSize] - v[at - rowSize])
        p[at] = 0
      }
    }
    setBoundary(0, div)
    setBoundary(0, p)
    solve(0, p, div, 1, 4)
    for (var row = 1; row <= height; row++) {
      for (var column = 1; column <= width; column++) {
        var cell = row * rowSize + column
        u[cell] -= 0.5 * width * (p[cell + 1] - p[cell - 1])
        v[cell] -= 0.5 * height * (p[cell + rowSize] - p[cell - rowSize])
      }
    }
    setBoundary(1, u)
    setBoundary(2, v)
  }

  function swap(a, b) {
    var kept = fields[a]
    fields[a] = fields[b]
    fields[b] = kept
  }

  this.update = function (source) {
    var dt = 0.1
    source(function (x, y, density, vx, vy) {
      var at = (x + 1) + (y + 1) * rowSize
      fields.dens0[at] = density
      fields.u0[at] = vx
      fields.v0[at] = vy
    })
    addFields(fields.u, fields.u0, dt)
    addFields(fields.v, fields.v0, dt)
    project(fields.u, fields.v, fields.u0, fields.v0)
    swap('u', 'u0')
    swap('v', 'v0')
    advect(1, fields.u, fields.u0, fields.u0, fields.v0, dt)
    advect(2, fields.v, fields.v0, fields.u0, fields.v0, dt)
    project(fields.u, fields.v, fields.u0, fields.v0)
    addFields(fields.dens, fields.dens0, dt)
    swap('dens', 'dens0')
    solve(0, fields.dens, fields.dens0, 0, 1)
    swap('dens', 'dens0')
    advect(0, fields.dens, fields.dens0, fields.u, fields.v, dt)
    fields.u0.fill(0)
    fields.v0.fill(0)
    fields.dens0.fill(0)
  }

  this.density = function (x, y) {
    return fields.dens[(x + 1) + (y + 1) * rowSize]
  }
}

export function main(size) {
  var field = new FluidField(size, size, 20)
  for (var step = 0; step < 24; step++) {
    field.update(function (add) {
      if (step % 4 === 0) for (var i = 0; i < size; i += 2) add(i, i, 5, i % 3, -1)
    })
  }
  var result = []
  for (var y = 0; y < size; y++) for (var x = 0; x < size; x++) result.push(field.density(x, y))
  return result
}

export const sizes = { small: 2, full: 110 }
