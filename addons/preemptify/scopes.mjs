/**
 * addons/preemptify/scopes.mjs: binds names to variables, and collects facts about each function.
 *
 * One walk over the tree gives each node its parent, each function its `Facts` (loops, calls, awaits, tries),
 * each block its `Scope`, and each identifier its `Variable`. The predicates at the end answer whether a name
 * keeps its value.
 */

import {
  NO_ARGUMENTS, create, endsWith, forEach, freeze, isArray, keysOf, matches, push, trimmed
} from './primordials.mjs'
/** @import { Edit } from './edits.mjs' */

/**
 * @typedef {any} Node an ESTree node with its `parent`; an identifier also has `scope`, `variable` and
 *   `isDynamic`
 */
/**
 * The facts of a function, or of other code that runs like a function: a Program, a StaticBlock, or the value
 * of a PropertyDefinition.
 *
 * The lists are in the order of the source and include nodes in the parameters. An arrow function shares
 * `this`, `arguments`, `super` and `new.target` with the function around it. If the arrow function uses one
 * of them, or a direct eval, the flag of the outer function is set as well.
 *
 * @typedef {object} Facts
 * @property {Node} node
 * @property {Facts | null} parent
 * @property {boolean} isArrow
 * @property {boolean} isAsync
 * @property {boolean} isGenerator
 * @property {boolean} isStrict whether the source makes it strict mode code
 * @property {boolean} isMethod whether it is a method of an object or a class, a constructor, or an accessor
 * @property {boolean} isConstructor
 * @property {boolean} isAccessor
 * @property {boolean} isDerived whether it is the constructor of a class with `extends`
 * @property {boolean} usesThis
 * @property {boolean} usesArguments
 * @property {boolean} usesSuper
 * @property {boolean} usesNewTarget
 * @property {boolean} usesEval whether it has a direct eval
 * @property {boolean} hasWith
 * @property {boolean} awaitsDisposal whether it has an `await using`
 * @property {Facts[]} functions the functions directly in it, without functions nested in them
 * @property {Node[]} loops
 * @property {Node[]} calls the calls, including `new` and tagged templates
 * @property {Node[]} awaits
 * @property {Node[]} yields
 * @property {Node[]} spreads
 * @property {Node[]} returns
 * @property {Node[]} tries
 * @property {Node[]} statements the expression statements
 * @property {Node[]} declarations the declarations of variables
 * @property {Node[]} words the nodes of `this`, `super`, `new.target` and `import.meta`
 * @property {Node[]} classes
 * @property {Edit[]} edits the edits of its text that every printed version of the function needs
 * @property {Scope[]} scopes the scopes in it, without the scopes of inner functions; a scope for the name of
 *   an inner function expression is included
 * @property {Scope} scope the scope of its `var` variables
 */
/**
 * The variables that are declared between two braces, or between a parenthesis and a brace. The parameters
 * and the body of a function share one scope, unless the parameters contain expressions.
 *
 * @typedef {object} Scope
 * @property {Node} node
 * @property {Scope | null} parent
 * @property {number} depth
 * @property {Facts} facts the facts of the function around it
 * @property {boolean} isStrict
 * @property {boolean} isDynamic whether it can get variables at run time: the scope of a `with`, or the `var`
 *   scope of a function with a sloppy direct eval
 * @property {boolean} hasEval whether a direct eval is in it or in an inner scope
 * @property {boolean} isSplit whether its parameters contain expressions
 * @property {Record<string, Variable>} variables the variables by name
 * @property {Variable[]} declared the same variables as a list
 * @property {Scope | null} barrier the innermost dynamic scope around a node in it; can be this scope
 */
