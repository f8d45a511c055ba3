// Declares the modules' types. What tsc declares of JSDoc is everything: each typedef is exported, `stripInternal` is for
// TypeScript only. This keeps of the three modules' declarations what users can reach, and leaves out what is marked
// @internal; those of the examples, which are not checked strictly, stay as they are.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'

const tsc = process.env.PATH.split(delimiter).map(folder => join(folder, 'tsc')).find(existsSync)
// What it says goes where errors go: `npm pack` prints the name of the archive, and who asks for that reads nothing else.
const declare = (...options) => execFileSync(tsc, ['--declaration', '--emitDeclarationOnly', '--allowJs', '--target', 'es2022',
  '--module', 'nodenext', '--lib', 'es2023,dom,dom.iterable', '--typeRoots', 'none', ...options], { stdio: [0, 2, 2] })
declare('--checkJs', '--strict', '--noEmitOnError', 'rt.mjs', 'alarms.mjs', 'sync.mjs')
declare(...['devtools', 'gantt', 'region', 'trace-events'].map(name => `examples/${name}.mjs`))

const ts = createRequire(realpathSync(tsc))('typescript')

/** Types of rt.mjs that the declarations of the others import. @type {Set<string>} */
const imported = new Set()

for (const path of readdirSync('.').filter(name => name.endsWith('.d.mts')).sort(name => name === 'rt.d.mts' ? 1 : -1)) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  writeFileSync(path, declarations(source))
}

/** @param {any} source @returns {string} */
function declarations(source) {
  const text = node => source.text.slice(node.pos, node.end)
  const isInternal = node => ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')
  const isExported = node => ts.isExportDeclaration(node) || ts.isExportAssignment(node) ||
    node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  /** Values that are exported are public, and all that they mention. */
  const isPublic = node => isExported(node) && (!ts.isTypeAliasDeclaration(node) || imported.has(node.name.text))
  const namesIn = ({ importClause, declarationList, name }) => importClause !== undefined
    ? importClause.namedBindings.elements.map(({ name }) => name.text)
    : [(name ?? declarationList?.declarations[0].name)?.text]

  const kept = new Set()
  /** Overloads share a name. @type {Map<string, any[]>} */
  const named = new Map()
  for (const node of source.statements) {
    for (const name of namesIn(node)) named.set(name, [...named.get(name) ?? [], node])
  }
  const keep = node => {
    if (kept.has(node) || isInternal(node)) return
    kept.add(node)
    const visit = part => {
      if (isInternal(part)) return
      if (ts.isIdentifier(part)) named.get(part.text)?.forEach(keep)
      part.forEachChild(visit)
    }
    node.forEachChild(visit)
  }
  source.statements.filter(isPublic).forEach(keep)
  for (const node of kept) if (ts.isImportDeclaration(node)) namesIn(node).forEach(name => imported.add(name))

  const exported = [...kept].filter(node => ts.isClassDeclaration(node) && !isExported(node)).map(({ name }) => name.text)
  return source.statements.filter(node => kept.has(node)).map(node => {
    const members = [...node.members ?? []].filter(isInternal)
    return members.toReversed().reduce((left, member) => {
      const instead = ts.isConstructorDeclaration(member) ? '\n    private constructor();' : ''
      return left.slice(0, member.pos - node.pos) + instead + left.slice(member.end - node.pos)
    }, text(node))
  }).join('').trimStart() + (exported.length > 0 ? `\nexport type { ${exported.join(', ')} };\n` : '\n')
}
