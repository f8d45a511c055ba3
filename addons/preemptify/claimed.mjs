/**
 * addons/preemptify/claimed.mjs: the text by which functions claim contested locations.
 *
 * effects.mjs finds the locations that each function uses. Here each location gets a lock: one for a package;
 * in the code of a page, one for each group of locations that functions use together; one for each activation
 * whose closures write its variables.
 */

import { extend } from '../../rt.mjs'
import {
  append, cut, emptyMap, emptySet, exec, find, holds, isArray, join, joined, listOf, matches, pick, stringify
} from './primordials.mjs'
import { groupOf } from './effects.mjs'
/** @import { Claim, Location } from './effects.mjs' */
/** @import { Plan } from './calls.mjs' */

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
/** Whether whole packages are claimed, or nothing, by the names of packages. @type {Map<string, boolean>} */
const overrides = emptyMap()

/** The name of a package, without its version. @param {string} directory as of packageOf */
const nameOfPackage = directory => exec(/(?:@[^/\\]+[/\\])?[^/\\]*$/, replaced(directory))[0]
const replaced = (/** @type {string} */ directory) => exec(/^.*?(?=@[^@/\\]*$|$)/, directory)[0]

/**
 * Replaces the inference by a rule.
 *
 * @param {boolean | string[]} exclusive as of `preemptify.import`
 * @param {string} url of a text of the package, for a boolean
 */
export function override(exclusive, url) {
  if (isArray(exclusive)) pick(exclusive, name => overrides.set(name, true))
  else overrides.set(packageOf(url) ? nameOfPackage(packageOf(url)) : OWN_CODE, exclusive)
}

/**
 * Returns the rule of a package.
 *
 * @param {boolean | string[] | undefined} exclusive as of `preemptify.source`
 * @param {string} directory as of packageOf
 * @returns {boolean | undefined} undefined: infer
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
 * Reads the option `exclusive` of an address: `true`, `false`, or names of packages with commas between them.
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

/** The claims of a function of a package that is claimed as a whole. */
const WHOLE = /** @type {any} */ ({ name: 'the package', owner: null, unit: '', isContested: true })

/**
 * Writes the texts of the claims of all functions into their plans.
 *
 * @param {Plan[]} plans with their effects
 * @param {{ our: string, unit: string, budget: string, name: string, directory: string,
 *   exclusive: boolean | undefined }} options
 *   - `our`, `unit`: the prefixes of generated names.
 *   - `budget`: an expression of the budget.
 *   - `name`, `directory`: the name of the text, and the directory of its package.
 *   - `exclusive`: the rule of the package.
 */
