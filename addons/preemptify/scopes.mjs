/**
 * addons/preemptify/scopes.mjs: binds names to variables, and collects facts about each function.
 *
 * One walk over the tree gives each node its parent, each function its `Facts` (loops, calls, awaits, tries),
 * each block its `Scope`, and each identifier its `Variable`. The predicates at the end answer whether a name
 * keeps its value.
 */

import {
  NO_ARGUMENTS, append, create, endsWith, freeze, isArray, keysOf, matches, pick, trimmed
} from './primordials.mjs'
/** @import { Edit } from './edits.mjs' */

/**
 * @typedef {any} Node as ESTree has it, with `parent`; an identifier also has `scope`, `variable` and
 *   `isDynamic`
 */
/**
 * A function, or other code that is run as one: Program, StaticBlock, and PropertyDefinition for its value.
 *
 * The lists are in the order of the source. What the head of a function holds, its parameters, is among them.
 * Arrow functions use the `this`, `arguments`, `super`, `new.target` and direct eval of the function around
 * them: then that uses them, too.
 *
 * @typedef {object} Facts
 * @property {Node} node
 * @property {Facts | null} parent
 * @property {boolean} isArrow
 * @property {boolean} isAsync
 * @property {boolean} isGenerator
 * @property {boolean} isStrict by what the source says
 * @property {boolean} isMethod of an object or a class, constructors and accessors too
 * @property {boolean} isConstructor
 * @property {boolean} isAccessor
 * @property {boolean} isDerived a constructor of a class that extends
 * @property {boolean} usesThis
 * @property {boolean} usesArguments
 * @property {boolean} usesSuper
 * @property {boolean} usesNewTarget
 * @property {boolean} usesEval direct
 * @property {boolean} hasWith
 * @property {boolean} awaitsDisposal by an `await using`
 * @property {Facts[]} functions those directly in it
 * @property {Node[]} loops
 * @property {Node[]} calls, `new` and tagged templates too
 * @property {Node[]} awaits
 * @property {Node[]} yields
 * @property {Node[]} spreads in lists
 * @property {Node[]} returns
 * @property {Node[]} tries
 * @property {Node[]} statements that are expressions
 * @property {Node[]} declarations of variables
 * @property {Node[]} words `this`, `super`, `new.target`, `import.meta`
 * @property {Node[]} classes
 * @property {Edit[]} edits of its text, whatever is made of it
 * @property {Scope[]} scopes in it, but in functions in it; that of the name of a function expression too
 * @property {Scope} scope where its `var`s are
 */
/**
 * What is declared between two braces, or between a parenthesis and a brace. Parameters and body share one,
 * unless parameters hold expressions.
 *
 * @typedef {object} Scope
 * @property {Node} node
 * @property {Scope | null} parent
 * @property {number} depth
 * @property {Facts} facts of the function that it is in
 * @property {boolean} isStrict
 * @property {boolean} isDynamic it may get variables while it runs: that of a `with`, or where a sloppy eval
 *   is
 * @property {boolean} hasEval whether a direct eval is in it, or in what it holds
 * @property {boolean} isSplit whether there are expressions among its parameters
 * @property {Record<string, Variable>} variables
 * @property {Variable[]} declared the same variables as a list
 * @property {Scope | null} barrier the innermost that is dynamic, from this one outwards
 */
/**
 * @typedef {object} Variable
 * @property {string} name
 * @property {string} kind 'var', 'let', 'const', 'using', 'await using', 'function', 'class', 'parameter',
 *   'catch', 'import', 'name' of a function expression or, in the class, of a class, 'arguments' of a
 *   function
 * @property {Scope} scope
 * @property {Node[]} declarations identifiers
 * @property {Node[]} references identifiers
 * @property {boolean} isAssigned elsewhere than where it is declared
 * @property {boolean} isOpen whether other scripts can assign to the variable, or declare it again
 * @property {boolean} isDynamic whether an eval may use it, or a reference may mean another one
 * @property {boolean} isNumber whether it may begin as 0 in a twin that leaves frames: see isNumber
 * @property {Variable | undefined} outer the one that it hides
 */

