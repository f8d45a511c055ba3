/**
 * addons/preemptify/print.mjs: prints the text of a rewritten module or script.
 *
 * A function that can run long is printed twice: unchanged, and as its preemptible twin over the same
 * variables. Deeply nested functions are printed as twins only. For plain calls a stub runs the twin to
 * completion.
 */

import {
  constructorFor, constructorOf, isBinding, isCalled, isCollected, isFunctionClass, isMember, isPreempted,
  isPrivate, isTwinMember, nameAsMember
} from './calls.mjs'
import { classOf, hasFields, takesTarget } from './constructors.mjs'
import {
  BEYOND, BODY_EDGE, EXPRESSION_EDGE, REPLACES, STATEMENT_EDGE, asKey, enclose, hashOf, inOrder, insert,
  isConcise, optimisations, pastDirectives, prefixFor, print, replace, seek, terse, withTitle
} from './edits.mjs'
import { canLeaveFrame, frame, markResumePoints, planFrame, textOfFrame } from './frames.mjs'
import { handlersAround, planTwin, textOfTwin } from './generators.mjs'
import { findEffects, newPackage } from './effects.mjs'
import { claimWhole, isUsedAsObject } from './effects-whole.mjs'
import { codeOfUse, markLastUse } from './event-use.mjs'
import { HELPERS, claimingHelper, isShortList, listed, standInOf } from './helpers.mjs'
import { EVENT_USE } from './run.mjs'
import { claimsOf, packageOf, ruleFor } from './claimed.mjs'
import { labelsOf } from './loops.mjs'
import { findLifted } from './lift.mjs'
import { mapLine } from './maps.mjs'
import { inferredName, isInside, isList, planModule, steadyKey } from './plan.mjs'
import {
  checkPatterns, create, emptyMap, emptySet, exec, filter, find, flat, forEach, holds, join, listOf, matches,
  max, push, pushAll, resume, shielded, slice, sort, startsWith, stringify, takeLast, trimmed
} from './primordials.mjs'
import { isFunctionNode, isStrictBody } from './scopes.mjs'
import {
  addedByEdits, addedInTwin, chooseGenerators, countCopies, directCalls, gainOf, inOrderOfLoss,
  isPrintedTwice, isPrintedWhole, plainLength, possibleInlineCaches, predictedLength
} from './sizes.mjs'
/** @import { Facts, Node } from './scopes.mjs' */
/** @import { Emitter, InlineCache, InlineCaches, Plan } from './calls.mjs' */
/** @import { Factory } from './lift.mjs' */
/** @import { Edit, EditHolder, Fragments, Range } from './edits.mjs' */

/** Maximum length of the printed text, as a multiple of the length of its source. */
const MAX_GROWTH = 3.99
/** Additional characters for a short text, because its prologue is long in comparison with its source. */
const HEAD = 400
/** A source with fewer characters is a short text. */
const SHORT = 1000
/**
 * Maximum predicted length, as a multiple of the allowed length, at which a text with the texts of callees
 * for messages is still tried.
 */
const MARGIN = 1.15
/**
 * Predicted length of a text without inline caches, as a multiple of the allowed length, from which on plain
 * calls stop claiming arguments: see `dropArgumentClaims`. Predictions are up to 10 % too long.
 */
const HOPELESS = 1.1
/** The fraction of the allowed length to fill. The length is measured with an error of at most 0.1 %. */
const AIM = 0.999
/** The fraction of the allowed length that may stay unused. */
const SLACK = 0.01

/**
 * A function that is printed with a registration. The registration names the twin, or the reason for a
 * missing twin.
 *
 * @typedef {object} Child
 * @property {EditHolder} around the edits of the code around the function
 * @property {Plan} plan
 * @property {Edit[]} edits the edits of the function
 * @property {Range} whole the text of the function; of a method of an object, the text of the property
 * @property {boolean} isKept whether the function has no twin: see isKeptWhole
 * @property {boolean} isDual whether the function is printed as well as its twin; otherwise a stub calls the
 *   twin
 * @property {boolean} isObjectMethod whether it is a method or an accessor of an object literal
 * @property {string} callee the same as in Emitter
 * @property {string} twin the name of the twin
 * @property {boolean} isNamedInside whether code uses the twin by its name
 * @property {string} register the name of the helper that attaches the twin
 * @property {string} flags the arguments that follow the twin: see flagsOf
 */

/**
 * Returns the rewritten text of a module or script.
 *
 * @param {string} text the source @param {Node} tree the tree, with resolved names
 * @param {string} runtime the URL of the run-time support
 * @param {string} [url] the URL of the source; with a URL the text ends with a source map
 * @param {string} [prologue] code after the declarations of the helpers
 * @param {string} [epilogue] code at the end
 * @param {{ exclusive?: boolean | string[], package?: string }} [claims] options of `sourceOfModule`
 */
export function rewrittenText(text, tree, runtime, url, prologue = '', epilogue = '', claims = {}) {
  return shielded(printText, [text, tree, runtime, url, prologue, epilogue, claims])
}

/**
 * @param {string} text @param {Node} tree @param {string} runtime @param {string | undefined} url
 * @param {string} prologue @param {string} epilogue
 * @param {{ exclusive?: boolean | string[], package?: string }} claims options of `sourceOfModule`
 */
function printText(text, tree, runtime, url, prologue, epilogue, { exclusive, package: given }) {
  checkPatterns()
  const room = MAX_GROWTH * text.length + (text.length < SHORT ? HEAD : 0) - epilogue.length
  /** @type {number[] | null} */
  const kept = url === undefined ? null : []
  /** @type {(number | string)[]} */
  const named = []
  const isLong = text.length >= SHORT
  const hash = hashOf(text)
  const name = url ?? `text:${hash}`
  const directory = given ?? packageOf(name)
  const rule = ruleFor(exclusive, directory)
  const isAnalysed = tree.plans !== undefined
  const plans = tree.plans ??= planModule(tree)
  if (rule) claimWhole(plans, text, true)
  else if (rule === undefined && !isAnalysed) {
    findEffects([{ tree, plans, text, name }], { package: newPackage(directory === '') })
  }
  const unit = { name, hash, directory, exclusive: rule ?? (tree.isTooLarge || undefined) }
  // Calls pass the texts of their callees for messages. A short text keeps them even if it is too long, since
  // most of the excess is the prologue.
  const printed = (/** @type {boolean} */ says, /** @type {boolean} */ mustFit) =>
    printModule(text, tree, runtime, kept, named, prologue, room, says, mustFit, unit)
  const result = `${printed(true, isLong) ?? printed(false, false)}${epilogue}`
  return kept && url !== undefined ? result + mapLine(text, result, kept, url, named) : result
}