export function claimsOf(plans, { our, unit, budget, name, directory, exclusive }) {
  const isOwn = directory === '' && exclusive === undefined
  const isShared = isOwn && plans[0].node.sourceType === 'script'
  pick(plans, plan => {
    if (isShared) plan.claims = joined(joined([], plan.claims), pick(plan.openClaims, isState))
  })
  /** The numbers of the groups. @type {Map<any, number>} */
  const groups = emptyMap()
  /** Functions and locations in turn. @type {string[]} */
  const names = []
  /** The functions of the prologue by which the text claims: a letter of Lock, and the number of a group. */
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
  /** The package that keeps a location. @param {Location} location */
  const homeOf = ({ unit }) => unit === '' || unit === name ? directory : packageOf(unit)
  /** The locations of each group that other scripts name too. @type {Map<any, Location[]>} */
  const named = emptyMap()
  /** @param {Location} location of the text, and of no activation @returns {number} */
  function numberOf(location) {
    const home = homeOf(location)
    const group = home !== directory && home !== '' ? home
      : !isOwn && home === directory ? plans : groupOf(location)
    if (!groups.has(group)) {
      groups.set(group, groups.size)
      named.set(group, [])
    }
    if (isShared) append(named.get(group), location)
    return /** @type {number} */ (groups.get(group))
  }
  /**
   * The name of a lock. Scripts share global variables, so a group of them has one name for each of its
   * variables, and scripts that join two groups make one lock of them.
   */
  function nameOfLock(/** @type {any} */ group) {
    if (typeof group === 'string') return group
    if (group === plans) return directory || name
    const globals = emptySet()
    pick(named.get(group) ?? [], ({ isOpen, variable, name }) => {
      if (isOpen) globals.add(`global ${variable?.name ?? name}`)
    })
    if (globals.size) return join(listOf(globals), '\n')
    return `${group.unit} ${group.name} ${group.node?.start ?? ''}`
  }
  /** Whether no function of this text contests a group. */
  const isIdle = (/** @type {any} */ group) =>
    isShared && !find(named.get(group) ?? [], ({ isContested }) => isContested)

  /** The claims of a function of own code that can use all locations of the text. */
  function everything() {
    /** @type {Claim[]} */
    const all = []
    pick(plans, ({ claims }) => pick(claims, ({ location }) =>
      activationOf(location) === null && append(all, { location, isExclusive: true })))
    return all
  }

  pick(plans, plan => {
    const { parent, isOnce } = plan
    if (parent === null || exclusive === false) return
    const whole = isOnce || !exclusive && !plan.claimsAll ? []
      : isOwn ? everything() : [{ location: WHOLE, isExclusive: true }]
    const all = exclusive ? whole : joined(joined([], plan.claims), whole)
    /** The claim of each lock: one is enough. @type {Map<any, Claim>} */
    const claims = emptyMap()
    pick(all, claim => {
      const owner = activationOf(claim.location)
      // A function inside, which is called by name, makes an activation of its own.
      if (owner !== null && !isAround(owner, plan)) return
      const lock = owner ?? numberOf(claim.location)
      const known = claims.get(lock)
      if (known === undefined || claim.isExclusive && !known.isExclusive) claims.set(lock, claim)
    })
    claims.forEach(({ location, isExclusive }) => {
      const site = `${names.length / 2}`
      append(names, nameOfFunction(plan), location.name)
      append(plan.claimTexts, {
        test: textOf(location, isExclusive ? 'X' : 'S', site),
        atOnce: textOf(location, isExclusive ? 'P' : 'Q', site)
      })
    })
  })
  return {
    isUsed: used.size > 0,
    /** @param {string} runtime an expression of the run-time support */
    prologue(runtime) {
      if (used.size === 0) return ''
      let text = `var ${unit}U=${runtime}.sites(${stringify(join(names, '\n'))});`
      /** @type {any[]} */
      const list = []
      groups.forEach((_, group) => append(list, group))
      pick(listOf(used), (/** @type {string} */ key) => {
        const letter = key[0]
        const field = letter === 'X' || letter === 'P' ? 'h' : 'r'
        const number = cut(key, 1)
        const lock = `${unit}L${number}`
        // Modules that import each other call functions of modules that have not run: the first claim makes
        // the lock.
        text += number === 'a'
          ? `function ${unit}${key}(l,n){return l.${field}!==${budget}.s&&l.${letter}(${unit}U+n)}`
          : `function ${unit}${key}(n){return(${lock}??=${lockText(list[+number])})` +
            `.${field}!==${budget}.s&&${lock}.${letter}(${unit}U+n)}`
      })
      // A script says at once that it contests a group; a module can be called before it runs.
      groups.forEach((number, group) => {
        text += `var ${unit}L${number}${isShared ? `=${lockText(group)}` : ''};`
      })
      function lockText(/** @type {any} */ group) {
        return `${runtime}.lockOf(${stringify(nameOfLock(group))}${isIdle(group) ? '' : ',!0'})`
      }
      if (find(plans, ({ lock }) => lock)) text += `function ${unit}lo(){return ${runtime}.ownLock()}`
      return text
    }
  }
}

/**
 * The function whose activation a location belongs to; null: the location is state of the text. A function
 * without a block has no place to declare the lock of an activation.
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

/** The name of a function for people. @param {Plan} plan */
function nameOfFunction({ node: { id, parent } }) {
  const { key, left } = parent ?? {}
  const name = id?.name ?? key?.name ?? parent?.id?.name ?? left?.name ?? left?.property?.name
  return typeof name === 'string' && !holds(name, '\n') ? name : 'a function'
}