/** Fields that are read, although what has them is assigned to or declares. */
const READ = /^(?:key|property|object|right|init|body|superClass)$/
/** Fields whose identifiers are no references, unless they are computed. */
const LABELS = /^(?:\w+\.(?:key|property|meta|label|imported|exported)|(?:Function|Arrow)\w+\.id)$/
/** Parts that have a scope of their own, which other parts of the same node are outside of. */
const INNER = /^(?:SwitchStatement\.cases|WithStatement\.body|PropertyDefinition\.value)$/
/**
 * What the identifiers of a field are: see names.
 *
 * @typedef {{ key: string, role: string | undefined, isLabel: boolean }} Field
 */
/** By types. @type {Record<string, Field[]>} */
// @ts-ignore
const FIELDS = { __proto__: null, Identifier: [] }

/** The fields that hold its parts, as those of all nodes of its type do. @param {Node} node */
export const fieldsOf = node => FIELDS[node.type] ??= fieldsIn(node)

/** @param {Node} node */
function fieldsIn(node) {
  /** @type {Field[]} */
  const fields = []
  pick(keysOf(node), key => {
    if (typeof node[key] !== 'object' || key === 'parent') return
    const place = `${node.type}.${key}`
    append(fields, { key, role: matches(INNER, place) ? 'inner' : matches(READ, key) ? '' : undefined, isLabel: matches(LABELS, place) })
  })
  return fields
}

/** The lists of Facts by what they hold. @type {any} */
export const LISTS = {
  __proto__: null,
  ForStatement: 'loops',
  ForInStatement: 'loops',
  ForOfStatement: 'loops',
  WhileStatement: 'loops',
  DoWhileStatement: 'loops',
  CallExpression: 'calls',
  NewExpression: 'calls',
  TaggedTemplateExpression: 'calls',
  AwaitExpression: 'awaits',
  YieldExpression: 'yields',
  SpreadElement: 'spreads',
  ReturnStatement: 'returns',
  TryStatement: 'tries',
  ExpressionStatement: 'statements',
  VariableDeclaration: 'declarations',
  ClassDeclaration: 'classes',
  ClassExpression: 'classes',
  ThisExpression: 'words',
  Super: 'words',
  MetaProperty: 'words'
}

/** The lists of `Facts` that the walk over the tree fills. */
const COLLECTED = [
  'functions', 'scopes', 'loops', 'calls', 'awaits', 'yields', 'spreads', 'returns', 'tries', 'statements',
  'declarations', 'words'
]

/** @param {Node} node */
export const isDirectEval = ({ type, callee, optional }) => type === 'CallExpression' && callee.name === 'eval' && !optional

/** Whether one of the directives that it begins with says so. @param {any} body */
export function isStrictBody(body) {
  for (let i = 0; body?.[i]?.directive !== undefined; i++) if (body[i].directive === 'use strict') return true
  return false
}

/** @param {string} name @param {string} kind @param {Scope} scope @returns {Variable} */
export function variableOf(name, kind, scope) {
  return {
    name, kind, scope, declarations: [], references: [], isAssigned: false, isOpen: false, isDynamic: false,
    isNumber: false, outer: undefined
  }
}

/** The variables of scopes that declare none. Most blocks of minified text declare none. @type {any} */
const NO_VARIABLES = /* @__PURE__ */ freeze(create(null))

/** Adds a variable to a scope. @param {Scope} scope @param {Variable} variable */
function addVariable(scope, variable) {
  if (scope.variables === NO_VARIABLES) {
    scope.variables = create(null)
    scope.declared = [variable]
  } else {
    append(scope.declared, variable)
  }
  return scope.variables[variable.name] = variable
}

/**
 * @param {Node} id @param {string} kind @param {Scope} scope where it is
 * @param {Scope} target whose variable it is
 */
function declare(id, kind, scope, target = kind === 'var' ? scope.facts.scope : scope) {
  const { name } = id
  const known = target.variables[name]
  const variable = known ?? addVariable(target, variableOf(name, kind, target))
  if (known) append(known.declarations, id)
  else variable.declarations = [id]
  id.scope ??= scope
  id.variable ??= variable // that of a class is declared outside and inside of it
  return variable
}