/**
 * Plans and prints a module or script.
 *
 * The predicted length of the text determines the form of each twin, so most twins are planned only once.
 * Then the length of the composed text is known before it is printed, and some functions get shorter or
 * longer texts (see `savings`).
 *
 * @param {string} source @param {Node} tree
 * @param {string} specifier the URL of the run-time support
 * @param {number[] | null} kept receives the unchanged ranges of the source, for `mapOf`
 * @param {string} begin the text after the declarations of the helpers
 * @param {(number | string)[]} named receives the names of positions in the text, for `mapOf`
 * @param {number} room the maximum length of the text
 * @param {boolean} says whether calls pass the texts of their callees for messages
 * @param {boolean} mustFit whether to return null if the text is too long, instead of shortening it
 * @param {{ name: string, hash: string, directory: string, exclusive: boolean | undefined }} unitOf the unit
 *   for `claimsOf`, and the hash of the source
 * @returns {string | null} the text; null if the text must fit and is too long
 */
function printModule(source, tree, specifier, kept, named, begin, room, says, mustFit, unitOf) {
  const plans = tree.isPrinted ? planModule(tree) : tree.plans
  if (tree.isPrinted) copyEffects(tree.plans, plans)
  tree.plans = plans
  tree.isPrinted = true
  forEach(plans, plan => {
    if (!plan.isLong) return
    plan.isFramed = optimisations.frame && canLeaveFrame(plan)
    markResumePoints(plan, true)
  })
  const isScript = tree.sourceType === 'script'
  /** The prefix of the names that the compiler adds. No name in the source starts with it. */
  const our = prefixFor(source)
  /** The plan of the function, module or script that declares the helpers. */
  const home = isScript ? homeOf(plans) : plans[0]
  const isTopLevel = isScript && home === plans[0]
  /** The prefix of the global variables that most scripts share. */
  const shared = holds(source, '$rt_') ? `${our}rt_` : '$rt_'
  /** The prefix of the names of helpers. */
  const global = isTopLevel ? shared : our
  /** The prefix of the names of top-level twins and of inline caches. */
  const unit = isTopLevel ? `${global}${unitOf.hash}_` : our
  /** The keys of the helpers that the text uses. */
  const used = emptySet()
  /** @type {InlineCaches} */
  const inlineCaches = { all: [], methods: emptyMap(), functions: emptyMap() }
  /** The names of helpers by their keys. @type {Record<string, string>} */
  const helperNames = create(null)
  /** @param {string} key */
  const nameOf = key => helperNames[key] ??= flat(global + key)
  /** @param {string} key */
  const helper = key => {
    used.add(key)
    return nameOf(key)
  }
  /** A cache of `spell`: texts without spaces, by the texts with spaces. @type {Map<string, string>} */
  const spelled = emptyMap()
  /** @param {string} text */
  function spell(text) {
    let result = spelled.get(text)
    if (result === undefined) spelled.set(text, result = flat(terse(text)))
    return result
  }
  const budget = `${our}b`
  /** An expression for the run-time support. */
  const runtime = `${global}p${isScript ? '.runtime' : ''}`
  /** The argument that makes a constructor skip its body. */
  const nothing = isScript ? `${runtime}.nothing` : `${global}N`
  const written = {
    has: (/** @type {Node} */ node) => (node.call && isPreempted(node.call)) || isCollected(node)
  }
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    // Other twins are used only where they are created, so they share one name.
    const isNamed = plan.node.type === 'FunctionDeclaration' || isTwinMember(plan)
    plan.twin = isNamed ? `${plan.parent?.parent ? our : unit}${i}` : `${our}T`
    if (!plan.isLong) continue
    const { node: { id, start, parent } } = plan
    const name = titleOf(plan, source)
    plan.title = name && asKey(name)
    plan.mark = name ? { name, at: (id ?? (plan.facts.isMethod ? parent.key : { start })).start } : ''
    // In a cycle of imports another module may call a function before this module runs. A function that is
    // only a stub then needs its twin, so the twin is hoisted as well.
    plan.isHoisted = !isScript && plan.parent?.parent === null &&
      plan.node.type === 'FunctionDeclaration' && !isPrintedTwice(plan, false)
  }

  const plainBudget = isScript ? `${global}p.budget` : budget
  /** The texts with which functions make claims. */
  const claimed = claimsOf(plans, { our, unit, budget: plainBudget, ...unitOf })
  // For babel.min.js, the search for captured variables takes 80 MB and 0.4 of the time of all other phases.
  if (optimisations.lift && !plans[0].node.isTooLarge) findLifted(plans, home, source, unit)
  countCopies(plans)
  /**
   * Returns the text with which a plain call claims its arguments.
   *
   * @param {string} identity the property of a Plan
   */
  const claimingArguments = identity => isShortList(identity)
    ? `${helper('J')}(${identity})`
    : `${plainBudget}.i&&${runtime}.claimArguments(${listed(identity)})`
  if (unitOf.exclusive !== false) forEach(plans, plan => { plan.identity = identityOf(plan) })
  const lengthOfInlineCache = textOfInlineCache(`${unit}99k`, '.member').length
  const most = possibleInlineCaches(plans) * lengthOfInlineCache
  if (mustFit && predictedLength(plans, true, most) > MARGIN * room) says = mustFit = false
  /** The declarations of the helpers. */
  const head = ['']
  /** Whether functions or their claims have changed since the text was composed. */
  let isStale = true
  /** Functions whose twins can have either form. The first functions lose frame form first. */
  const spare = inOrderOfLoss(plans)
  /** How many of the functions in `spare` have generator form. */
  const shortened = mustFit ? 0 : chooseGenerators(spare, predictedLength(plans, says, most) - room, says)
  // Generators and fewer inline caches are not enough.
  if (!mustFit && predictedLength(plans, says, 0) > HOPELESS * room) dropArgumentClaims()
  forEach(plans, plan => plan.isLong && planForm(plan))
  forEach(plans, plan => {
    if (!plan.isLong) return
    editTwin(plan)
    plan.text = textOf(plan)
  })
  /** How often the text calls each twin by its name. @type {Map<Plan, number> | null} */
  let uses = null
  /** The declarations of the locks of claims. @type {string | null} */
  let locks = null
  let shortening = savings()
  let fragments = composed()
  const length = composedLength()
  if (mustFit && length > room / AIM) return null
  if (!mustFit && isFitted(AIM * room - length)) fragments = composed()
  for (;;) {
    const result = print(source, fragments, kept, named)
    const excess = result.length - room
    if (excess > 0 && mustFit) return null
    if (!isShortened(excess)) return result
    if (kept) kept.length = named.length = 0
    fragments = composed()
  }

  /** Returns the whole text. The functions are composed again only if they have changed. */
  function composed() {
    if (isStale) compose()
    isStale = false
    head[0] = prologue()
    return [{ edits: plans[0].plain, from: 0, to: source.length }]
  }

  /**
   * Changes the forms of twins if the text is too long, or much too short.
   *
   * @param {number} left the number of characters that the text may still grow
   * @returns {boolean} `true` if the text has to be composed again
   */
  function isFitted(left) {
    return left < 0 ? isShortened(-left) : left > SLACK * room && isLengthened(left)
  }

  /** @param {Plan} plan @returns {Emitter} the emitter of the twin, without edits */
  function emitterFor(plan) {
    const { facts, edits } = plan
    plan.helpers = ''
    return {
      source, our, unit, free: tree.free, edits, variables: emptySet(), written, inlineCaches, says, spell,
      around: null, budget,
      helper(key) {
        if (!holds(plan.helpers, key)) plan.helpers += key
        return nameOf(key)
      },
      begin: (isScript ? `${budget}=${global}p.budget` : '') +
        (facts.isDerived ? `${isScript ? ',' : ''}${our}G=this` : ''),
      steps: facts.isGenerator && !facts.isAsync ? `${our}s` : '', self: 'this',
      isOfModule: true, isCounted: true, layout: null,
      callee: needsCallee(plan) ? `${plan.twin}F` : '', claims: plan.claimTexts, canWait: !facts.isGenerator,
      lock: plan.lock, identity: plan.identity
    }
  }

  /** Makes the twin of a plan a generator. @param {Plan} plan */
  function setGenerator(plan) {
    plan.frame = null
    plan.isFramed = false
    plan.entry = ''
    push(plan.opening, `${global}g(`)
    push(plan.closing, ')')
  }

  /** Plans a twin in its form. @param {Plan} plan */
  function planForm(plan) {
    plan.emitter = emitterFor(plan)
    plan.frame = plan.isFramed ? frame(plan.emitter, plan) : null
    if (plan.frame) plan.entry = isTwinMember(plan) ? nameAsMember(plan) : plan.twin
    else setGenerator(plan)
  }

  /**
   * Plans a twin again in the other form.
   *
   * @param {Plan} plan @returns {number} the number of characters that this saves
   */
  function changeForm(plan) {
    const before = addedLength(plan)
    const { length: known } = inlineCaches.all
    plan.isFramed = !plan.isFramed
    plan.opening.length = plan.closing.length = 0
    plan.edits = []
    planForm(plan)
    editTwin(plan)
    plan.text = textOf(plan)
    isStale = true
    return before - addedLength(plan) - (inlineCaches.all.length - known) * lengthOfInlineCache
  }

  /**
   * Returns the number of characters that a function with a twin adds to the text: its twin, the calls that
   * attach the twin, and the text around direct calls of the twin.
   *
   * @param {Plan} plan
   */
  function addedLength(plan) {
    const { copies: { 0: outside, 1: inside }, opening, closing } = plan
    uses ??= directCalls(plans)
    let length = (plainLength(opening) + plainLength(closing)) * (uses.get(plan) ?? 0)
    if (outside > 0) length += outside * registeredLength(plan, false)
    if (inside > 0) length += inside * registeredLength(plan, true)
    return length + (outside + inside) * addedInTwin(plan, plan.own ?? plan.edits)
  }

  /** @param {Plan} plan @param {boolean} isInner whether the function is inside of a twin */
  function registeredLength(plan, isInner) {
    /** @type {Edit[]} */
    const edits = []
    const around = { edits: [] }
    if (isInner) plan.inner = edits
    else plan.plain = edits
    if (plan.lifted) return plainLength(factoryOf(plan)) + addedByEdits(edits)
    printChild(around, plan, isInner)
    return addedByEdits(around.edits) + (isPrintedWhole(plan, isInner) ? addedByEdits(edits) : 0)
  }

  /** Returns the length of the text that `compose` has composed. */
  function composedLength() {
    let length = source.length
    for (let i = 0; i < plans.length; i++) {
      const plan = plans[i]
      const { copies: { 0: outside, 1: inside }, isLong } = plan
      if (outside > 0 && isPrintedWhole(plan, false)) length += outside * addedByEdits(plan.plain)
      if (inside > 0 && isPrintedWhole(plan, true)) length += inside * addedByEdits(plan.inner)
      if (isLong) length += (outside + inside) * addedInTwin(plan, plan.edits)
    }
    return length
  }

  /** Collects the edits of a twin. @param {Plan} plan */
  function editTwin(plan) {
    if (plan.frame) planFrame(plan.emitter, plan.calls)
    else planTwin(plan.emitter, plan)
    markLastUse(plan.emitter, plan)
    plan.own = null
  }

  /** Composes the texts of all functions, inner functions first. */
  function compose() {
    /** @type {Fragments[]} */
    const factories = []
    used.clear()
    for (let i = plans.length; i-- > 0;) {
      const plan = plans[i]
      const plain = bound(plan, childEdits(plan, false))
      if (plan === home) declareHelpers(plain, factories)
      plan.plain = inOrder(plain)
      if (!plan.isLong && !isInside(plan)) continue // neither has a twin nor is inside one
      const inner = childEdits(plan, true)
      if (plan.isLong) addInner(plan, inner)
      plan.inner = inOrder(bound(plan, inner))
      // The text of a twin has the registrations of the functions in it.
      if (plan.isLong && plan.children.length > 0) plan.text = textOf(plan)
      if (plan.lifted) push(factories, factoryOf(plan))
    }
    const { plain } = plans[0]
    const at = positionOfHead()
    const add = (/** @type {number} */ rank, /** @type {Fragments} */ text) =>
      insert({ edits: plain }, at, rank, BEYOND, text)
    if (isScript && !isTopLevel && (used.size || claimed.isUsed)) {
      add(BODY_EDGE / 2, `;var ${shared}p=${standInOf(realmOf(tree))};`)
    }
    if (find(plans[0].children, ({ isListed }) => isListed)) {
      add(BODY_EDGE - 1, `;var ${global}0`)
      add(BODY_EDGE + 1, ';')
    }
    add(STATEMENT_EDGE, begin)
    inOrder(plain)
  }

  /**
   * Sorts the edits of a twin together with the edits of the functions inside the twin. A twin without inner
   * functions keeps one list.
   *
   * @param {Plan} plan @param {Edit[]} inner edits of the inner functions
   */
  function addInner(plan, inner) {
    const { edits } = plan
    if (plan.own !== null || inner.length > 0) {
      plan.own ??= trimmed(edits)
      edits.length = 0
      pushAll(pushAll(edits, plan.own), inner)
    }
    inOrder(edits)
  }

  /**
   * Inserts the helpers that the text refers to, and the factories of lifted functions.
   *
   * @param {Edit[]} edits edits of `home` @param {Fragments[]} factories
   */
  function declareHelpers(edits, factories) {
    forEach(plans, ({ helpers, frame, isCalledDirectly }) => {
      for (let i = 0; i < helpers.length; i++) used.add(helpers[i])
      if (isCalledDirectly && !frame) used.add('g')
    })
    const { body } = home.node
    const isFunction = home !== plans[0]
    const at = isFunction ? pastDirectives(body.body, body.start + 1) : positionOfHead()
    const rank = isFunction ? -BODY_EDGE : BODY_EDGE / 2
    insert({ edits }, at, rank, BEYOND, factories.length ? [head, factories] : head)
  }

  /** @param {Plan} plan */
  function textOf(plan) {
    return plan.frame ? textOfFrame(plan.emitter, plan) : textOfTwin(plan.emitter, plan)
  }

  /**
   * Gives frame form again to twins that need only a few more characters for it.
   *
   * @param {number} left the number of characters that the text may still grow
   * @returns {boolean} `true` if the text has to be composed again
   */
  function isLengthened(left) {
    let isChanged = false
    for (let i = shortened; i-- > 0 && left > 0;) {
      if (spare[i].isFramed || gainOf(spare[i], says) > left) continue
      left += changeForm(spare[i])
      isChanged = true
    }
    if (isChanged) shortening = savings() // these twins can become generators again
    return isChanged
  }

  /**
   * Takes steps of `savings` until they save a number of characters.
   *
   * @param {number} excess the number of characters
   * @returns {boolean} `true` if the text has to be composed again
   */
  function isShortened(excess) {
    if (excess <= 0) return false
    let isChanged = false
    while (excess > 0) {
      const { done, value } = resume(shortening)
      if (done) break
      isChanged = true
      excess -= value
    }
    return isChanged
  }

  /**
   * Shortens the text in small steps. First, twins change from frame form to generator form. Then inline
   * caches are removed, those with the fewest calls first. At last, see `dropArgumentClaims`.
   *
   * @returns {Generator<number, void, void>} the number of characters that each step saves
   */
  function* savings() {
    for (let i = 0; i < spare.length; i++) if (spare[i].isFramed) yield changeForm(spare[i])
    /** @type {InlineCache[]} */
    const rare = trimmed(inlineCaches.all)
    sort(rare, (/** @type {InlineCache} */ a, /** @type {InlineCache} */ b) => a.uses - b.uses)
    for (let i = 0; i < rare.length; i++) {
      const { key, name, opening, member, whole, uses } = rare[i]
      const { length } = textOfInlineCache(name, key)
      opening[0] = `${wayOf(key)}(`
      if (says) setSaid(key, member, whole)
      rare[i].isRemoved = true
      yield length + uses * (name.length + 1 - opening[0].length)
    }
    if (dropArgumentClaims()) yield Infinity
  }

  /**
   * Ends the claims of arguments in plain calls, in a package that is too large for the analysis. There each
   * plain call claims the package. All other texts keep these claims, even if they exceed the limit.
   */
  function dropArgumentClaims() {
    if (!tree.isTooLarge || !find(plans, ({ identity }) => identity)) return false
    forEach(plans, plan => { plan.identity = '' })
    isStale = true
    return true
  }

  /**
   * Lets a call pass the text of its callee for messages, because the removed inline cache knew this text.
   *
   * @param {string} key @param {[string]} member @param {[string]} whole
   */
  function setSaid(key, member, whole) {
    const isMethod = startsWith(key, '.')
    if (isMethod) member[0] = `+${stringify(key)}`
    whole[0] = `,${stringify(isMethod ? `this${key}` : key)}`
  }

  /** Returns the function of the run-time support that an inline cache calls. @param {string} key */
  function wayOf(key) {
    return global + (startsWith(key, '.') ? 'E' : 'e')
  }

  /** @param {string} name @param {string} key */
  function textOfInlineCache(name, key) {
    const way = wayOf(key)
    // A stand-in for the run-time support knows no twins, so its results must not be cached.
    const first = isScript ? `${runtime}.isStandIn?${way}(f):` : ''
    // The result for undefined is not cached, because the message of the error names the expression.
    const said = !startsWith(key, '.') ? `g??"${key}"`
      : `${says ? 'g' : '0'},"${slice(key, 1)}"`
    return `var ${name}p,${name}q;function ${name}(f,g){` +
      `return f&&f===${name}p?${name}q:${first}${name}q=${way}(${name}p=f,${said})}`
  }

  function positionOfHead() {
    const hashbang = startsWith(source, '#!') ? exec(/.*[^]?/, source)[0].length : 0
    return isScript ? pastDirectives(tree.body, hashbang) : hashbang
  }

  function prologue() {
    let result = isScript ? `;var ${global}p=${isTopLevel ? standInOf(realmOf(tree)) : `${shared}p`};`
      : `import{support as ${global}p,budget as ${budget}}from${stringify(specifier)};`
    const hasNothing = !isScript && (used.has('C') || used.has('R'))
    if (hasNothing) result += `const ${nothing}=${runtime}.nothing;`
    for (const key in HELPERS) {
      if (!used.has(key)) continue
      if (key === 'J') {
        result += claimingHelper(`${global}J`, runtime, isScript ? `${global}p.budget` : budget)
        continue
      }
      const { name, arity } = HELPERS[key]
      const list = slice('f,g,e,s,m', 0, max(0, 2 * arity - 1))
      result += `function ${global}${key}(${list}){return ${runtime}.${name}(${list})}`
    }
    forEach(inlineCaches.all, ({ key, name, isRemoved }) => {
      if (!isRemoved) result += textOfInlineCache(name, key)
    })
    result += locks ??= claimed.prologue(runtime)
    return used.size || claimed.isUsed ? `${result}${namesOfTwins()}` : ''
  }

  /**
   * Returns the text that registers the names of functions with twins, for advice (see advice.mjs). The text
   * contains only some of the names, because its length is limited.
   */
  function namesOfTwins() {
    if (!says) return '' // the text is too long already
    const names = emptySet()
    let room = source.length < SHORT ? 60 : source.length / 50
    forEach(plans, ({ node, isLong }) => {
      const name = isLong ? nameFor(node) : ''
      if (name.length < 3 || name.length > room || names.has(name)) return
      names.add(name)
      room -= name.length + 1
    })
    return names.size ? `${runtime}.names(${stringify(join(listOf(names), ' '))});` : ''
  }

  /**
   * Collects the edits that print the inner functions and classes of a function.
   *
   * @param {Plan} plan @param {boolean} isInner whether the text is a twin, or inside a twin
   */
  function childEdits(plan, isInner) {
    const emitter = { edits: pushAll([], plan.facts.edits) }
    forEach(plan.facts.classes, node => inheritConstructor(emitter, node))
    forEach(plan.children, child => printChild(emitter, child, isInner))
    return emitter.edits
  }

  /** Registers a class without an own constructor. @param {EditHolder} emitter @param {Node} node a class */
  function inheritConstructor(emitter, node) {
    const { superClass, body } = node
    const found = superClass && !constructorOf(node) ? constructorFor(superClass) : null
    if (found === null || (found.plan && !found.plan.isLong)) return
    const flags = hasFields(node) ? 3 : 2
    insert(emitter, body.start + 1, BODY_EDGE, BEYOND, `static{${helper('R')}(this,0,${flags})}`)
  }

  /**
   * Adds helpers to calls of `bind` and of `Function` in plain text.
   *
   * @param {Plan} plan @param {Edit[]} edits
   */
  function bound(plan, edits) {
    forEach(plan.bound, call => {
      const { callee, type } = call
      const { start, end } = callee.object ?? callee
      if (isFunctionClass(callee.object ?? callee)) {
        const isNew = type === 'NewExpression'
        replace({ edits }, start, end, `${isNew ? '(' : ''}${helper('x')}(Function)${isNew ? ')' : ''}`)
      }
      if (!isBinding(call)) return
      if (isFunctionClass(callee.object)) return
      enclose({ edits }, start, end, EXPRESSION_EDGE, `${helper('j')}((`, '))')
    })
    return edits
  }

  /** @param {EditHolder} around @param {Plan} plan @param {boolean} isInner */
  function printChild(around, plan, isInner) {
    const { node, facts, isLong } = plan
    const { type, parent } = node
    const edits = isInner ? plan.inner : plan.plain
    const isKept = isKeptWhole(plan)
    if (plan.lifted) return printExpression(childOf(around, plan, edits, isKept, true))
    claimPlainly(plan, edits)
    if (!isLong && !isKept) {
      // The key of a field belongs to the code around the field.
      const { start, end } = type === 'PropertyDefinition' ? node.value : node
      if (edits.length) replace(around, start, end, [{ edits, from: start, to: end }])
      return
    }
    const child = childOf(around, plan, edits, isKept, isKept || isPrintedTwice(plan, isInner))
    if (type === 'FunctionDeclaration') printDeclaration(child)
    else if (facts.isMethod && parent.type === 'MethodDefinition') printMember(child)
    else printExpression(child)
  }

  /**
   * @param {EditHolder} around @param {Plan} plan @param {Edit[]} edits @param {boolean} isKept
   * @param {boolean} isDual @returns {Child}
   */
  function childOf(around, plan, edits, isKept, isDual) {
    const { node, facts, frame, claimTexts, emitter } = plan
    const isObjectMethod = facts.isMethod && node.parent.type !== 'MethodDefinition'
    const { start, end } = isObjectMethod ? node.parent : node
    const { isShared = true, isTail = true } = emitter?.layout ?? {}
    const callee = emitter?.callee ?? ''
    const resumesByName = isTail ? claimTexts.length > 0 : !isShared
    return {
      around, plan, edits, whole: { edits, from: start, to: end }, isKept, isDual, isObjectMethod, callee,
      twin: frame ? plan.entry : plan.twin,
      isNamedInside: !isDual || callee !== '' || resumesByName,
      register: isKept ? '' : helper('t'),
      flags: flagsOf(plan)
    }
  }

  /**
   * Returns the text that registers a function with its twin, or without a twin if it is kept whole.
   *
   * @param {Child} child @param {Fragments} fn @param {Fragments} twin
   * @param {string} [register] the name of the helper @returns {Fragments}
   */
  function registered({ plan, isKept, flags, register: usual }, fn, twin, register = usual) {
    if (isKept) return [`${helper('O')}(`, fn, `${claimerOf(plan)})`]
    return [`${register}(`, fn, plan.frame ? ',0,' : ',', twin, `${flags})`]
  }

  /** @param {Child} child */
  function printDeclaration(child) {
    const { around, plan, whole, isDual } = child
    const { node, text, isHoisted } = plan
    const { start, end, parent } = node
    const name = node.id ? node.id.name : nameDefault(child)
    const fn = isDual ? whole : stub(plan, `function ${name}`)
    replace(around, start, end, [fn, isHoisted ? text : ''])
    plan.registered = registration(child, name)
    if (hasStatements(parent)) {
      const at = pastDirectives(parent.body, seek(source, '{', parent.start) + 1)
      // In a block, the text belongs to none of the ranges that start there.
      insert(around, at, -BODY_EDGE / 2, BEYOND, plan.registered)
    } else insert(around, positionOfHead(), BODY_EDGE, BEYOND, plan.registered)
  }

  /**
   * Names the function of `export default function () {}`.
   *
   * @param {Child} child @returns {string}
   */
  function nameDefault({ around, plan: { node, twin }, edits }) {
    const { start, parent } = node
    const name = `${twin}f`
    insert({ edits }, seek(source, '(', start), REPLACES, start, ` ${name}`)
    inOrder(edits)
    replace(around, parent.start, start, `export{${name} as default};`)
    return name
  }

  /**
   * Returns the text that registers a declared function: statements, or a part of the declaration of the
   * script.
   *
   * @param {Child} child @param {string} name @returns {Fragments}
   */
  function registration(child, name) {
    const { plan, isDual, isKept, twin, callee } = child
    const { node, frame, isHoisted, isCalledDirectly } = plan
    const isOfScript = isScript && plan.parent?.parent === null
    const declare = isOfScript ? 'var' : 'const'
    const isNamed = frame || callee || isCalledDirectly || !isDual
    const declaresTwin = isNamed && !isHoisted && !isKept
    const value = isHoisted ? registered(child, name, twin, helper('D'))
      : registered(child, name, isNamed ? twin : titled(plan))
    // A declaration does not change the completion value of a script, for example the result of `eval`.
    const result = callee || (isOfScript ? `${global}0` : '')
    plan.isListed = isOfScript && !hasStatements(node.parent)
    if (plan.isListed) return [declaresTwin ? [`,${twin}=`, titled(plan)] : '', `,${result}=`, value]
    return [
      node.id ? ';' : `;${helper('m')}(${name},"default");`,
      declaresTwin ? [`${declare} ${twin}=`, titled(plan), ';'] : '',
      result && `${declare} ${result}=`, value, ';'
    ]
  }

  /** Prints a method, an accessor or a constructor of a class. @param {Child} child */
  function printMember(child) {
    const { around, plan, edits, whole, isKept, isNamedInside, twin } = child
    const { node: { start, end, parent }, facts } = plan
    if (facts.isConstructor && (!facts.isDerived || isFielded(plan))) letSkipBody(plan, edits)
    if (edits.length) replace(around, start, end, [whole])
    if (isPrivate(plan)) return addTwinMember(child)
    if (isReplaced(plan)) return
    const begin = (/** @type {Fragments} */ body) =>
      insert(around, parent.parent.start + 1, BODY_EDGE, BEYOND, ['static{', body, '}'])
    if (isKept) return begin(registered(child, memberIn(parent), ''))
    if (!isTwinMember(plan)) {
      const made = titled(plan)
      return begin(isNamedInside ? [`const ${twin}=`, made, ';', attached(child, twin)]
        : attached(child, made))
    }
    // `super` starts at the prototype of the object that defines a method. So the class defines the twin as
    // well, and deletes it before the program can see it.
    addTwinMember(child)
    const own = `${holderOf(parent)}.${nameAsMember(plan)}`
    const { title } = plan
    const name = title[0] === '[' ? slice(title, 1, title.length - 1) : stringify(title)
    begin([attached(child, `${helper('m')}(${own},${name})`), parent.static ? '' : `;delete ${own}`])
  }

  /** Adds the twin of a member to its class. @param {Child} child */
  function addTwinMember({ around, plan: { node: { parent }, text } }) {
    insert(around, parent.end, -BODY_EDGE, parent.start, [parent.static ? 'static ' : '', text])
  }

  /**
   * Lets a constructor skip its body if its first argument is `nothing`.
   *
   * @param {Plan} plan @param {Edit[]} edits
   */
  function letSkipBody(plan, edits) {
    const { body: { start, body }, params: { 0: param } } = plan.node
    const at = pastDirectives(body, start + 1)
    const id = param?.left ?? param
    // With a second declaration, the name may be a function in the body.
    const isPlain = id?.type === 'Identifier' && id.variable.declarations.length === 1
    const first = isPlain ? id.name : 'arguments[0]'
    const skip = isFielded(plan) ? '{super();return}' : 'return;'
    insert({ edits }, at, -BODY_EDGE, BEYOND,
      `${at > start + 1 ? ';' : ''}if(${first}===${nothing})${skip}`)
    inOrder(edits)
  }

  /**
   * Returns the text that attaches a twin to a member of a class, which is `this`.
   *
   * @param {Child} child @param {Fragments} made the twin @returns {Fragments}
   */
  function attached(child, made) {
    const { plan } = child
    const { node, facts, frame } = plan
    if (facts.isDerived) {
      const flags = (isFielded(plan) ? 1 : 0) + (isShortBut(plan) ? 2 : 0)
      return [`${helper('R')}(this,`, made, `,${flags})`]
    }
    if (facts.isConstructor) {
      return [`${helper('C')}(this,`, frame ? made : ['[', made, ']'], takesTarget(facts) ? ',!0)' : ')']
    }
    return registered(child, memberIn(node.parent), made)
  }

  /** Prints a function expression, or a method of an object. @param {Child} child */
  function printExpression(child) {
    const { around, plan, whole: { from, to }, isObjectMethod } = child
    const { node, lifted } = plan
    const { parent } = node
    const text = lifted ? `${lifted.name}(${join(lifted.parameters, ',')})`
      : expression(child)
    if (isObjectMethod) {
      const key = keyIn(parent)
      replace(around, from, to, [key === '__proto__' ? '["__proto__"]:' : `${key}:`, text])
    // The parentheses are for `new function () {}`.
    } else replace(around, from, to, parent.callee === node ? ['(', text, ')'] : text)
  }

  /**
   * Returns the text of the factory of a lifted function. The factory creates and registers the function.
   *
   * @param {Plan} plan @returns {Fragments}
   */
  function factoryOf(plan) {
    const { plain, lifted } = plan
    const { name, parameters } = /** @type {Factory} */ (lifted)
    claimPlainly(plan, plain)
    const child = childOf({ edits: [] }, plan, plain, false, isPrintedTwice(plan, false))
    const { isNamedInside, callee } = child
    const body = isNamedInside && !plan.node.id && !callee ? statements(child)
      : ['return ', expression(child)]
    return [`function ${name}(${join(parameters, ',')}){`, body, '}']
  }

  /**
   * Returns statements that create, register and return an anonymous function whose twin needs a name. V8
   * names an anonymous function after the names before it in its statement. So the twin has a separate
   * statement.
   *
   * @param {Child} child @returns {Fragments}
   */
  function statements(child) {
    const { plan, twin } = child
    return [`const ${twin}=`, titled(plan), ';return ', registered(child, functionIn(child), twin)]
  }

  /** Returns the text of a registered function expression. @param {Child} child @returns {Fragments} */
  function expression(child) {
    const { plan, isDual, isKept, isNamedInside, twin, callee } = child
    const { node: { id }, text, title } = plan
    if (isKept) return keptExpression(child)
    const fn = functionIn(child)
    if (!isNamedInside) {
      const made = title === '' ? text : titled(plan)
      return id ? [`(${id.name}=>`, registered(child, id.name, made), ')(', fn, ')']
        : registered(child, fn, made)
    }
    if (!id && !callee && title !== '') {
      return [`(${twin}=>`, registered(child, fn, [`${twin}=`, titled(plan)]), ')()']
    }
    const declared = [`const ${twin}=`, titled(plan), ';']
    if (id) {
      const own = callee ? `const ${callee}=${id.name};` : ''
      const end = [declared, own, 'return ', registered(child, id.name, twin), '})(']
      return isDual ? [`(${id.name}=>{`, end, fn, ')'] : ['(()=>{', fn, end, ')']
    }
    if (!callee) return ['(()=>{', statements(child), '})()']
    const end = ['return ', registered(child, callee, twin), '})(']
    return isDual ? [`(${callee}=>{`, declared, end, fn, ')']
      : ['(()=>{', declared, `const ${callee}=`, fn, ';', end, ')']
  }

  /** Returns the text of an expression that is registered without a twin. @param {Child} child */
  function keptExpression(child) {
    const { around, plan, whole } = child
    const { node } = plan
    const { id, parent } = node
    // V8 names an anonymous function after its assignment target, unless a call is between them.
    const isAssigned = parent.type === 'AssignmentExpression' && inferredName(node) === '' && !id
    if (!isAssigned) return registered(child, functionIn(child), '')
    enclose(around, parent.start, parent.end, STATEMENT_EDGE, `${helper('O')}(`, `${claimerOf(plan)})`)
    return [whole]
  }

  /** Returns the text of the function in an expression: the function, or its stub. @param {Child} child */
  function functionIn(child) {
    const { plan, whole, isDual, isObjectMethod } = child
    const { node: { id, parent }, facts } = plan
    if (id) return isDual ? whole : stub(plan, `function ${id.name}`)
    const head = isObjectMethod ? keyIn(parent) : facts.isArrow ? '' : 'function'
    return withName(child, isDual ? whole : stub(plan, head))
  }

  /**
   * Gives the text of a function the name that the function has in the source.
   *
   * @param {Child} child @param {Fragments} fn
   */
  function withName({ plan: { node }, isObjectMethod }, fn) {
    const { parent } = node
    if (isObjectMethod) return ['{', fn, '}', access(keyIn(parent))]
    const isKey = parent.value === node && parent.computed
    const name = isKey ? keyIn(parent) : /** @type {string} */ (inferredName(node))
    if (name === '') return fn
    return withTitle(isKey ? name : asKey(name), fn)
  }

  /** Returns the key of a member as in the source. @param {Node} member */
  function keyIn({ key: { start, end }, computed }) {
    return computed ? `[${slice(source, start, end)}]` : slice(source, start, end)
  }

  /** Returns an access of a class member; the class is `this`. @param {Node} member */
  function memberIn(member) {
    return holderOf(member) + access(keyIn(member))
  }

  /**
   * Adds claims to the plain text of a function: at its start, and after each `await` and `yield`.
   *
   * @param {Plan} plan @param {Edit[]} edits
   */
  function claimPlainly({ node, facts, claimTexts, lock, identity }, edits) {
    if (!claimTexts.length && !lock && !identity || node.type === 'StaticBlock') return
    const { body = node.value } = node // the body of a function, or the value of a field
    if (!body) return
    const isBlock = body.type === 'BlockStatement'
    const isLater = facts.isAsync || facts.isGenerator
    let declared = lock ? `var ${lock};` : ''
    let claims = ''
    forEach(claimTexts, ({ atOnce }) => { claims += `${claims && ','}${atOnce}` })
    let first = claims
    if (identity) {
      const given = `${our}id`
      if (isLater && isBlock) declared += `var ${given}=${helper('F')}(${listed(identity)});`
      first = isLater && isBlock ? `${given}.P()` : claimingArguments(identity)
      if (claims) first += `,${claims}`
      if (isLater) claims = first
    }
    if (isBlock) {
      const at = pastDirectives(body.body, body.start + 1)
      const begin = at > body.start + 1 ? ';' : ''
      insert({ edits }, at, -BODY_EDGE / 2, BEYOND, `${begin}${declared}${first && `${first};`}`)
    } else if (first) {
      enclose({ edits }, body.start, body.end, EXPRESSION_EDGE / 2, `(${first},`, ')')
    }
    if (claims && isLater) {
      forEach(pushAll(pushAll([], facts.awaits), facts.yields), ({ start, end }) => {
        if (start < body.start) return
        enclose({ edits }, start, end, EXPRESSION_EDGE, `${helper('Z')}((`, `),${claims})`)
      })
      if (isBlock) claimAfterSteps(facts, body, edits, `;${claims};`)
    }
    inOrder(edits)
  }

  /**
   * Adds claims to a plain function: in the bodies of `for await` loops, after these loops, and in handlers
   * of errors.
   *
   * @param {Facts} facts @param {Node} body @param {Edit[]} edits @param {string} claims a statement
   */
  function claimAfterSteps(facts, body, edits, claims) {
    const begin = (/** @type {Node} */ { start }) =>
      insert({ edits }, start + 1, BODY_EDGE, BEYOND, claims)
    forEach(handlersAround(facts, body), begin)
    forEach(facts.loops, loop => {
      if (!loop.await) return
      const { start, end, type } = loop.body
      if (type === 'BlockStatement') begin(loop.body)
      else enclose({ edits }, start, end, BODY_EDGE, `{${claims}`, '}')
      const { start: from } = labelsOf(/** @type {any} */ ({ our, source }), loop)
      enclose({ edits }, from, loop.end, STATEMENT_EDGE, '{', `${claims}}`)
    })
  }

  /**
   * Returns the text of a function that only runs its twin to completion.
   *
   * @param {Plan} plan @param {string} head
   */
  function stub(plan, head) {
    const { node: { body }, facts, twin } = plan
    const { isArrow, usesThis } = facts
    const { isSimple, parameters, passed, list, spread } = passingOf(plan)
    const self = usesThis ? 'this' : 0
    const ownThis = usesThis && !isArrow && !facts.isConstructor ? 'this' : 0
    const identity = isSimple ? plan.identity : `${changesOf(plan)},${ownThis},${spread}`
    const claim = plan.identity && `${claimingArguments(identity)},`
    const generator = () =>
      isSimple && !usesThis ? `${twin}(${passed})` : `${helper('a')}(${twin},${self},${list})`
    const result = claim + (plan.frame ? `${helper('P')}(${plan.entry},${self},${list})`
      : `${helper('d')}(${generator()})`)
    const directive = body.type === 'BlockStatement' && isStrictBody(body.body) ? '"use strict";' : ''
    if (isArrow && !directive) return `${head}(${parameters})=>${claim ? `(${result})` : result}`
    return `${head}(${parameters})${isArrow ? '=>' : ''}{${directive}return ${result}}`
  }

  /**
   * Returns the texts with which a stub passes on its arguments. A simple stub names all parameters: they are
   * plain names, and the function does not use `arguments`.
   *
   * @param {Plan} plan
   * @returns {{ isSimple: boolean, parameters: string, passed: string, list: string, spread: string }} the
   *   parameters of the stub; the named arguments; an array, or `arguments`, with all of them; and the
   *   arguments of a stub that is not simple, without `new.target`
   */
  function passingOf({ node: { params }, facts }) {
    const { isArrow, usesArguments } = facts
    const isSimple = !usesArguments && !find(params, (/** @type {Node} */ { type }) => type !== 'Identifier')
    /** @type {string[]} */
    const names = []
    for (let i = 0; i < params.length && !matches(/^(?:Assignment|Rest)/, params[i].type); i++) {
      push(names, isSimple ? params[i].name : `${our}a${i}`)
    }
    const given = join(names, ',')
    const rest = `${given && `${given},`}...${our}r`
    const target = takesTarget(facts) ? 'new.target' : ''
    const passed = target && given ? `${target},${given}` : target || given
    return {
      isSimple,
      parameters: isArrow && !isSimple ? rest : given,
      passed,
      list: isSimple ? `[${passed}]` : isArrow ? `[${rest}]`
        : target ? `[${target},...arguments]` : 'arguments',
      spread: isArrow ? rest : '...arguments'
    }
  }
}

