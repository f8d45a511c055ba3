import ts from 'typescript'
import { digest, javascript } from './inputs.mjs'

export const sizes = { small: 1, full: 10 }

const declarations = `
interface Array<T> { length: number; [n: number]: T; map<U>(f: (x: T, i: number) => U): U[]; push(...items: T[]): number }
interface Boolean {} interface CallableFunction {} interface Function {} interface IArguments {} 
interface NewableFunction {} interface Number {} interface Object {} interface RegExp {} interface String { length: number }
`

const typed = count =>
  Array.from(
    { length: count },
    (_, i) => `
namespace N${i} {
  type Shape = { kind: 'circle', r: number } | { kind: 'square', side: number };
  type Deep<T> = { readonly [K in keyof T]: T[K] extends object ? Deep<T[K]> : T[K] };
  enum Level { Low = ${i}, High }
  abstract class Base<T> { constructor(protected value: T) {} abstract get(): T; map<U>(f: (x: T) => U): U { return f(this.value) } }
  class Own extends Base<number> { get() { return this.value + Level.High } }
  const area = (s: Shape): number => s.kind === 'circle' ? s.r * s.r : s.side ** 2;
  const wrong: string = area({ kind: 'circle', r: ${i} });
  const own: Deep<{ a: { b: Own } }> = { a: { b: new Own(${i}) } };
  own.a.b = new Own(1);
  let list = [1, 2, 3].map((x, i) => \`\${x}\${i}\`); list.push(5); missing${i}();
}`
  ).join('\n')

export function main(size) {
  const files = new Map(
    [
      ['lib.d.ts', declarations],
      ['main.ts', typed(size)],
      ['other.ts', javascript(size)]
    ].map(([name, text]) => [name, text])
  )
  const host = {
    getSourceFile: (name, version) =>
      files.has(name) ? ts.createSourceFile(name, files.get(name), version, true) : undefined,
    getDefaultLibFileName: () => 'lib.d.ts',
    writeFile: () => {},
    getCurrentDirectory: () => '',
    getCanonicalFileName: name => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    fileExists: name => files.has(name),
    readFile: name => files.get(name)
  }
  const program = ts.createProgram(['main.ts'], { target: ts.ScriptTarget.ES2022, strict: true, types: [] }, host)
  const problems = ts
    .getPreEmitDiagnostics(program)
    .map(({ code, start, messageText }) => `${code} ${start} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  const written = []
  program.emit(undefined, (name, text) => {
    written.push(name, digest(text))
  })
  const { outputText, diagnostics } = ts.transpileModule(files.get('other.ts'), {
    compilerOptions: { target: ts.ScriptTarget.ES5, module: ts.ModuleKind.CommonJS },
    reportDiagnostics: true
  })
  let identifiers = 0
  const visit = node => {
    if (ts.isIdentifier(node)) identifiers++
    ts.forEachChild(node, visit)
  }
  visit(program.getSourceFile('main.ts'))
  return [digest(problems.join('\n')), problems.length, written, digest(outputText), diagnostics.length, identifiers]
}
