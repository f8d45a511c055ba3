/**
 * addons/preemptify/print.mjs: the text of a rewritten module or script.
 *
 * A function that can run long is printed twice: unchanged, and as its twin over the same variables. Where
 * functions nest deeply there is only the twin, and a stub runs it to completion for plain calls.
 */

import { extend } from '../../rt.mjs'
import {
  constructorFor, constructorOf, isCalled, isCollected, isMember, isPreempted, isPrivate, isTwinMember,
  keyOf, nameAsMember
} from './calls.mjs'
import { classOf, hasFields, takesTarget } from './constructors.mjs'
import {
  BODY_EDGE, EXPRESSION_EDGE, REPLACES, STATEMENT_EDGE, asKey, enclose, hashOf, inOrder, insert, isConcise,
  optimisations, pastDirectives, prefixFor, print, replace, seek, terse, withTitle
} from './edits.mjs'
import { frame, planFrame, textOfFrame, unframe } from './frames.mjs'
import { planTwin, textOfTwin } from './generators.mjs'
import { HELPERS, standInOf } from './helpers.mjs'
import { mapLine } from './maps.mjs'
import { inferredName, isInside, isList, planModule, steadyKey } from './plan.mjs'
import {
  append, checkPatterns, cut, emptyMap, emptySet, exec, find, join, joined, listOf, matches, max, pick,
  sort, startsWith, stringify
} from './primordials.mjs'
import { read } from './read.mjs'
import { isFunctionNode, isGlobal, isStrictBody, names } from './scopes.mjs'
/** @import { Node } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */
/** @import { Draftlike, Edit, Pieces } from './edits.mjs' */

const { among, options: optionsOf, text, wrongType } = extend.check

/** How much longer than its source a text may become, and as far as it is counted. */
const MOST_GROWTH = 3.99
/** Characters that are not counted of a short text: those it begins with. */
const HEAD = 400
const SHORT = 1000
/** How often a text that is too long is printed until it is known which twins are to be generators. */
const PRINTS = 5

export const kind = /* @__PURE__ */ among('module', 'script')
const SOURCE_OPTIONS = { type: kind, runtime: text, url: text }

/**
 * Rewrites a module or a script, so that its functions have preemptible twins.
 *
 * @param {string} text
 * @param {{ type?: 'module' | 'script', runtime?: string, url?: string }} [options] `type`: default 'module';
 *   `runtime`: the URL by which a module imports the run-time support, default
 *   './addons/preemptify/runtime.mjs'; `url`: the URL of the text, for a source map
 * @returns {string} the same module or script; what is served needs no eval
 * @throws {TypeError} naming the parameter
 * @throws {SyntaxError} when it cannot be parsed, or holds what would have another meaning
 */
export function sourceOfModule(text, options = {}) {
  const { type = 'module', runtime = './addons/preemptify/runtime.mjs', url } = optionsOf(options, SOURCE_OPTIONS)
  if (typeof text !== 'string') throw wrongType('text', 'a string', text)
  const tree = read(text, type)
  names(tree)
  return rewrittenText(text, tree, runtime, url)
}

/**
 * @param {string} text @param {Node} tree whose names are resolved @param {string} runtime
 * @param {string} [url]
 * @param {string} [prologue] when its functions are there @param {string} [epilogue]
 */
export function rewrittenText(text, tree, runtime, url, prologue = '', epilogue = '') {
  checkPatterns()
  /** @type {number[]} */
  const kept = []
  /** @type {(number | string)[]} */
  const named = []
  /** @type {Plan[]} */
  let plans = []
  const room = MOST_GROWTH * text.length + (text.length < SHORT ? HEAD : 0)
  /** @type {Set<Node> | null} */
  let inlined = emptySet()
  /** @type {Map<string, string> | null} */
  let keepers = emptyMap()
  let fits = true
  /** Whether calls hand in their text for messages. */
  let says = true
  /** @param {number} generators how many twins are to be such instead of leaving frames @returns {string} */
  const print = generators => {
    kept.length = named.length = 0
    keepers?.clear()
    plans = planModule(tree)
    const printed = printModule(
      text, tree, plans, runtime, kept, named, prologue, generators, keepers, inlined, says) + epilogue
    fits = printed.length <= room
    return printed
  }
  let result = print(0)
  // Inlined calls go first, then the texts of calls, and keepers last. A short text keeps the texts of its calls:
  // it is too long by its beginning.
  if (!fits) {
    inlined = null
    says = text.length < SHORT
    let least = 0
    let most = pick(plans, isSpare).length
    for (let i = 0; i < PRINTS && least < most; i++) {
      const middle = (least + most) >> 1
      print(middle)
      if (fits) most = middle
      else least = middle + 1
    }
    result = print(most)
    if (!fits) keepers = null
    if (!fits) result = print(most)
  }
  return url === undefined ? result : result + mapLine(text, result, kept, url, named)
}