/**
 * @typedef {object} Variable
 * @property {string} name
 * @property {string} kind the keyword of its declaration (such as `let` or `await using`), or `function`,
 *   `class`, `parameter`, `catch`, `import`, `arguments` or `name`. A `name` is the name of a function
 *   expression, or the name of a class as a variable inside the class
 * @property {Scope} scope
 * @property {Node[]} declarations the identifiers that declare the variable
 * @property {Node[]} references the identifiers that read or write the variable
 * @property {boolean} isAssigned whether code assigns to the variable outside its declaration
 * @property {boolean} isCaptured whether functions in its function use the variable
 * @property {boolean} isOpen whether other scripts can assign to the variable, or declare it again
 * @property {boolean} isDynamic whether an eval can use the variable, or a reference can mean another
 *   variable
 * @property {boolean} isNumber whether the variable can start as 0 in a twin with frames: see isNumber in
 *   frames.mjs
 * @property {Variable | undefined} outer the outer variable that it hides
 */

/** Fields whose parts are read, even if the node is a target of an assignment or a declaration. */
const READ = /^(?:key|property|object|right|init|body|superClass)$/
/** Fields whose identifiers are not references, unless the node is computed. */
const LABELS = /^(?:\w+\.(?:key|property|meta|label|imported|exported)|(?:Function|Arrow)\w+\.id)$/
/** Fields with a separate scope. The other parts of the same node are outside this scope. */
const INNER = /^(?:SwitchStatement\.cases|WithStatement\.body|PropertyDefinition\.value)$/
/**
 * A field of a type of nodes: its key, the role of its identifiers (see `stack`; undefined: the role of the
 * node), and whether they are only labels.
 *
 * @typedef {{ key: string, role: string | undefined, isLabel: boolean }} Field
 */
/** The fields of each type of nodes. @type {Record<string, Field[]>} */
// @ts-ignore
const FIELDS = { __proto__: null, Identifier: [] }

/**
 * Returns the fields that hold parts of a node. Nodes of one type have the same fields.
 *
 * @param {Node} node
 */
export const fieldsOf = node => FIELDS[node.type] ??= fieldsIn(node)

/** @param {Node} node */
function fieldsIn(node) {
  /** @type {Field[]} */
  const fields = []
  forEach(keysOf(node), key => {
    if (typeof node[key] !== 'object' || key === 'parent') return
    // The other fields of a program are lists of nodes that stand elsewhere in the tree, such as `reads`.
    if (node.type === 'Program' && key !== 'body') return
    const path = `${node.type}.${key}`
    push(fields, {
      key, role: matches(INNER, path) ? 'inner' : matches(READ, key) ? '' : undefined,
      isLabel: matches(LABELS, path)
    })
  })
  return fields
}

/** The list of Facts that collects the nodes of each type. @type {any} */
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
export const isDirectEval = ({ type, callee, optional }) =>
  type === 'CallExpression' && callee.name === 'eval' && !optional

/** Whether 'use strict' is among the directives of a body. @param {any} body */
export function isStrictBody(body) {
  for (let i = 0; body?.[i]?.directive !== undefined; i++) if (body[i].directive === 'use strict') return true
  return false
}

/** @param {string} name @param {string} kind @param {Scope} scope @returns {Variable} */
export function variableOf(name, kind, scope) {
  return {
    name, kind, scope, declarations: [], references: [], isAssigned: false, isCaptured: false, isOpen: false,
    isDynamic: false, isNumber: false, outer: undefined
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
    push(scope.declared, variable)
  }
  return scope.variables[variable.name] = variable
}

/**
 * Declares a name.
 *
 * @param {Node} id @param {string} kind @param {Scope} scope the scope of the identifier
 * @param {Scope} target the scope that gets the variable
 */
function declare(id, kind, scope, target = kind === 'var' ? scope.facts.scope : scope) {
  const { name } = id
  const known = target.variables[name]
  const variable = known ?? addVariable(target, variableOf(name, kind, target))
  if (known) push(known.declarations, id)
  else variable.declarations = [id]
  id.scope ??= scope
  id.variable ??= variable // the name of a class is declared twice: outside and inside the class
  return variable
}

