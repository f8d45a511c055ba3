import scala.scalajs.js.annotation._
import scala.collection.mutable

class Body(var x: Double, var y: Double, var z: Double, var vx: Double, var vy: Double, var vz: Double, val mass: Double)

class NBody {
  val bodies = Array(
    new Body(0,0,0,0,0,0,39.47),
    new Body(4.84,-1.16,-0.10,0.6,2.81,-0.02,0.037),
    new Body(8.34,4.12,-0.4,-1.01,1.82,0.008,0.011),
    new Body(12.89,-15.11,-0.22,1.08,0.868,-0.01,0.0017),
    new Body(15.37,-25.9,0.179,0.979,0.594,-0.034,0.002))
  def advance(dt: Double): Unit = {
    for (i <- bodies.indices) {
      val a = bodies(i)
      for (j <- i + 1 until bodies.length) {
        val b = bodies(j)
        val dx = a.x - b.x; val dy = a.y - b.y; val dz = a.z - b.z
        val d2 = dx*dx + dy*dy + dz*dz
        val mag = dt / (d2 * math.sqrt(d2))
        a.vx -= dx*b.mass*mag; a.vy -= dy*b.mass*mag; a.vz -= dz*b.mass*mag
        b.vx += dx*a.mass*mag; b.vy += dy*a.mass*mag; b.vz += dz*a.mass*mag
      }
    }
    bodies.foreach { b => b.x += dt*b.vx; b.y += dt*b.vy; b.z += dt*b.vz }
  }
}

sealed trait Tree
case object Leaf extends Tree
case class Node(left: Tree, key: Int, right: Tree) extends Tree
object Tree {
  def insert(t: Tree, k: Int): Tree = t match {
    case Leaf => Node(Leaf, k, Leaf)
    case Node(l, x, r) => if (k < x) Node(insert(l, k), x, r) else if (k > x) Node(l, x, insert(r, k)) else t
  }
  def size(t: Tree): Int = t match { case Leaf => 0; case Node(l, _, r) => size(l) + 1 + size(r) }
}

@JSExportTopLevel("programs")
object Programs {
  @JSExport def nbody(n: Int): Double = {
    val s = new NBody
    var i = 0
    while (i < n) { s.advance(0.01); i += 1 }
    s.bodies(0).x
  }
  @JSExport def queens(n: Int): Int = {
    def place(row: Int, placed: List[Int]): Int =
      if (row == n) 1
      else (0 until n).filter(c => placed.zipWithIndex.forall { case (p, i) => p != c && math.abs(p - c) != i + 1 }).map(c => place(row + 1, c :: placed)).sum
    place(0, Nil)
  }
  @JSExport def words(n: Int): Int = {
    val counts = mutable.HashMap.empty[String, Int]
    for (i <- 0 until n) {
      val w = "w" + (i * 7919 % 997)
      counts(w) = counts.getOrElse(w, 0) + 1
    }
    counts.toSeq.sortBy(-_._2).take(10).map(_._2).sum + counts.size
  }
  @JSExport def tree(n: Int): Int = {
    var t: Tree = Leaf
    for (i <- 0 until n) t = Tree.insert(t, (i * 7919) % 10007)
    Tree.size(t)
  }
  @JSExport def longs(n: Int): String = {
    var a = 1L
    for (i <- 0 until n) a = a * 6364136223846793005L + i
    a.toString
  }
  @JSExport def streams(n: Int): Int = {
    def sieve(s: Stream[Int]): Stream[Int] = s.head #:: sieve(s.tail.filter(_ % s.head != 0))
    sieve(Stream.from(2)).take(n).sum
  }
}
