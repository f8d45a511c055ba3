#!/bin/bash
# Compiles the programs of this directory to JavaScript with Scala.js and ClojureScript. Needs Java and Maven.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p build/classes build/linker build/scala

mvn -q -f scala/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/build/scala-jars"
jars=$(printf '%s:' build/scala-jars/*.jar)
java -cp "$jars" scala.tools.nsc.Main -cp "$jars" -d build/linker scala/link.scala
java -cp "$jars" scala.tools.nsc.Main -cp "$jars" -Xplugin:"$(echo build/scala-jars/scalajs-compiler_*.jar)" \
  -d build/classes scala/programs.scala
java -cp "build/linker:$jars" Link build/scala build/classes \
  build/scala-jars/scalajs-library_*.jar build/scala-jars/scalajs-javalib-*.jar
mv build/scala/main.js build/scala.mjs

mvn -q -f clojure/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/build/clojure-jars"
java -cp "$(printf '%s:' build/clojure-jars/*.jar)clojure/src" clojure.main -m cljs.main \
  -d build/clojure -o build/clojure.js -O advanced -c programs.core
# The compiler exports the functions as members of the global object, `this || self`.
{
  echo 'const self = {}'
  cat build/clojure.js
  echo 'export const programs = self.programs.core'
} > build/clojure.mjs
