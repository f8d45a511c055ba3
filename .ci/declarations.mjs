// Generates the .d.mts files of the package: `npm pack` runs this script before it packs.
//
// tsc declares every type that JSDoc mentions, and exports each typedef. This script keeps the exports of the public modules
// and all types that these exports mention. It removes declarations with @internal, and files without public declarations.
// The declarations of the examples, whose JSDoc is not checked strictly, stay unchanged.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join, posix } from 'node:path'

const tsc = process.env.PATH.split(delimiter).map(folder => join(folder, 'tsc')).find(existsSync)
// The output goes to stderr: `npm pack` prints the name of the archive, and callers read only that.
const declare = (...options) => execFileSync(tsc, ['--declaration', '--emitDeclarationOnly', '--allowJs', '--target', 'es2022',
  '--module', 'nodenext', '--lib', 'es2023,dom,dom.iterable', '--typeRoots', 'none', ...options], { stdio: [0, 2, 2] })
const addons = readdirSync('addons').filter(name => name.endsWith('.mjs')).map(name => `addons/${name}`)
const modules = ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...addons]
declare('--checkJs', '--strict', '--noEmitOnError', ...modules)
declare(...['devtools', 'gantt', 'region', 'trace-events'].map(name => `examples/${name}.mjs`))

const ts = createRequire(realpathSync(tsc))('typescript')
const declarationOf = module => module.replace(/\.mjs$/, '.d.mts')

/**
 * A declaration file.
 *
 * @typedef {object} File
 * @property {string} path
 * @property {any} source the syntax tree
 * @property {Map<string, any[]>} named the statements that declare each name; overloads share one
 * @property {Set<any>} kept statements
 * @property {Set<string>} exported types that another file mentions
 */
/** @type {Map<string, File>} */
const files = new Map()

const isInternal = node => ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')
const isExported = node => ts.isExportDeclaration(node) || ts.isExportAssignment(node) ||
  node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)

/** @param {string} path @returns {File} */
function fileAt(path) {
  const known = files.get(path)
  if (known) return known
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const file = { path, source, named: new Map(), kept: new Set(), exported: new Set() }
  for (const node of source.statements) {
    for (const name of namesIn(node)) file.named.set(name, [...file.named.get(name) ?? [], node])
  }
  files.set(path, file)
  return file
}

/** The names that a statement declares or imports. */
function namesIn({ importClause, declarationList, name }) {
  if (importClause !== undefined) return importClause.namedBindings.elements.map(({ name }) => name.text)
  return [(name ?? declarationList?.declarations[0].name)?.text]
}

/** Keeps a name that another file mentions. @param {string} from @param {string} specifier @param {string} name */
function keepOf(from, specifier, name) {
  if (!specifier.startsWith('.')) return
  const file = fileAt(declarationOf(posix.join(posix.dirname(from), specifier)))
  file.exported.add(name)
  for (const node of file.named.get(name) ?? []) keep(file, node)
  for (const node of file.source.statements) {
    if (ts.isExportDeclaration(node) && node.exportClause?.elements.some(element => element.name.text === name)) keep(file, node)
  }
}

/** @param {File} file @param {any} node a statement */
function keep(file, node) {
  if (file.kept.has(node) || isInternal(node)) return
  file.kept.add(node)
  if (node.moduleSpecifier) {
    const { elements } = node.exportClause ?? node.importClause.namedBindings
    for (const { name, propertyName } of elements) {
      if (node.importClause && !mentions(file, name.text)) continue
      keepOf(file.path, node.moduleSpecifier.text, (propertyName ?? name).text)
    }
    return
  }
  const visit = part => {
    if (isInternal(part)) return
    if (ts.isIdentifier(part)) file.named.get(part.text)?.forEach(other => keepNamed(file, other, part.text))
    if (ts.isImportTypeNode(part) && part.qualifier) keepOf(file.path, part.argument.literal.text, part.qualifier.getText(file.source))
    part.forEachChild(visit)
  }
  node.forEachChild(visit)
}

/** Imported names that kept statements mention, by file. @type {Map<File, Set<string>>} */
const mentioned = new Map()
const mentions = (file, name) => mentioned.get(file)?.has(name)

/** @param {File} file @param {any} node @param {string} name */
function keepNamed(file, node, name) {
  if (!node.importClause) return keep(file, node)
  const names = mentioned.get(file) ?? new Set()
  mentioned.set(file, names.add(name))
  file.kept.add(node)
  const { elements } = node.importClause.namedBindings
  const element = elements.find(element => element.name.text === name)
  keepOf(file.path, node.moduleSpecifier.text, (element.propertyName ?? element.name).text)
}

for (const module of modules) {
  const file = fileAt(declarationOf(module))
  for (const node of file.source.statements) {
    if (isExported(node) && !ts.isTypeAliasDeclaration(node)) keep(file, node)
  }
}
for (const file of files.values()) writeFileSync(file.path, textOf(file))
for (const path of readdirSync('addons', { recursive: true }).map(name => `addons/${name}`)) {
  if (path.endsWith('.d.mts') && !(files.get(path)?.kept.size > 0)) rmSync(path)
}

/** @param {File} file @returns {string} */
function textOf({ source, kept, exported }) {
  const text = node => source.text.slice(node.pos, node.end)
  const classes = [...kept].filter(node => ts.isClassDeclaration(node) && !isExported(node)).map(({ name }) => name.text)
  return source.statements.filter(node => kept.has(node)).map(node =>
    editsIn(node).toSorted((a, b) => b.start - a.start || b.end - a.end).reduce((left, { start, end, instead }) =>
      left.slice(0, start - node.pos) + instead + left.slice(end - node.pos), text(node))
  ).join('').trimStart() + (classes.length > 0 ? `\nexport type { ${classes.join(', ')} };\n` : '\n')
}

/**
 * Removes internal members. An optional property also accepts `undefined`, as the modules do: otherwise
 * `{ signal: rt.current?.signal }` would not compile with exactOptionalPropertyTypes.
 *
 * @param {any} node a statement @returns {{ start: number, end: number, instead: string }[]}
 */
function editsIn(node) {
  const edits = []
  const visit = part => {
    if (part.parent === node && node.members?.includes(part) && isInternal(part)) {
      const instead = ts.isConstructorDeclaration(part) ? '\n    private constructor();' : ''
      edits.push({ start: part.pos, end: part.end, instead })
      return
    }
    if (ts.isPropertySignature(part) && part.questionToken && part.type) {
      const { type } = part
      const isEnclosed = !ts.isFunctionTypeNode(type) && !ts.isConditionalTypeNode(type)
      edits.push({ start: type.end, end: type.end, instead: isEnclosed ? ' | undefined' : ') | undefined' })
      if (!isEnclosed) edits.push({ start: type.getStart(), end: type.getStart(), instead: '(' })
    }
    part.forEachChild(visit)
  }
  node.forEachChild(visit)
  return edits
}