/** Whether a node is a block of statements. @param {Node} node */
const hasStatements = ({ type }) => type === 'BlockStatement' || type === 'StaticBlock'

/**
 * The arguments that a function may change: bit 0 is `this`, bit 1 the first parameter, and so on.
 *
 * @param {Plan} plan
 */
function changesOf({ changes }) {
  let bits = changes.this ? 1 : 0
  for (let i = 0; i < MAX_PARAMETERS; i++) if (changes.parameters[i] ?? changes.others) bits |= 2 << i
  return changes.parameters.length + (changes.others ? 1 : 0) || changes.this ? bits : 0
}
/** Parameters with a bit in `changesOf`. The bits from EVENT_USE on specify how a listener uses its event. */
const MAX_PARAMETERS = EVENT_USE - 1

/**
 * Returns the text of the claims of a function without a twin. The scheduler makes these claims before it
 * calls the function, because the scheduler can wait and the function cannot.
 *
 * @param {Plan} plan
 */
function claimerOf(plan) {
  const { claimTexts } = plan
  let tests = ''
  forEach(claimTexts, ({ before }) => { if (before) tests += `${tests && '||'}${before}` })
  const bits = changesOf(plan)
  return tests || bits ? `,${tests ? `()=>${tests}` : 0}${bits ? `,${bits}` : ''}` : ''
}

