/**
 * addons/preemptify/claimed.mjs: prints the text with which functions claim contested locations.
 *
 * effects.mjs finds the locations that each function uses. This file assigns a lock to each location. The
 * locations of a package share one lock. In the code of a page, each group of locations that functions use
 * together has a lock. Each activation whose closures write its variables has a separate lock.
 */

import { extend } from '../../rt.mjs'
import {
  emptyMap, emptySet, exec, filter, find, forEach, holds, isArray, join, listOf, matches, push, pushAll,
  slice, stringify
} from './primordials.mjs'
import { GLOBALS, IMPORTS } from './claims.mjs'
import { groupOf } from './effects.mjs'
import { WHOLE, claimOf } from './effects-whole.mjs'
/** @import { Claim, Location } from './effects.mjs' */
/** @import { Plan } from './calls.mjs' */
/** @import { Node } from './scopes.mjs' */

const { wrongType } = extend.check

/**
 * Returns the directory of the package that a text belongs to; empty for the code of a page or of an
 * application.
 *
 * @param {string} url
 */
export function packageOf(url) {
  const found = exec(/^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/, url) ??
    exec(/^.*?\/(?:npm|packages)\/(?:@[^/]+\/)?[^/@]+@[^/]+/, url)
  return found ? found[0] : ''
}

/** The key in `overrides` of the code of a page. */
const OWN_CODE = ''
/**
 * The rules by the names of packages: `true` to claim the whole package, `false` for no claims.
 *
 * @type {Map<string, boolean>}
 */
const overrides = emptyMap()

/** Returns the name of a package without its version. @param {string} directory see `packageOf` */
const nameOfPackage = directory => exec(/(?:@[^/\\]+[/\\])?[^/\\]*$/, replaced(directory))[0]
const replaced = (/** @type {string} */ directory) => exec(/^.*?(?=@[^@/\\]*$|$)/, directory)[0]

/**
 * Replaces the inference by a rule.
 *
 * @param {boolean | string[]} exclusive the option of `preemptify.import`
 * @param {string} url the URL of a text of the package, if the option is a boolean
 */
export function override(exclusive, url) {
  if (isArray(exclusive)) forEach(exclusive, name => overrides.set(name, true))
  else overrides.set(packageOf(url) ? nameOfPackage(packageOf(url)) : OWN_CODE, exclusive)
}

/**
 * Returns the rule of a package.
 *
 * @param {boolean | string[] | undefined} exclusive the option of `preemptify.source`
 * @param {string} directory see `packageOf`
 * @returns {boolean | undefined} the rule, or undefined if claims are inferred
 */
export function ruleFor(exclusive, directory) {
  const name = directory ? nameOfPackage(directory) : OWN_CODE
  if (!isArray(exclusive)) return exclusive ?? overrides.get(name)
  const isListed = name !== OWN_CODE && find(exclusive, item => item === name) !== undefined
  return isListed || overrides.get(name)
}

/** @param {string} name @param {any} value @returns {boolean | string[]} */
export function exclusiveOption(name, value) {
  const isList = isArray(value) && find(value, item => typeof item !== 'string') === undefined
  if (typeof value === 'boolean' || isList) return value
  throw wrongType(name, 'a boolean or an array of package names', value)
}

/**
 * Reads the option `exclusive` of an address: `true`, `false`, or names of packages, separated by commas.
 *
 * @param {string | null} given null: the address has no such option
 * @returns {{ exclusive?: boolean | string[] }} the option of `preemptify.source` and `preemptify.import`
 * @throws {TypeError} if a name is missing
 */
export function exclusiveRule(given) {
  if (given === null) return {}
  if (given === 'true' || given === 'false') return { exclusive: given === 'true' }
  const names = given.split(',')
  if (!names.includes('')) return { exclusive: names }
  throw new TypeError(`exclusive must be true, false or names of packages with commas, got '${given}'`)
}

/** The name of the lock of own objects that unknown code can reach. */
const UNKNOWN = 'unknown objects'

/**
 * Writes the texts of the claims of all functions into their plans.
 *
 * @param {Plan[]} plans the plans of the text, with their effects
 * @param {{ our: string, unit: string, budget: string, name: string, directory: string,
 *   exclusive: boolean | undefined }} options
 *   `our` and `unit` are the prefixes of generated names. `budget` is an expression for the budget. `name` is
 *   the name of the text. `directory` is the directory of its package, and `exclusive` is the rule of the
 *   package
 */