/** Finds names, by functions that are made once: see reader. */
function namer() {
  /** Scopes and identifiers, as they begin. @type {any[]} */
  let order = []
  let tree = /** @type {Node} */ (null)
  let hoists = false
  let scope = /** @type {Scope} */ (/** @type {any} */ (null))
  /**
   * The nodes to visit, the next one last. Each has the role of its identifiers: '' for references, 'write'
   * for targets, 'foreign' for names in other modules, or a kind of variables. The role 'inner' marks a node
   * with its own scope.
   *
   * @type {any[]}
   */
  let stack = []
  let size = 0

  /** @param {Node} part @param {Node} parent @param {string} role */
  function push(part, parent, role) {
    part.parent = parent
    if (part.type === 'Literal') return
    stack[size++] = role
    stack[size++] = part
  }

  /** @param {Node} id */
  function note(id) {
    if (id.name === 'arguments' || id.name === 'yield') append(tree.special, id)
  }

  /**
   * Notes what reads `caller` or `arguments` of an object.
   *
   * @param {Node} node of the read @param {Node} key @param {boolean} computed
   */
  function noteRead(node, key, computed) {
    const name = computed || key.type === 'Literal' ? key.value : key.name
    if (name === 'caller' || name === 'arguments') append(tree.reads, node)
  }

  /** @param {Node} node @param {string} role of those of its parts whose field has none */
  function pushParts(node, role) {
    const fields = fieldsOf(node)
    for (let k = fields.length; k-- > 0;) {
      const { key, role: own = role, isLabel } = fields[k]
      const part = node[key]
      if (!part) continue
      if (isLabel && !node.computed) {
        part.parent = node
        if (key === 'label') note(part)
      } else if (isArray(part)) {
        for (let i = part.length; i-- > 0;) if (part[i]) push(part[i], node, own)
      } else if (part.type) {
        push(part, node, own)
      }
    }
  }

  /** Begins a scope. @param {Node} node @param {Facts} [facts] of the function that it is in */
  function open(node, facts = scope.facts, isStrict = scope.isStrict) {
    scope = node.scope = {
      node,
      parent: scope,
      depth: scope ? scope.depth + 1 : 0,
      facts,
      isStrict,
      isDynamic: false,
      hasEval: false,
      isSplit: false,
      variables: NO_VARIABLES,
      declared: NO_ARGUMENTS,
      barrier: null
    }
    append(facts.scopes, scope)
    append(order, scope)
  }

  /** Begins a function. @param {Node} node */
  function openFunction(node, isStrict = scope.isStrict) {
    const { parent, type } = node
    const kind = parent?.value === node ? parent.kind : undefined
    const isConstructor = kind === 'constructor'
    /** @type {Facts} */
    const facts = node.facts = {
      node,
      parent: scope && scope.facts,
      isArrow: type === 'ArrowFunctionExpression',
      isAsync: node.async === true,
      isGenerator: node.generator === true,
      isStrict,
      isMethod: kind !== undefined && (kind !== 'init' || parent.method),
      isConstructor,
      isAccessor: kind === 'get' || kind === 'set',
      isDerived: isConstructor && !!parent.parent.parent.superClass,
      usesThis: false,
      usesArguments: false,
      usesSuper: false,
      usesNewTarget: false,
      usesEval: false,
      hasWith: false,
      awaitsDisposal: false,
      functions: [],
      loops: [],
      calls: [],
      awaits: [],
      yields: [],
      spreads: [],
      returns: [],
      tries: [],
      statements: [],
      declarations: [],
      words: [],
      classes: [],
      edits: [],
      scopes: [],
      scope: /** @type {any} */ (null)
    }
    if (scope) append(scope.facts.functions, facts)
    open(node, facts, isStrict)
    facts.scope = scope
  }

  /** Begins the scope of what is not inside of it as a whole. @param {Node} node */
  function openInner(node) {
    if (node.type === 'PropertyDefinition') return openFunction(node)
    open(node)
    if (node.type === 'WithStatement') scope.isDynamic = scope.facts.hasWith = true
  }

  /** Gives the lists of a function no more memory than they need. @param {any} facts */
  function trim(facts) {
    for (let i = 0; i < COLLECTED.length; i++) {
      const list = facts[COLLECTED[i]]
      if (list.length > 0) facts[COLLECTED[i]] = trimmed(list)
    }
  }

  /** Ends a scope that is in another. */
  function close() {
    const closed = scope
    const { facts, variables } = closed
    if (facts.node === closed.node) trim(facts)
    scope = /** @type {Scope} */ (closed.parent)
    if (scope.facts === facts || facts.isArrow || !facts.usesArguments) return
    const { kind } = variables.arguments ??
      addVariable(closed, variableOf('arguments', 'arguments', facts.node.scope))
    facts.usesArguments = kind === 'arguments' || kind === 'var'
  }

  /**
   * Arrow functions use what is of the function around them.
   *
   * @param {'usesThis' | 'usesArguments' | 'usesSuper' | 'usesNewTarget' | 'usesEval'} key
   */
  function use(key) {
    for (let user = /** @type {Facts | null} */ (scope.facts); user && !user[key]; user = user.isArrow ? user.parent : null) user[key] = true
  }

  /** @param {string} role of the parts of what has a scope @returns {(node: Node) => string} */
  const opening = (role, isStrict = false) => node => {
    open(node, scope.facts, isStrict || scope.isStrict)
    return role
  }

  /**
   * What is done where nodes of a type begin, before their parts.
   *
   * @type {Record<string, (node: any, role: string) => string | void>} gives the role of its parts, if that
   *   is another
   */
  const visits = {
    // @ts-ignore
    __proto__: null,
    Identifier(node, role) {
      if (role === 'foreign') return
      note(node)
      if (role !== '' && role !== 'write') declare(node, role, scope)
      else if (node.name === 'arguments') use('usesArguments')
      if (role === '' || role === 'write' || role === 'var') {
        node.scope = scope
        node.isWritten = role !== ''
        append(order, node)
      }
    },
    ThisExpression: () => use('usesThis'),
    Super: () => use('usesSuper'),
    MetaProperty(node) {
      if (node.meta.name === 'new') use('usesNewTarget')
      else append(tree.imports, { node, facts: scope.facts })
    },
    ImportExpression(node) {
      append(tree.imports, { node, facts: scope.facts })
    },
    ImportDeclaration: () => 'import',
    ExportNamedDeclaration: ({ source }) => source ? 'foreign' : '',
    VariableDeclaration({ kind, parent }) {
      if (endsWith(kind, 'using')) parent.disposes = true
      if (kind === 'await using') scope.facts.awaitsDisposal = true
      return kind
    },
    AssignmentPattern(_, role) {
      if (role === 'parameter') scope.isSplit = true
    },
    Property(node, role) {
      const { computed, key, parent } = node
      if (role === 'parameter' && computed) scope.isSplit = true
      if (parent.type === 'ObjectPattern') noteRead(node, key, computed)
    },
    MemberExpression(node) {
      noteRead(node, node.property, node.computed)
    },
    AssignmentExpression: () => 'write',
    UpdateExpression: () => 'write',
    CallExpression(node) {
      if (!isDirectEval(node)) return
      use('usesEval')
      for (let around = /** @type {Scope | null} */ (scope); around && !around.hasEval; around = around.parent) around.hasEval = true
      if (!scope.isStrict) scope.facts.scope.isDynamic = true
    },
    ForInStatement: opening('write'),
    ForOfStatement: opening('write'),
    ForStatement: opening(''),
    CatchClause: opening('catch'),
    BlockStatement(node) {
      const { facts } = scope
      const isBody = facts.node.body === node
      if (!isBody || scope.isSplit) open(node)
      if (isBody) facts.scope = scope
    },
    ClassDeclaration(node) {
      if (node.id) declare(node.id, 'class', scope)
      return visits.ClassExpression(node, '')
    },
    ClassExpression: opening('name', true),
    StaticBlock: node => openFunction(node),
    FunctionDeclaration: routine,
    FunctionExpression: routine,
    ArrowFunctionExpression: routine
  }

  /** @param {Node} node */
  function routine(node) {
    const { type, id, body, parent } = node
    const isDeclaration = type === 'FunctionDeclaration'
    if (id) {
      note(id)
      if (!isDeclaration || parent.type === 'IfStatement') open(node)
      declare(id, isDeclaration ? 'function' : 'name', scope)
      if (isDeclaration && scope !== scope.facts.scope && !scope.isStrict && !node.async && !node.generator) {
        hoists = true // Annex B.3.3
        append(order, id)
      }
    }
    openFunction(node, scope.isStrict || isStrictBody(body.body))
    return 'parameter'
  }

  /** @param {Node} node @param {string} role */
  function visit(node, role) {
    const { type, parent } = node
    while (node.start >= scope.node.end) close()
    if (role === 'inner') {
      role = ''
      if (scope.node !== parent) openInner(parent)
    }
    const list = LISTS[type]
    if (list) append(/** @type {any} */ (scope.facts)[list], node)
    pushParts(node, /** @type {string} */ (visits[type]?.(node, role) ?? role))
  }

  return names

  /**
   * Finds what each name means and what each function holds. The tree is walked once, with a stack of its
   * own. On the way the scopes and the identifiers are put into one list; names are looked up along that
   * list, when all that is declared is known.
   *
   * @param {Node} program gets `facts`, `scope` and `variable`; `special`: what is called `arguments` or
   *   `yield`, labels too; `reads`: members and parts of patterns that read `caller` or `arguments` of an
   * object; and
   *   `imports`: each `import()` and `import.meta`, with the facts of the function
   *   that it is in
   * @returns {Record<string, Node[]>} the references to what it does not declare, by name, in the order of
   *   the source; as `tree.free`, too
   */
  function names(program) {
    tree = program
    tree.special = []
    tree.reads = []
    tree.imports = []
    order = []
    hoists = false
    scope = /** @type {any} */ (null)
    size = 0
    openFunction(tree, tree.sourceType === 'module' || isStrictBody(tree.body))
    pushParts(tree, '')
    while (size) visit(stack[--size], stack[--size])
    while (scope.parent) close()
    if (hoists) resolve(order, true)
    program.free = resolve(order, false)
    if (tree.sourceType === 'script') openVariables(tree.scope)
    // Nothing of it is kept.
    order = stack = []
    scope = tree = /** @type {any} */ (null)
    return program.free
  }
}