/**
 * Prints a module whose functions are planned.
 *
 * @param {string} source @param {Node} tree @param {Plan[]} plans @param {string} specifier of rt.mjs
 * @param {number[]} kept gets what of the source stays, as mapOf takes it
 * @param {(number | string)[]} named likewise
 * @param {string} begin when its functions are there
 * @param {number} generators how many twins are to be such that could leave frames
 * @param {Map<string, string> | null} keepers gets those that there are; null: there are to be none
 * @param {Set<Node> | null} inlined likewise
 * @param {boolean} says whether calls hand in their text for messages
 * @returns {string}
 */
function printModule(source, tree, plans, specifier, kept, named, begin, generators, keepers, inlined, says) {
  const isScript = tree.sourceType === 'script'
  /** What our names begin with, and none in the source. */
  const our = prefixFor(source)
  /** Those of a script that are global, and the same in all scripts; and those of this one. */
  const global = our + (isScript ? 'rt_' : '')
  const unit = isScript ? `${global}${hashOf(source)}_` : our
  /** Which helpers it refers to. */
  const used = emptySet()
  /** @param {string} key */
  const helper = key => {
    used.add(key)
    return global + key
  }
  const budget = `${our}b`
  /** What a constructor is given whose body is skipped. */
  const nothing = isScript ? `${global}p.runtime.nothing` : `${global}N`
  const written = { has: (/** @type {Node} */ node) => (node.call && isPreempted(node.call)) || isCollected(node) }
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    // Every other twin is known at the place where it is made.
    const isNamed = plan.node.type === 'FunctionDeclaration' || isTwinMember(plan)
    plan.twin = isNamed ? `${plan.parent?.parent ? our : unit}${i}` : `${our}T`
    if (!plan.isLong) continue
    const { node: { id, start, parent } } = plan
    const name = titleOf(plan, source)
    plan.title = name && asKey(name)
    plan.mark = name ? { name, at: (id ?? (plan.facts.isMethod ? parent.key : { start })).start } : ''
    // A module that imports itself by others may be called before it runs; then a function without a body
    // of its own needs its twin.
    plan.isHoisted = !isScript && plan.parent?.parent === null &&
      plan.node.type === 'FunctionDeclaration' && !isPrintedTwice(plan, false)
    plan.draft = {
      source, our, unit, free: tree.free, edits: plan.edits, variables: emptySet(), written, helper,
      keepers, inlined, says, spell: terse,
      budget, begin: (isScript ? ` const ${budget} = ${global}p.budget;` : '') +
        (plan.facts.isDerived ? ` const ${our}G = this;` : ''),
      steps: plan.facts.isGenerator && !plan.facts.isAsync ? `${our}s` : '', self: 'this',
      isOfModule: true, isCounted: true,
      framed: null,
      callee: needsCallee(plan) ? `${plan.twin}F` : ''
    }
    plan.frame = optimisations.frame ? frame(plan.draft, plan) : null
  }
  chooseGenerators(plans, generators)
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    if (plan.frame) plan.entry = isTwinMember(plan) ? nameAsMember(plan) : plan.twin
  }
  for (let i = plans.length; i-- > 0;) {
    const plan = plans[i]
    plan.plain = inOrder(bound(plan, childEdits(plan, false)))
    if (!plan.isLong && !isInside(plan)) continue // it is in no twin
    const inner = childEdits(plan, true)
    if (plan.isLong) joined(plan.edits, inner)
    plan.inner = inOrder(bound(plan, inner))
    if (!plan.isLong) continue
    if (plan.frame) planFrame(plan.draft, plan.calls)
    else planTwin(plan.draft, plan)
    inOrder(plan.edits)
    plan.text = plan.frame ? textOfFrame(plan.draft, plan) : textOfTwin(plan.draft, plan)
  }
  const head = prologue()
  const { plain } = plans[0]
  const at = placeOfHead()
  insert({ edits: plain }, at, BODY_EDGE / 2, Infinity, head)
  insert({ edits: plain }, at, STATEMENT_EDGE, Infinity, begin)
  return print(source, [{ edits: inOrder(plain), from: 0, to: source.length }], kept, named)

  function placeOfHead() {
    const hashbang = startsWith(source, '#!') ? exec(/.*[^]?/, source)[0].length : 0
    return isScript ? pastDirectives(tree.body, hashbang) : hashbang
  }

  function prologue() {
    let result = isScript ? `;var ${global}p=${standInOf(realmOf(tree))};`
      : `import{support as ${global}p,budget as ${budget}}from${stringify(specifier)};`
    const hasNothing = !isScript && (used.has('C') || used.has('R'))
    if (hasNothing) result += `const ${nothing}=${global}p.runtime.nothing;`
    for (const key in HELPERS) {
      if (!used.has(key)) continue
      const { name, arity } = HELPERS[key]
      const list = cut('f,g,e,s', 0, max(0, 2 * arity - 1))
      result += `function ${global}${key}(${list}){return ${global}p.runtime.${name}(${list})}`
    }
    // A stand-in, by which nothing has a twin, keeps nothing.
    keepers?.forEach((name, key) => {
      const isMethod = startsWith(key, '.')
      const way = `${global}${isMethod ? 'E' : 'e'}`
      const first = isScript ? `${global}p.runtime.isStandIn?${way}(f):` : ''
      // Nothing is kept for undefined, because the message of its error names the expression.
      const said = !isMethod ? `g??"${key}"` : `${says ? 'g' : '"(intermediate value)"'},"${cut(key, 1)}"`
      result += `var ${name}p,${name}q;function ${name}(f,g){` +
        `return f&&f===${name}p?${name}q:${first}${name}q=${way}(${name}p=f,${said})}`
    })
    return used.size ? `${result}${namesOfTwins()}` : ''
  }

  /**
   * The names of functions that have twins, for advice: see advice.mjs. A text names few of them, because its
   * length is limited.
   */
  function namesOfTwins() {
    if (keepers === null) return '' // a text that is too long
    const names = emptySet()
    let room = source.length < SHORT ? 60 : source.length / 50
    pick(plans, ({ node, isLong }) => {
      const name = isLong ? nameFor(node) : ''
      if (name.length < 3 || name.length > room || names.has(name)) return
      names.add(name)
      room -= name.length + 1
    })
    return names.size ? `${global}p.runtime.names(${stringify(join(listOf(names), ' '))});` : ''
  }

  /**
   * Edits of the functions in one.
   *
   * @param {Plan} plan @param {boolean} isInner whether it is the text of a twin, or in one
   */
  function childEdits(plan, isInner) {
    const draft = { edits: joined([], plan.facts.edits) }
    pick(plan.facts.classes, node => inheritConstructor(draft, node))
    pick(plan.children, child => printChild(draft, child, isInner))
    return draft.edits
  }

  /** Registers a class without an own constructor. @param {Draftlike} draft @param {Node} node a class */
  function inheritConstructor(draft, node) {
    const { superClass, body } = node
    const found = superClass && !constructorOf(node) ? constructorFor(superClass) : null
    if (found === null || (found.plan && !found.plan.isLong)) return
    const flags = hasFields(node) ? 3 : 2
    insert(draft, body.start + 1, BODY_EDGE, Infinity, `static{${helper('R')}(this,0,${flags})}`)
  }

  /** What is bound in plain text. @param {Plan} plan @param {Edit[]} edits */
  function bound(plan, edits) {
    pick(plan.facts.calls, ({ callee, optional, type }) => {
      const { start, end } = callee?.object ?? callee ?? plan.node
      if (callee && isGlobal(callee.object ?? callee, FUNCTION)) {
        const isNew = type === 'NewExpression'
        replace({ edits }, start, end, `${isNew ? '(' : ''}${helper('x')}(Function)${isNew ? ')' : ''}`)
      }
      if (!callee || !isMember(callee) || keyOf(callee) !== 'bind' || callee.object.type === 'Super' || optional || callee.optional) return
      if (isGlobal(callee.object, FUNCTION)) return
      enclose({ edits }, start, end, EXPRESSION_EDGE, `${helper('j')}((`, '))')
    })
    return edits
  }

  /** @param {Draftlike} around @param {Plan} plan @param {boolean} isInner */
  function printChild(around, plan, isInner) {
    const { node, facts, isLong, frame, text } = plan
    const { parent } = node
    const edits = isInner ? plan.inner : plan.plain
    const isInClass = parent.type === 'MethodDefinition' && facts.isMethod
    const isObjectMethod = facts.isMethod && !isInClass
    const isKept = isKeptWhole(plan)
    if (!isLong && !isKept) {
      const { start, end } = node.type === 'PropertyDefinition' ? node.value : node // the rest of it is of what is around
      if (edits.length) replace(around, start, end, [{ edits, from: start, to: end }])
      return
    }
    const { start, end } = isObjectMethod ? parent : node
    const asItIs = { edits, from: start, to: end }
    const isDual = isKept || isPrintedTwice(plan, isInner)
    const register = isKept ? '' : helper('t')
    const twin = frame ? plan.entry : plan.twin
    const { isAsync, isGenerator } = facts
    const how = isGenerator && isAsync ? ',2' : isGenerator ? ',!0' : isAsync ? ',!1'
      : takesTarget(facts) ? ',3' : ''
    const self = facts.isArrow && facts.usesThis && !frame ? `${how || ',null'},[this]` : how
    const { isShared = true, isTail = true } = plan.draft?.framed ?? {}
    const callee = plan.draft?.callee ?? ''
    const isNamedInside = !isDual || callee !== '' || !(isShared || isTail)
    /** @param {Pieces} fn @param {Pieces} twin @param {string} [by] */
    const registered = (fn, twin, by = register) =>
      isKept ? [`${helper('O')}(`, fn, ')'] : [`${by}(`, fn, frame ? ',0,' : ',', twin, `${self})`]

    if (node.type === 'FunctionDeclaration') printDeclaration()
    else if (isInClass) printMember()
    else if (isObjectMethod) replace(around, start, end, [key() === '__proto__' ? '["__proto__"]:' : `${key()}:`, expression()])
    else replace(around, start, end, parent.callee === node ? ['(', expression(), ')'] : expression()) // `new function () {}`

    function printDeclaration() {
      const name = node.id ? node.id.name : `${plan.twin}f`
      if (!node.id) { // export default function () {}
        insert({ edits }, seek(source, '(', start), REPLACES, start, ` ${name}`)
        inOrder(edits)
        replace(around, parent.start, start, `export{${name} as default};`)
      }
      const fn = isDual ? asItIs : stub(plan, `function ${name}`)
      replace(around, start, end, [fn, plan.isHoisted ? text : ''])
      const block = parent.type === 'BlockStatement' || parent.type === 'StaticBlock' ? parent : null
      const at = block ? pastDirectives(block.body, seek(source, '{', block.start) + 1) : placeOfHead()
      const isOfScript = isScript && plan.parent?.parent === null
      const declare = isOfScript ? 'var' : 'const'
      const declared = plan.isHoisted || isKept ? '' : [`${declare} ${twin}=`, titled(text), ';']
      // A declaration is no result of a script.
      const result = callee ? `${declare} ${callee}=` : isOfScript ? `var ${global}0=` : ''
      plan.registered = [node.id ? ';' : `;${helper('m')}(${name},"default");`, declared, result,
        registered(name, twin, plan.isHoisted ? helper('D') : register), ';']
      insert(around, at, block ? -BODY_EDGE / 2 : BODY_EDGE, Infinity, plan.registered) // in a block, of no range that begins there
    }

    function printMember() {
      const isFielded = facts.isDerived && hasFields(classOf(node))
      if (facts.isConstructor && (!facts.isDerived || isFielded)) {
        const { body: { start, body } } = node
        const at = pastDirectives(body, start + 1)
        const { 0: param } = node.params
        const id = param?.left ?? param
        const isPlain = id?.type === 'Identifier' && id.variable.declarations.length === 1 // else it may be a function in the body
        const first = isPlain ? id.name : 'arguments[0]'
        const skip = isFielded ? '{super();return}' : 'return;'
        insert({ edits }, at, -BODY_EDGE, Infinity, `${at > start + 1 ? ';' : ''}if(${first}===${nothing})${skip}`)
        inOrder(edits)
      }
      if (edits.length) replace(around, start, end, [asItIs])
      const twinElement = [parent.static ? 'static ' : '', text]
      const addTwin = () => insert(around, parent.end, -BODY_EDGE, parent.start, twinElement)
      if (isPrivate(plan)) return addTwin()
      const elements = parent.parent.body
      for (let i = elements.length; elements[--i] !== parent;) if (!facts.isConstructor && isSameMember(elements[i], parent)) return
      const holder = `this${parent.static ? '' : '.prototype'}`
      const begin = (/** @type {Pieces} */ body) =>
        insert(around, parent.parent.start + 1, BODY_EDGE, Infinity, ['static{', body, '}'])
      if (isKept) return begin(registered(holder + access(key()), ''))
      const flags = (isFielded ? 1 : 0) + (isShortBut(plan) ? 2 : 0)
      const target = takesTarget(facts) ? ',!0)' : ')'
      const member = (/** @type {Pieces} */ made) =>
        facts.isDerived ? [`${helper('R')}(this,`, made, `,${flags})`]
          : facts.isConstructor ? [`${helper('C')}(this,`, frame ? made : ['[', made, ']'], target]
          : registered(holder + access(key()), made)
      const made = titled(text)
      if (!isTwinMember(plan)) return begin(isNamedInside ? [`const ${twin}=`, made, ';', member(twin)] : member(made))
      // `super` starts at the prototype of the object that defines a method. So the class defines the twin as
      // well, and takes it away before any code can see it.
      addTwin()
      const own = `${holder}.${nameAsMember(plan)}`
      const { title } = plan
      const name = title[0] === '[' ? cut(title, 1, title.length - 1) : stringify(title)
      begin([member(`${helper('m')}(${own},${name})`), parent.static ? '' : `;delete ${own}`])
    }

    function expression() {
      const { id } = node
      const fn = isDual ? id ? asItIs : named(asItIs)
        : id ? stub(plan, `function ${id.name}`)
        : named(stub(plan, isObjectMethod ? key() : facts.isArrow ? '' : 'function'))
      if (isKept) {
        // V8 shows an anonymous function under the names that it is assigned to, if no call is between.
        const isAssigned = parent.type === 'AssignmentExpression' && inferredName(node) === '' && !id
        if (!isAssigned) return id ? registered(asItIs, '') : registered(named(asItIs), '')
        enclose(around, parent.start, parent.end, STATEMENT_EDGE, `${helper('O')}(`, ')')
        return [asItIs]
      }
      if (!isNamedInside) {
        const inner = plan.title === '' ? text : titled(text)
        return id ? [`(${id.name}=>`, registered(id.name, inner), ')(', fn, ')'] : registered(fn, inner)
      }
      if (!id && !callee && plan.title !== '') {
        return [`(${twin}=>`, registered(fn, [`${twin}=`, titled(text)]), ')()']
      }
      // V8 names an anonymous function by the names before it in its statement, so the twin has its own.
      const made = [`const ${twin}=`, titled(text), ';']
      if (id) {
        const own = callee ? `const ${callee}=${id.name};` : ''
        const end = [made, own, 'return ', registered(id.name, twin), '})(']
        return isDual ? [`(${id.name}=>{`, end, fn, ')'] : ['(()=>{', fn, end, ')']
      }
      if (!callee) return ['(()=>{', made, 'return ', registered(fn, twin), '})()']
      return isDual ? [`(${callee}=>{`, made, 'return ', registered(callee, twin), '})(', fn, ')']
        : ['(()=>{', made, `const ${callee}=`, fn, ';return ', registered(callee, twin), '})()']
    }

    /** The twin, with the name of the function. @param {Pieces} fn */
    function titled(fn) {
      return withTitle(plan.title, fn, isConcise(plan))
    }

    /** What the member is called in the text. */
    function key() {
      const { key: { start, end }, computed } = parent
      return computed ? `[${cut(source, start, end)}]` : cut(source, start, end)
    }

    /** @param {string} key */
    function access(key) {
      return key[0] === '[' ? key : matches(/^["'\d.]/, key) ? `[${key}]` : `.${key}`
    }

    /** The function, with the name that it would have where it stands. @param {Pieces} fn */
    function named(fn) {
      if (isObjectMethod) return ['{', fn, '}', access(key())]
      const isKey = parent.value === node && parent.computed
      const name = isKey ? key() : /** @type {string} */ (inferredName(node))
      if (name === '') return fn
      return withTitle(isKey ? name : asKey(name), fn)
    }
  }

  /** A function that drives its twin. @param {Plan} plan @param {string} head */
  function stub(plan, head) {
    const { node, facts, twin } = plan
    const { params, body } = node
    const { isArrow, usesThis, usesArguments } = facts
    /** @type {string[]} */
    const names = []
    const isSimple = !usesArguments && !find(params, ({ type }) => type !== 'Identifier')
    for (let i = 0; i < params.length && !matches(/^(?:Assignment|Rest)/, params[i].type); i++) {
      append(names, isSimple ? params[i].name : `${our}a${i}`)
    }
    const given = join(names, ',')
    const rest = `${given && `${given},`}...${our}r`
    const directive = body.type === 'BlockStatement' && isStrictBody(body.body) ? '"use strict";' : ''
    const self = usesThis ? 'this' : 0
    const all = isSimple ? `[${given}]` : isArrow ? `[${rest}]` : 'arguments'
    const result = plan.frame ? `${helper('P')}(${plan.entry},${self},${all})`
      : `${helper('d')}(${isSimple && !usesThis ? `${twin}(${given})` : `${helper('a')}(${twin},${self},${all})`})`
    return isArrow && !directive ? `${head}(${isSimple ? given : rest})=>${result}`
      : `${head}(${isArrow && !isSimple ? rest : given})${isArrow ? '=>' : ''}{${directive}return ${result}}`
  }
}

/** The constructor of functions. */
const FUNCTION = /^Function$/

/** The name by which code calls a function, or an empty text. @param {Node} node @returns {string} */
function nameFor({ id, parent }) {
  const { key, left } = parent
  const name = id?.name ?? key?.name ?? parent.id?.name ?? left?.name ?? left?.property?.name ?? ''
  return matches(/^[a-z_$][\w$]*$/i, name) ? name : ''
}

/** Whether only `super()` makes a derived constructor long. @param {Plan} plan */
const isShortBut = ({ facts, calls }) =>
  facts.loops.length === 0 && !find(calls, ({ kind }) => kind !== 'super')

/** Whether two elements of a class have one name, which is known. @param {Node} one @param {Node} other */
const isSameMember = (one, other) => one.type === 'MethodDefinition' && one.static === other.static &&
  (steadyKey(one) || steadyKey(other)) === steadyKey(other)

/**
 * The global object, in a script or in a CommonJS file. Sloppy code has it as the `this` of a call; strict
 * code has a name for it, and a script that declares all of the names has `this`.
 *
 * @param {Node} tree
 */
function realmOf({ scope: { variables, isStrict } }) {
  const names = pick(['globalThis', 'self', 'global', 'window'], name => variables[name] === undefined)
  let named = 'this'
  for (let i = names.length; i-- > 0;) {
    named = names[i] === 'globalThis' ? names[i] : `typeof ${names[i]}==="object"?${names[i]}:${named}`
  }
  return isStrict ? named : `function(){return this}()||(${named})`
}

/**
 * Whether a function has a body of its own in addition to its twin. Another one runs the twin.
 *
 * @param {Plan} plan @param {boolean} isInner
 */
const isPrintedTwice = ({ node, facts, duals, children }, isInner) => facts.isAsync || facts.isGenerator ||
  (facts.isMethod && node.parent.type === 'MethodDefinition') ||
  (!isInner && (duals > 0 || children.length === 0))

/**
 * Whether a function without a twin is registered, so that `preemptify` calls it instead of evaluating its
 * source without its variables. Others may be made by the thousand.
 *
 * @param {Plan} plan
 */
function isKeptWhole({ node, facts, parent, isLong, isOnce }) {
  if (isLong || isOnce || !parent?.isOnce || !isFunctionNode(node)) return false
  if (facts.isAccessor || facts.isConstructor) return false
  if ((facts.isAsync && facts.isGenerator) || facts.awaitsDisposal) return false // `preemptify` refuses these
  const { type, computed, value } = node.parent
  if (type === 'CallExpression' || type === 'NewExpression' || isPrivate({ node, facts })) return false
  if (node.type === 'FunctionDeclaration') return isList(node.parent)
  if (facts.usesSuper && type === 'Property') return false
  return computed && value === node ? steadyKey(node.parent) !== '' : !!node.id || inferredName(node) !== null
}

/**
 * Whether a program may read the function itself from the `arguments` of its twin: `callee` is there in
 * sloppy functions with a simple list of parameters. The length and the elements by a number tell nothing.
 *
 * @param {Plan} plan
 */
export function needsCallee({ node, facts }) {
  if (!facts.usesArguments || facts.isStrict || facts.isArrow) return false
  if (find(node.params, (/** @type {Node} */ { type }) => type !== 'Identifier')) return false
  const { references, declarations } = node.scope.variables.arguments
  return declarations.length > 0 || find(references, reference => {
    const { parent } = reference
    if (!isMember(parent) || parent.object !== reference || isCalled(parent)) return true
    const { computed, property } = parent
    return computed ? property.type !== 'Literal' || property.value === 'callee' : property.name === 'callee'
  }) !== undefined
}

/**
 * The name of a function in stack traces and source maps; empty if the function has no name.
 *
 * @param {Plan} plan @param {string} source
 */
function titleOf({ node, facts }, source) {
  const { id, parent } = node
  const { key, computed } = parent
  let name = id?.name
  if (facts.isConstructor) name = parent.parent.parent.id?.name ?? inferredName(parent.parent.parent)
  else if (node.type === 'FunctionDeclaration') name ??= 'default'
  else if (!id && parent.value === node && computed) name = `[${cut(source, key.start, key.end)}]`
  else if (facts.isMethod) name = isPrivate({ node, facts }) ? `#${key.name}` : key.name ?? `${key.value}`
  else if (!id) name = inferredName(node)
  return name ?? ''
}

/** Whether its twin may be a generator as well. @param {Plan} plan */
const isSpare = ({ draft }) => draft?.framed && !draft.framed.isTail

/**
 * Has twins be generators: first those that make closures, as these are called more often, and those around
 * them; then the longest.
 *
 * @param {Plan[]} plans @param {number} count
 */
function chooseGenerators(plans, count) {
  if (count === 0) return
  const spare = pick(plans, isSpare)
  /** How many functions, each in another, each holds. @type {Map<Plan, number>} */
  const heights = emptyMap()
  const heightOf = (/** @type {Plan} */ plan) => heights.get(plan) ?? 0
  for (let i = plans.length; i-- > 0;) {
    const { parent } = plans[i]
    if (parent) heights.set(parent, max(heightOf(parent), heightOf(plans[i]) + 1))
  }
  const lengthOf = (/** @type {Plan} */ { node: { start, end } }) => end - start
  sort(spare, (/** @type {Plan} */ a, /** @type {Plan} */ b) =>
    heightOf(b) - heightOf(a) || a.node.scope.depth - b.node.scope.depth || lengthOf(b) - lengthOf(a))
  for (let i = 0; i < count; i++) {
    spare[i].frame = null
    unframe(spare[i].draft)
  }
}