export function claimsOf(plans, { our, unit, budget, name, directory, exclusive }) {
  const isOwn = directory === '' && exclusive === undefined
  const { sourceType, isTooLarge = false } = plans[0].node
  const isScript = sourceType === 'script'
  const isShared = isOwn && isScript
  const ownHome = directory && nameOfPackage(directory)
  const ownLock = directory && nameOfPackageLock(ownHome)
  /** The names of the locks that this text joins with the lock of its package. */
  const joinedLocks = filter(locksOfJoins(plans[0], name), lock => lock !== ownLock)
  /** Whether this text can pass objects from one unknown text to another one. */
  const hasUnknownImports = exclusive !== false && joinedLocks.length > 0 &&
    plans[0].unknownImports.length > 0
  /** The numbers of the groups. @type {Map<any, number>} */
  const groups = emptyMap()
  /** The name of a function and the name of a location, in two lines, for each site. @type {string[]} */
  const names = []
  /** The sites of the claims, by their lines in `names`. @type {Map<string, string>} */
  const sites = emptyMap()
  /** The functions of the prologue that make claims: a letter of Lock, and the number of a group. */
  const used = emptySet()

  /**
   * Returns the text of a claim.
   *
   * @param {Location} location @param {string} letter the method of Lock @param {string} site
   */
  function textOf(location, letter, site) {
    const owner = activationOf(location)
    if (owner !== null) {
      owner.lock ||= `${our}B${indexOfPlan(plans, owner)}`
      used.add(`${letter}a`)
      return `${unit}${letter}a(${owner.lock}??=${unit}lo(),${site})`
    }
    const key = letter + numberOf(location)
    used.add(key)
    return `${unit}${key}(${site})`
  }
  /**
   * Returns the text before a claim that is necessary only if a variable holds an object.
   *
   * @param {Map<string, boolean> | undefined} names the variables, and whether a function counts as an object
   */
  function guardText(names) {
    if (names === undefined) return ''
    let text = ''
    names.forEach((isForFunctions, name) => {
      const key = isForFunctions ? 'Of' : 'Oo'
      used.add(key)
      text += `${text && '||'}${unit}${key}(${name})`
    })
    return names.size > 1 ? `(${text})&&` : `${text}&&`
  }
  /** Returns the directory of the package that contains a location. @param {Location} location */
  const directoryOf = ({ unit }) => unit === '' || unit === name ? directory : packageOf(unit)
  /** The locations of each group that the functions of this text use. @type {Map<any, Location[]>} */
  const named = emptyMap()
  /** @param {Location} location a location outside activations @returns {number} the number of its group */
  function numberOf(location) {
    const from = directoryOf(location)
    const { lockName } = /** @type {any} */ (location)
    const group = lockName === ownLock ? plans : lockName ?? (from !== directory && from !== ''
      ? nameOfPackageLock(nameOfPackage(from)) : !isOwn && from === directory ? plans : groupOf(location))
    if (!groups.has(group)) {
      groups.set(group, groups.size)
      named.set(group, [])
    }
    push(named.get(group), location)
    return /** @type {number} */ (groups.get(group))
  }
  /**
   * Returns the names of a lock, in lines. Texts with a common name share the lock. Scripts share global
   * variables, so a group of global variables has one name for each variable. Texts of own code also share
   * a lock for all objects that unknown code can reach, and a lock for all exports of unknown texts.
   */
  function namesOfLock(/** @type {any} */ group) {
    if (typeof group === 'string') return group
    if (group === plans) {
      return exclusive ? namesOfWhole() : join(pushAll([ownLock || name], joinedLocks), '\n')
    }
    const names = emptySet()
    forEach(named.get(group) ?? [], ({ isOpen, kind, variable, name }) => {
      if (isOpen && (isShared || variable === null && kind === 'variable')) {
        names.add(`${GLOBALS}${variable?.name ?? name}`)
      }
    })
    if (group.name === UNKNOWN) names.add(UNKNOWN)
    if (names.size === 0 || !isShared && group.name !== UNKNOWN) {
      names.add(`${group.unit} ${group.name} ${group.node?.start ?? ''}`)
    }
    forEach(named.get(group) ?? [], location => {
      if (location.aliases[0].name === UNKNOWN) names.add(UNKNOWN)
      if (isOwn && homeOfImport(location) === '') names.add(IMPORTS)
    })
    if (names.has(UNKNOWN)) forEach(joinedLocks, lock => names.add(lock))
    return join(listOf(names), '\n')
  }
  /**
   * Returns the names of the lock of a text that is claimed as a whole. The lock guards the package and the
   * objects of imported packages. In own code, the lock also guards the state that texts share.
   */
  function namesOfWhole() {
    const names = emptySet()
    names.add(ownLock || name)
    forEach(joinedLocks, lock => names.add(lock))
    if (directory === '') forEach([UNKNOWN, GLOBALS], shared => names.add(shared))
    forEach(specifiersIn(plans), specifier => {
      const home = homeOf(specifier, name)
      if (home === '') names.add(IMPORTS)
      else if (home !== null) forEach([nameOfPackageLock, nameOfOpenLock], nameOf => names.add(nameOf(home)))
    })
    return join(listOf(names), '\n')
  }
  /** Whether other texts can import an object of a group. */
  const isExported = (/** @type {any} */ group) => group === plans
    ? exclusive && directory === '' && !isScript
    : isOwn && !isShared && typeof group !== 'string' &&
    find(named.get(group) ?? [], ({ isOpen, isExported, site }) => isExported || isOpen && site) !== undefined
  /** Whether no function of this text contests a group. */
  const isIdle = (/** @type {any} */ group) =>
    !find(named.get(group) ?? [], ({ isContested }) => isContested)

  /**
   * Returns the claims of a function, and claims of two more kinds of locations: exported objects that a
   * later text can contest, and objects that the function imports from an unknown text. The functions of an
   * unknown text claim a contested object by the lock of the package, and another exported object by the
   * lock of the exports. So an importer claims both locks.
   *
   * @param {Plan} plan @returns {Claim[]}
   */
  function allClaims({ claims, openClaims }) {
    const open = filter(openClaims, claim => isShared ? isState(claim)
      : claim.location.site !== null || homeOfImport(claim.location) !== null)
    /** @type {Claim[]} */
    const all = pushAll([], claims)
    forEach(open, claim => {
      if (isOwn) push(all, claim)
      else if (claim.location.site) push(all, importClaim(claim, nameOfOpenLock(ownHome), false))
    })
    forEach(pushAll(pushAll([], claims), open), claim => {
      const home = homeOfImport(claim.location)
      if (home === null || home === '') return
      const { isContested } = claim.location
      push(all, importClaim(claim, nameOfPackageLock(home), false))
      push(all, importClaim(claim, nameOfOpenLock(home), isContested))
    })
    return all
  }

  /** The claims of a function that can use all locations of the package, or of a text of own code. */
  function everything() {
    if (!isOwn) return [claimOf(WHOLE)]
    /** @type {Claim[]} */
    const all = []
    forEach(plans, ({ claims }) => forEach(claims, ({ location }) =>
      activationOf(location) === null && push(all, claimOf(location))))
    return all
  }

  forEach(plans, plan => {
    const { parent, isOnce } = plan
    if (parent === null || exclusive === false) return
    const all = exclusive ? plan.claims
      : pushAll(allClaims(plan), plan.claimsAll && !isOnce ? everything() : [])
    if (all.length === 0) return
    /** The claims by their locks. One claim per lock is enough. @type {Map<any, Claim>} */
    const claims = emptyMap()
    /** The guards by the locks whose claims all have guards. @type {Map<any, Map<string, boolean>>} */
    const guards = emptyMap()
    forEach(all, claim => {
      const owner = activationOf(claim.location)
      // A call of the owner makes a new activation, so its callers need no claim.
      if (owner !== null && !isAround(owner, plan)) return
      const lock = owner ?? numberOf(claim.location)
      const known = claims.get(lock)
      if (known === undefined || claim.isExclusive && !known.isExclusive) claims.set(lock, claim)
      addGuard(known === undefined ? emptyMap() : guards.get(lock), lock, claim)
    })
    function addGuard(/** @type {Map<string, boolean> | undefined} */ names, /** @type {any} */ lock,
      /** @type {Claim} */ { guard, isForFunctions }) {
      if (names === undefined) return
      if (!guard) return guards.delete(lock)
      names.set(guard, isForFunctions || names.get(guard) === true)
      guards.set(lock, names)
    }
    claims.forEach(({ location, isExclusive }, lock) => {
      // The names of all functions would lengthen the text of a package that is too large by 5 %.
      const lines = `${isTooLarge ? '' : nameOfFunction(plan)}\n${location.name}`
      const site = isTooLarge ? '' : sites.get(lines) ?? `${names.length}`
      if (!sites.has(lines)) {
        sites.set(lines, site)
        push(names, lines)
      }
      const guard = guardText(guards.get(lock))
      const claim = textOf(location, isExclusive ? 'X' : 'S', site)
      push(plan.claimTexts, {
        test: guard + claim,
        atOnce: guard + textOf(location, isExclusive ? 'P' : 'Q', site),
        // The lock of a new activation needs no claim.
        before: lock === plan ? '' : claim
      })
    })
  })
  return {
    isUsed: used.size > 0 || hasUnknownImports,
    /** @param {string} runtime an expression of the run-time support */
    prologue(runtime) {
      const joins = hasUnknownImports
        ? `${runtime}.lockOf(${stringify(join(pushAll([ownLock || UNKNOWN], joinedLocks), '\n'))});` : ''
      if (used.size === 0) return joins
      let text = `${joins}var ${unit}U=${runtime}.sites(${stringify(join(names, '\n'))});`
      /** @type {any[]} */
      const list = []
      groups.forEach((_, group) => push(list, group))
      forEach(listOf(used), (/** @type {string} */ key) => {
        const letter = key[0]
        if (letter === 'O') {
          text += `function ${unit}${key}(v){return typeof v=='object'&&v!==null` +
            `${key === 'Of' ? "||typeof v=='function'" : ''}}`
          return
        }
        const field = letter === 'X' || letter === 'P' ? 'h' : 'r'
        const number = slice(key, 1)
        const lock = `${unit}L${number}`
        if (number === 'a') {
          text += `function ${unit}${key}(l,n){return l.${field}!==${budget}.s&&l.${letter}(${unit}U+n)}`
          return
        }
        const group = list[+number]
        // No claim is needed before another text contests the group.
        const known = isIdle(group) ? `!${unit}l${number}().isIdle&&${lock}` : `${unit}l${number}()`
        text += `function ${unit}${key}(${isTooLarge ? '' : 'n'}){return ${known}` +
          `.${field}!==${budget}.s&&${lock}.${letter}(${unit}U${isTooLarge ? '' : '+n'})}`
      })
      // Imported objects are contested as soon as the importer is loaded.
      groups.forEach((number, group) => {
        const lock = `${unit}L${number}`
        if (isScript) { // the same script can run again
          text += `var ${lock}=${lockText(group)};function ${unit}l${number}(){return ${lock}}`
          return
        }
        const mustSay = (typeof group === 'string' || group === plans && exclusive) && !isIdle(group) ||
          holds(namesOfLock(group), IMPORTS)
        // In a cycle of imports, a function can be called before its module runs. So the first claim makes
        // the lock.
        text += `var ${lock}${mustSay ? `=${unit}l${number}()` : ''};` +
          `function ${unit}l${number}(){return ${lock}??=${lockText(group)}}`
      })
      function lockText(/** @type {any} */ group) {
        const flags = isExported(group) ? `,${isIdle(group) ? '!1' : '!0'},!0` : isIdle(group) ? '' : ',!0'
        return `${runtime}.lockOf(${stringify(namesOfLock(group))}${flags})`
      }
      if (find(plans, ({ lock }) => lock)) text += `function ${unit}lo(){return ${runtime}.ownLock()}`
      return text
    }
  }
}