/** Makes `analyseScopes`. Its closures exist once, as those of the reader in read.mjs. */
function scopeAnalyser() {
  /** The scopes and identifiers in the order of the source. @type {any[]} */
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
  function pushPart(part, parent, role) {
    part.parent = parent
    if (part.type === 'Literal') return
    stack[size++] = role
    stack[size++] = part
  }

  /** Notes an identifier or label that is named `arguments` or `yield`. @param {Node} id */
  function note(id) {
    if (id.name === 'arguments' || id.name === 'yield') push(tree.special, id)
  }

  /**
   * Notes a node that reads the property `caller` or `arguments` of an object.
   *
   * @param {Node} node @param {Node} key @param {boolean} computed
   */
  function noteRead(node, key, computed) {
    const name = computed || key.type === 'Literal' ? key.value : key.name
    if (name === 'caller' || name === 'arguments') push(tree.reads, node)
  }

  /** Pushes the parts of a node. @param {Node} node @param {string} role the role of fields without one */
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
        for (let i = part.length; i-- > 0;) if (part[i]) pushPart(part[i], node, own)
      } else if (part.type) {
        pushPart(part, node, own)
      }
    }
  }

  /** Opens a scope. @param {Node} node @param {Facts} [facts] the facts of the function around it */
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
    push(facts.scopes, scope)
    push(order, scope)
  }

  /** Opens the scope of a function, and makes its Facts. @param {Node} node */
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
    if (scope) push(scope.facts.functions, facts)
    open(node, facts, isStrict)
    facts.scope = scope
  }

  /** Opens the scope of a node that is only partly inside this scope: see INNER. @param {Node} node */
  function openInner(node) {
    if (node.type === 'PropertyDefinition') return openFunction(node)
    open(node)
    if (node.type === 'WithStatement') scope.isDynamic = scope.facts.hasWith = true
  }

  /** Frees the spare capacity of the lists of a function. @param {any} facts */
  function trim(facts) {
    for (let i = 0; i < COLLECTED.length; i++) {
      const list = facts[COLLECTED[i]]
      if (list.length > 0) facts[COLLECTED[i]] = trimmed(list)
    }
  }

  /** Closes the current scope. The outer scope becomes the current one. */
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
   * Marks the current function as a user, for example of `this`. If it is an arrow function, the functions
   * around it are marked too, up to and including the first one that is not an arrow function.
   *
   * @param {'usesThis' | 'usesArguments' | 'usesSuper' | 'usesNewTarget' | 'usesEval'} key
   */
  function use(key) {
    let user = /** @type {Facts | null} */ (scope.facts)
    while (user && !user[key]) {
      user[key] = true
      user = user.isArrow ? user.parent : null
    }
  }

  /**
   * Makes a visitor that opens a scope.
   *
   * @param {string} role the role of the parts
   * @returns {(node: Node) => string}
   */
  const opening = (role, isStrict = false) => node => {
    open(node, scope.facts, isStrict || scope.isStrict)
    return role
  }

  /**
   * The visitors of node types. A visitor is called before the parts of the node are visited. It can return
   * another role for these parts.
   *
   * @type {Record<string, (node: any, role: string) => string | void>}
   */
  const visits = {
    // @ts-ignore
    __proto__: null,
    ThisExpression: () => use('usesThis'),
    Super: () => use('usesSuper'),
    MetaProperty(node) {
      if (node.meta.name === 'new') use('usesNewTarget')
      else push(tree.imports, { node, facts: scope.facts })
    },
    ImportExpression(node) {
      push(tree.imports, { node, facts: scope.facts })
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
      let around = /** @type {Scope | null} */ (scope)
      for (; around && !around.hasEval; around = around.parent) around.hasEval = true
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

  /** @param {Node} node @param {string} role */
  function identifier(node, role) {
    if (role === 'foreign') return
    note(node)
    if (role !== '' && role !== 'write') declare(node, role, scope)
    else if (node.name === 'arguments') use('usesArguments')
    if (role === '' || role === 'write' || role === 'var') {
      node.scope = scope
      node.isWritten = role !== ''
      push(order, node)
    }
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
        push(order, id)
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
    if (type === 'Identifier') return identifier(node, role)
    const list = LISTS[type]
    if (list) push(/** @type {any} */ (scope.facts)[list], node)
    pushParts(node, /** @type {string} */ (visits[type]?.(node, role) ?? role))
  }

  return analyseScopes

  /**
   * Binds the names of a program to variables, and collects the facts of its functions.
   *
   * One walk over the tree puts scopes and identifiers into a list. `resolve` looks up the names along this
   * list afterwards, because then all declarations are known. The walk has its own stack, so that the depth
   * of nesting is not limited by the call stack.
   *
   * The program gets three lists. `special` has the identifiers and labels that are named `arguments` or
   * `yield`. `reads` has the members and the properties of patterns that read `caller` or `arguments` of an
   * object. `imports` has each `import()` and `import.meta`, with the facts of its function.
   *
   * @param {Node} program the tree, whose nodes get `facts`, `scope` and `variable`
   * @returns {Record<string, Node[]>} the references to names that the program does not declare, by name, in
   *   the order of the source; `program.free` is the same object
   */
  function analyseScopes(program) {
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
    // Release the tree.
    order = stack = []
    scope = tree = /** @type {any} */ (null)
    return program.free
  }
}

export const analyseScopes = /* @__PURE__ */ scopeAnalyser()

/**
 * Looks up the names of a program.
 *
 * A function in a block of sloppy code can also be a `var` of the function around the block (Annex B.3.3). It
 * is, if a `var` in its place would be valid and no parameter has the name. A first pass with `isHoisting`
 * declares these variables. The second pass resolves the references.
 *
 * @param {any[]} order the scopes and identifiers in the order of the source @param {boolean} isHoisting
 * @returns {Record<string, Node[]>}
 */
function resolve(order, isHoisting) {
  /** @type {Record<string, Node[]>} */
  const free = create(null)
  /** The variable of each name in the current scope. @type {Record<string, Variable | undefined>} */
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
    const isFunction = item.isWritten === undefined // the name of a function in a block, not a reference
    if (isFunction && isHoisting) hoist(item)
    if (isFunction || isHoisting) continue
    const variable = current[name]
    item.isDynamic = scope.barrier !== null && (!variable || variable.scope.depth < scope.barrier.depth)
    if (variable) {
      variable.isDynamic ||= item.isDynamic
      variable.isAssigned ||= item.isWritten && item.variable !== variable
    }
    if (item.variable) { // a `var`, whose initial value can go to the parameter of a `catch`
      item.variable.isDynamic ||= item.isDynamic
      item.variable = variable
    } else {
      item.variable = variable ?? null
      push(variable ? variable.references : free[name] ??= [], item)
      if (variable) variable.isCaptured ||= variable.scope.facts !== scope.facts
    }
  }
  return free
}

/**
 * Declares a function in a block as a `var` too, if Annex B.3.3 does.
 *
 * @param {Node} id the function's name
 */
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
 * @param {Scope} scope the scope of the script
 */
function openVariables({ declared }) {
  forEach(declared, variable => { variable.isOpen = variable.kind !== 'const' })
}

/** Whether `arguments` can change a variable, which is a parameter. @param {Variable} variable */
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

/**
 * Returns the initial value, the function or the class that a name always means, or null if the value of the
 * name can change.
 *
 * @param {Node} id @returns {Node | null}
 */
export function valueOfName({ variable }) {
  if (!isFixed(variable) || variable.declarations.length !== 1) return null
  const { 0: id } = variable.declarations
  const { parent } = id
  if (parent?.id !== id) return null
  return parent.type === 'VariableDeclarator' ? parent.init : parent
}

/** Whether an identifier is a global name that matches a pattern. @param {Node} id @param {RegExp} names */
export const isGlobal = (id, names) => id.variable === null && matches(names, id.name)