/**
 * Copies the effects of functions to the plans with which the same tree is printed again.
 *
 * @param {Plan[]} from @param {Plan[]} to
 */
function copyEffects(from, to) {
  for (let i = 0; i < to.length; i++) {
    to[i].claims = from[i].claims
    to[i].openClaims = from[i].openClaims
    to[i].claimsAll = from[i].claimsAll
    to[i].changes = from[i].changes
    to[i].isExposed = from[i].isExposed
    to[i].joins = from[i].joins
    to[i].unknownImports = from[i].unknownImports
  }
}

/**
 * Returns the arguments for a helper that claims `this` and the arguments of a call by their identities. The
 * text is empty if unknown code cannot call the function, or if the function uses no argument as an object.
 *
 * @param {Plan} plan
 */
function identityOf(plan) {
  const { node: { params = [], type }, facts, isExposed } = plan
  if (!isExposed || type === 'StaticBlock' || type === 'PropertyDefinition') return ''
  const list = [facts.usesThis && !facts.isArrow && !facts.isConstructor ? 'this' : '0']
  forEach(params, (/** @type {Node} */ param) => {
    const { type, left, argument } = param
    const id = type === 'AssignmentPattern' ? left : argument ?? param
    const isName = id.type === 'Identifier' && find(id.variable.references, isUsedAsObject) !== undefined
    push(list, isName ? `${argument ? '...' : ''}${id.name}` : '0')
  })
  while (list.length > 0 && list[list.length - 1] === '0') takeLast(list)
  return list.length ? `${changesOf(plan)},${join(list, ',')}` : ''
}