/**
 * Returns the names of the locks that a text joins with the lock of its package: the locks of packages whose
 * objects its package keeps, and of unknown texts. An unknown text may keep any object that reaches the text,
 * and its objects may reach this text.
 *
 * @param {Plan} plan the plan of the text @param {string} unit the name of the text
 */
function locksOfJoins({ joins, unknownImports }, unit) {
  const locks = emptySet()
  const add = (/** @type {string} */ home) => {
    locks.add(home === '' ? UNKNOWN : nameOfPackageLock(home))
  }
  joins?.forEach((/** @type {string} */ directory) => add(directory && nameOfPackage(directory)))
  forEach(unknownImports, variable => {
    const home = homeOfImport(/** @type {any} */ ({ variable, site: null, unit }))
    if (home !== null) add(home)
  })
  return listOf(locks)
}

/** Returns the name of the lock of a package. @param {string} home the name of the package */
const nameOfPackageLock = home => `package ${home}`
/** Returns the name of the lock of exported objects that their own package does not contest. */
const nameOfOpenLock = (/** @type {string} */ home) => `exports of ${home}`

/**
 * Returns a claim of a lock by the name of the lock.
 *
 * @param {Claim} claim @param {string} lockName @param {boolean} isContested @returns {Claim}
 */
const importClaim = ({ location: { name, variable }, isExclusive }, lockName, isContested) => ({
  location: /** @type {any} */ ({
    name, variable, owner: null, unit: '', aliases: [{ name: '' }], site: null, isOpen: false, isContested,
    lockName
  }),
  isExclusive,
  guard: '',
  isForFunctions: false
})