export const names = /* @__PURE__ */ namer()

/**
 * Looks up the names along the list. Functions in blocks of sloppy code go first, since they may be variables
 * of the function around them, too: where a `var` in their place would be no error, and no parameter has the
 * name.
 *
 * @param {any[]} order @param {boolean} isHoisting
 * @returns {Record<string, Node[]>}
 */
function resolve(order, isHoisting) {
  /** @type {Record<string, Node[]>} */
  const free = create(null)
  /** What each name means here. @type {Record<string, Variable | undefined>} */
  const current = create(null)
  let scope = /** @type {Scope} */ (/** @type {any} */ (null))
  for (let i = 0; i < order.length; i++) {
    const item = order[i]
    const isScope = item.variables !== undefined
    const around = isScope ? item.parent : item.scope
    for (; scope !== around; scope = /** @type {any} */ (scope.parent)) {
      const { declared } = scope
      for (let k = 0; k < declared.length; k++) current[declared[k].name] = declared[k].outer
    }
    if (isScope) {
      scope = item
      scope.barrier = scope.isDynamic ? scope : scope.parent && scope.parent.barrier
      const { declared } = scope
      for (let k = 0; k < declared.length; k++) {
        const variable = declared[k]
        variable.outer = current[variable.name]
        variable.isDynamic ||= scope.hasEval
        current[variable.name] = variable
      }
      continue
    }
    const { name } = item
    const isFunction = item.isWritten === undefined // no reference
    if (isFunction && isHoisting) hoist(item)
    if (isFunction || isHoisting) continue
    const variable = current[name]
    item.isDynamic = scope.barrier !== null && (!variable || variable.scope.depth < scope.barrier.depth)
    if (variable) {
      variable.isDynamic ||= item.isDynamic
      variable.isAssigned ||= item.isWritten && item.variable !== variable
    }
    if (item.variable) { // a `var`, which may mean the parameter of a `catch`
      item.variable.isDynamic ||= item.isDynamic
      item.variable = variable
    } else {
      item.variable = variable ?? null
      append(variable ? variable.references : free[name] ??= [], item)
    }
  }
  return free
}

