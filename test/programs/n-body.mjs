// The planets of the Computer Language Benchmarks Game in symplectic steps: constructors and plain loops.

const solarMass = 4 * Math.PI * Math.PI
const daysPerYear = 365.24

function Body(x, y, z, vx, vy, vz, mass) {
  this.x = x
  this.y = y
  this.z = z
  this.vx = vx * daysPerYear
  this.vy = vy * daysPerYear
  this.vz = vz * daysPerYear
  this.mass = mass * solarMass
}

Body.prototype.offsetMomentum = function (px, py, pz) {
  this.vx = -px / solarMass
  this.vy = -py / solarMass
  this.vz = -pz / solarMass
  return this
}

function planets() {
  return [
    new Body(0, 0, 0, 0, 0, 0, 1),
    new Body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
      0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023, 0.000954791938424326609),
    new Body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
      -0.00276742510726411036, 0.00499852801234917238, 0.0000230417297573763929, 0.000285885980666130812),
    new Body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
      0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556, 0.0000436624404335156298),
    new Body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
      0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870, 0.0000515138902046611451)
  ]
}

function System(bodies) {
  this.bodies = bodies
  var px = 0, py = 0, pz = 0
  for (var i = 0; i < bodies.length; i++) {
    px += bodies[i].vx * bodies[i].mass
    py += bodies[i].vy * bodies[i].mass
    pz += bodies[i].vz * bodies[i].mass
  }
  bodies[0].offsetMomentum(px, py, pz)
}

System.prototype.advance = function (dt) {
  var bodies = this.bodies
  var size = bodies.length
  for (var i = 0; i < size; i++) {
    var a = bodies[i]
    for (var j = i + 1; j < size; j++) {
      var b = bodies[j]
      var dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z
      var squared = dx * dx + dy * dy + dz * dz
      var magnitude = dt / (squared * Math.sqrt(squared))
      a.vx -= dx * b.mass * magnitude
      a.vy -= dy * b.mass * magnitude
      a.vz -= dz * b.mass * magnitude
      b.vx += dx * a.mass * magnitude
      b.vy += dy * a.mass * magnitude
      b.vz += dz * a.mass * magnitude
    }
  }
  for (var k = 0; k < size; k++) {
    var body = bodies[k]
    body.x += dt * body.vx
    body.y += dt * body.vy
    body.z += dt * body.vz
  }
}

System.prototype.energy = function () {
  var e = 0
  for (var i = 0; i < this.bodies.length; i++) {
    var a = this.bodies[i]
    e += 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz)
    for (var j = i + 1; j < this.bodies.length; j++) {
      var b = this.bodies[j]
      var dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z
      e -= a.mass * b.mass / Math.sqrt(dx * dx + dy * dy + dz * dz)
    }
  }
  return e
}

export function main(steps) {
  var system = new System(planets())
  var before = system.energy()
  for (var i = 0; i < steps; i++) system.advance(0.01)
  return [before, system.energy()]
}

export const sizes = { small: 20, full: 1000000 }