/**
 * Returns the name of the package from which a location is imported. The name is empty if an unknown text of
 * own code exports the location. The result is null if the location is not imported, or built in.
 *
 * @param {Location} location @returns {string | null}
 */
function homeOfImport({ variable, site, unit }) {
  const specifier = variable && site === null ? specifierOf(variable) : null
  return specifier === null ? null : homeOf(specifier, unit)
}

/**
 * Returns the name of the package to which a specifier leads: see `homeOfImport`.
 *
 * @param {string} specifier @param {string} unit the name of the importing text @returns {string | null}
 */
function homeOf(specifier, unit) {
  if (matches(BUILT_IN_MODULE, specifier)) return null
  const own = packageOf(unit)
  if (specifier[0] === '#') return own && nameOfPackage(own)
  const bare = exec(/^(?:@[^/]+\/)?[^/.@:][^/:]*(?=\/|$)/, specifier)
  if (bare) return bare[0]
  try {
    const found = packageOf(new URL(specifier, unit).href)
    return found && nameOfPackage(found)
  } catch {
    const found = packageOf(specifier) || own
    return found && nameOfPackage(found)
  }
}

const BUILT_IN_MODULE = new RegExp('^(?:node:.*|(?:assert|buffer|child_process|cluster|crypto|dgram|dns' +
  '|events|fs|https?|http2|module|net|os|path|perf_hooks|process|querystring|readline|stream' +
  '|string_decoder|timers|tls|tty|url|util|v8|vm|worker_threads|zlib)(?:/\\w+)?)$')