/** @param {Node} id of a function in a block */
function hoist(id) {
  const { variable, scope: block } = id
  const { scope } = block.facts
  let other = variable.outer
  while (other?.kind === 'catch' && other.scope.node.param.type === 'Identifier') other = other.outer
  const isFree = other?.scope.facts !== scope.facts
  if (isFree || (other.scope === scope && (other.kind === 'var' || other.kind === 'function'))) {
    declare(id, 'var', block, scope).isAssigned = true
  }
}

/**
 * Marks the top-level variables of a script as open. These variables belong to the page: `window.f = g`, an
 * indirect eval and other scripts assign to them, or declare them again. Only constants keep their values.
 *
 * @param {Scope} scope of the script
 */
function openVariables({ declared }) {
  pick(declared, variable => { variable.isOpen = variable.kind !== 'const' })
}

/** Whether `arguments` may change a parameter. @param {Variable} variable */
const isAliased = ({ kind, scope }) => kind === 'parameter' && scope.facts.usesArguments

/** @param {Node} inner @param {Node} outer */
export const isWithin = (inner, outer) => inner.start >= outer.start && inner.end <= outer.end

/** @param {Node} node */
export const isFunctionNode = ({ type }) =>
  type === 'FunctionExpression' || type === 'ArrowFunctionExpression' || type === 'FunctionDeclaration'