/** Returns the name by which code calls a function, or an empty text. @param {Node} node @returns {string} */
function nameFor({ id, parent }) {
  const { key, left } = parent
  const name = id?.name ?? key?.name ?? parent.id?.name ?? left?.name ?? left?.property?.name ?? ''
  return matches(/^[a-z_$][\w$]*$/i, name) ? name : ''
}

/**
 * Returns the arguments that follow the twin of a function in a call of `attach`.
 *
 * @param {Plan} plan
 */
function flagsOf(plan) {
  const { facts, frame, isLong } = plan
  const { isAsync, isGenerator } = facts
  const entry = isGenerator && isAsync ? ',2' : isGenerator ? ',!0' : isAsync ? ',!1'
    : takesTarget(facts) ? ',3' : ''
  const ownThis = facts.isArrow && facts.usesThis && !frame ? '[this]' : ''
  // The bits from EVENT_USE on specify how a listener uses its event.
  const changes = isLong ? changesOf(plan) | codeOfUse(plan) << EVENT_USE : 0
  if (changes) return `${frame ? '' : entry || ',null'},${ownThis || 'null'},${changes}`
  return ownThis ? `${entry || ',null'},${ownThis}` : entry
}

/** Gives the text of a twin the name of its function. @param {Plan} plan */
const titled = plan => withTitle(plan.title, plan.text, isConcise(plan))