/**
 * Lists the constant specifiers with which a text imports and requires modules.
 *
 * @param {Plan[]} plans the plans of the text @returns {string[]}
 */
function specifiersIn(plans) {
  const { node: tree } = plans[0]
  /** @type {string[]} */
  const found = []
  const add = (/** @type {Node | null | undefined} */ source) => {
    if (typeof source?.value === 'string') push(found, source.value)
  }
  forEach(tree.body, ({ source }) => add(source))
  forEach(tree.imports, ({ node }) => add(node.source))
  forEach(plans, ({ facts: { calls } }) => {
    forEach(calls, ({ callee, arguments: list }) => callee?.name === 'require' && add(list[0]))
  })
  return found
}

/**
 * Returns the specifier of the module from which a variable is imported by `import` or `require`.
 *
 * @param {any} variable @returns {string | null}
 */
function specifierOf({ kind, specifier, declarations: { 0: id } }) {
  if (!id) return specifier ?? null
  if (kind === 'import') return id.parent.parent.source?.value ?? null
  let node = id
  while (matches(/Pattern$|^Property$/, node.parent?.type ?? '')) node = node.parent
  let init = node.parent?.type === 'VariableDeclarator' ? node.parent.init : null
  while (init) {
    if (init.type === 'MemberExpression') init = init.object
    else if (init.type !== 'CallExpression') return null
    else if (init.callee.name !== 'require') init = init.arguments[0] // Babel's _interopRequireDefault
    else return typeof init.arguments[0]?.value === 'string' ? init.arguments[0].value : null
  }
  return null
}

/**
 * Returns the function whose activation contains a location, or null if the location is state of the text. A
 * function without a block cannot declare the lock of an activation.
 *
 * @param {Location} location
 */
const activationOf = ({ owner }) =>
  owner === null || owner.isOnce || owner.parent === null || owner.node.body?.type !== 'BlockStatement' ? null
    : owner.node.plan

/** @param {Plan} owner @param {Plan | null} plan */
function isAround(owner, plan) {
  while (plan !== null && plan !== owner) plan = plan.parent
  return plan === owner
}

/** @param {Plan[]} plans @param {Plan} plan */
function indexOfPlan(plans, plan) {
  for (let i = 0; i < plans.length; i++) if (plans[i] === plan) return i
  return 0
}

/**
 * Whether other scripts are expected to change a location. A function declaration is one value that a script
 * replaces at most while it loads.
 *
 * @param {Claim} claim
 */
const isState = ({ location: { variable, kind } }) => kind !== 'variable' || !variable ||
  !find(variable.declarations, ({ parent }) => matches(/^(?:Function|Class)/, parent.type))

/** Returns the name of a function for messages. @param {Plan} plan */
function nameOfFunction({ node: { id, parent } }) {
  const { key, left } = parent ?? {}
  const name = id?.name ?? key?.name ?? parent?.id?.name ?? left?.name ?? left?.property?.name
  return typeof name === 'string' && !holds(name, '\n') ? name : 'a function'
}