/**
 * Whether no code of this text assigns to a variable. Other scripts can still assign to an open variable.
 *
 * @param {Variable | null | undefined} variable @returns {boolean}
 */
export const seemsFixed = variable => !!variable && !variable.isAssigned && !variable.isDynamic

/**
 * Whether a variable keeps the value of its declaration.
 *
 * @param {Variable | null | undefined} variable @returns {boolean}
 */
export const isFixed = variable => !!variable && seemsFixed(variable) && !variable.isOpen

/**
 * Whether a name that could be read once has the same value when it is read again in the same expression,
 * whatever the expression calls in between. A variable of an imported module can change. So can a parameter
 * through `arguments`, and a `var` of a generator whose next step runs in between.
 *
 * @param {Node} id a reference
 * @returns {boolean}
 */
export function isConstant({ variable, scope }) {
  if (!isFixed(variable) || isAliased(variable)) return false
  const { kind, declarations, scope: { facts } } = variable
  if (kind === 'import') return declarations[0].parent.type === 'ImportNamespaceSpecifier'
  const isOnce = kind === 'arguments' || (kind !== 'var' && declarations.length === 1)
  return isOnce || scope.facts === facts || !facts.isGenerator
}

/**
 * Whether the variable of a reference is certainly initialized where the reference is read. A function
 * declaration can be called from the beginning of its block on, and other code runs in the order of the text.
 *
 * @param {Node} id a reference
 * @returns {boolean}
 */
export function isInitialized(id) {
  const { variable: { kind, declarations: { 0: declared }, scope: { node, isSplit } } } = id
  const isOfClass = kind === 'name' && matches(/^Class/, node.type)
  const isBlockVariable = matches(/^(?:let|const|using|await using|class|catch)$/, kind)
  const hasDeadZone = kind === 'parameter' ? isSplit : isBlockVariable
  if (!hasDeadZone && !isOfClass) return true
  let { start } = id
  for (let part = id; part !== node; part = part.parent) {
    const { type, parent } = part
    if (type === 'FunctionDeclaration') ({ start } = part.scope.parent.node)
    // Members of a class run after the name of the class has been initialized. Its computed keys, and the
    // expression after `extends`, run before.
    const classBody = type === 'StaticBlock' ? parent : parent.value === part ? parent.parent : null
    if (isOfClass && classBody === node.body) return true
    if (type === 'SwitchCase' && parent === node && !isWithin(declared, part)) return false
  }
  return !isOfClass && start >= declared.start && !isInDeclaration(id, declared)
}

/**
 * Whether a reference is read before a declaration initializes its name. Both are in one function.
 *
 * @param {Node} reference @param {Node} id the declared name
 */
export const isBefore = (reference, id) => reference.start < id.start || isInDeclaration(reference, id)

/**
 * Whether a reference is in an initial value, in a default, or in what a loop iterates, so that it is read
 * before the name of that declaration is initialized. A function that is the initial value runs later.
 *
 * @param {Node} reference @param {Node} id the declared name
 * @returns {boolean}
 */
function isInDeclaration(reference, id) {
  const isPart = /^(?:Identifier|Property|RestElement|\w+Pattern|Variable\w+)$/
  for (let part = id; matches(isPart, part.type); part = part.parent) {
    const { left, right, id: target, init } = part.parent
    const value = left === part ? right : target === part ? init : null
    if (value && !isFunctionNode(value) && isWithin(reference, value)) return true
  }
  return false
}

/** @param {Node} id @returns {Node | null} what it stands for, if that is written once and stays */
export function valueOfName({ variable }) {
  if (!isFixed(variable) || variable.declarations.length !== 1) return null
  const { 0: id } = variable.declarations
  const { parent } = id
  if (parent?.id !== id) return null
  return parent.type === 'VariableDeclarator' ? parent.init : parent
}

/** @param {Node} id @param {RegExp} names @returns {boolean} whether it is one of the engine's */
export const isGlobal = (id, names) => id.variable === null && matches(names, id.name)
