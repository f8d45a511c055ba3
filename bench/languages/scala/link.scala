import org.scalajs.linker._
import org.scalajs.linker.interface._
import org.scalajs.logging._
import scala.concurrent._, duration._, ExecutionContext.Implicits.global
object Link { def main(a: Array[String]): Unit = {
  val cfg = StandardConfig().withModuleKind(ModuleKind.ESModule).withOptimizer(true).withSourceMap(false).withClosureCompiler(false)
  val linker = StandardImpl.linker(cfg)
  val cache = StandardImpl.irFileCache().newCache
  val cp = a.drop(1).map(p => java.nio.file.Paths.get(p)).toSeq
  val out = PathOutputDirectory(java.nio.file.Paths.get(a(0)))
  val r = for { (cs, _) <- PathIRContainer.fromClasspath(cp); ir <- cache.cached(cs); _ <- linker.link(ir, Nil, out, new ScalaConsoleLogger(Level.Warn)) } yield ()
  Await.result(r, 10.minutes)
}}