/** Returns the text that reads a member by its key. @param {string} key the key in the source */
const access = key => key[0] === '[' ? key : matches(/^["'\d.]/, key) ? `[${key}]` : `.${key}`

/** Returns the object with a member of a class; the class is `this`. @param {Node} member */
const holderOf = member => `this${member.static ? '' : '.prototype'}`

/** Whether `super()` in a constructor initializes fields. @param {Plan} plan */
const isFielded = ({ node, facts }) => facts.isDerived && hasFields(classOf(node))

/** Whether a later element of the class replaces a method. @param {Plan} plan */
function isReplaced({ node: { parent }, facts }) {
  if (facts.isConstructor) return false
  const elements = parent.parent.body
  for (let i = elements.length; elements[--i] !== parent;) if (isSameMember(elements[i], parent)) return true
  return false
}

/** Whether only `super()` makes a derived constructor long. @param {Plan} plan */
const isShortBut = ({ facts, calls }) =>
  facts.loops.length === 0 && !find(calls, ({ kind }) => kind !== 'super')

/** Whether two elements of a class have the same known name. @param {Node} one @param {Node} other */
const isSameMember = (one, other) => one.type === 'MethodDefinition' && one.static === other.static &&
  (steadyKey(one) || steadyKey(other)) === steadyKey(other)

/**
 * Returns the text of an expression for the global object, in a script or in a CommonJS file. In sloppy code
 * this is the `this` of a call. Strict code uses a global name, or `this` if the script declares all names.
 *
 * @param {Node} tree
 */
function realmOf({ scope: { variables, isStrict } }) {
  const names = filter(['globalThis', 'self', 'global', 'window'], name => variables[name] === undefined)
  let named = 'this'
  for (let i = names.length; i-- > 0;) {
    named = names[i] === 'globalThis' ? names[i] : `typeof ${names[i]}==="object"?${names[i]}:${named}`
  }
  return isStrict ? named : `function(){return this}()||(${named})`
}

/**
 * Whether a function without a twin is registered, so that `preemptify` calls it. Otherwise `preemptify`
 * would evaluate the source of the function without its variables. Functions that a program can create by the
 * thousand are not registered.
 *
 * @param {Plan} plan
 */
function isKeptWhole({ node, facts, parent, isLong, isOnce }) {
  if (isLong || isOnce || !parent?.isOnce || !isFunctionNode(node)) return false
  if (facts.isAccessor || facts.isConstructor) return false
  // `preemptify` throws for these functions.
  if ((facts.isAsync && facts.isGenerator) || facts.awaitsDisposal) return false
  const { type, computed, value } = node.parent
  if (type === 'CallExpression' || type === 'NewExpression' || isPrivate({ node, facts })) return false
  if (node.type === 'FunctionDeclaration') return isList(node.parent)
  if (facts.usesSuper && type === 'Property') return false
  return computed && value === node ? steadyKey(node.parent) !== '' : !!node.id || inferredName(node) !== null
}

/**
 * Whether a program may read the function itself from the `arguments` of its twin. `arguments.callee` exists
 * in sloppy functions with a simple list of parameters. Reads of `length` and of numbered elements are safe.
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
 * Returns the name of a function in stack traces and source maps. It is empty for a function without a name.
 *
 * @param {Plan} plan @param {string} source
 */
function titleOf({ node, facts }, source) {
  const { id, parent } = node
  const { key, computed } = parent
  let name = id?.name
  if (facts.isConstructor) name = parent.parent.parent.id?.name ?? inferredName(parent.parent.parent)
  else if (node.type === 'FunctionDeclaration') name ??= 'default'
  else if (!id && parent.value === node && computed) name = `[${slice(source, key.start, key.end)}]`
  else if (facts.isMethod) name = isPrivate({ node, facts }) ? `#${key.name}` : key.name ?? `${key.value}`
  else if (!id) name = inferredName(node)
  return name ?? ''
}

/**
 * Returns the innermost function that contains all uses of helpers and runs once, or the script itself. Names
 * in a function are shorter than global names, which must differ from the global names of all other scripts.
 *
 * @param {Plan[]} plans outer functions first
 */
function homeOf(plans) {
  /** How many functions use helpers, in each function including itself. @type {Map<Plan, number>} */
  const users = emptyMap()
  const usersIn = (/** @type {Plan} */ plan) => users.get(plan) ?? 0
  for (let i = plans.length; i-- > 0;) {
    const plan = plans[i]
    const isUser = plan.isLong || plan.claims.length > 0 || plan.openClaims.length > 0 ||
      isKeptWhole(plan) || plan.bound.length > 0
    const count = usersIn(plan) + (isUser ? 1 : 0)
    users.set(plan, count)
    if (plan.parent) users.set(plan.parent, usersIn(plan.parent) + count)
  }
  const all = usersIn(plans[0])
  let { 0: home } = plans
  for (let inner = /** @type {Plan | undefined} */ (home); inner;) {
    home = inner
    inner = find(home.children,
      child => usersIn(child) === all && child.isOnce && canDeclareHelpers(child.node))
  }
  return home
}

/** Whether all code of a function can use declarations in its body. @param {Node} node */
const canDeclareHelpers = node => isFunctionNode(node) && node.body.type === 'BlockStatement' &&
  !find(node.params, ({ type }) => type !== 'Identifier')
