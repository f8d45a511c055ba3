/**
 * addons/adopt/rules.mjs: checks the rules for callbacks, and finds the rule of an event.
 */

import { Task, extend } from '../../rt.mjs'
/** @import { Scheduler } from '../../rt.mjs' */
/** @import { EventRule } from '../adopt.mjs' */

const { check, protocol } = extend
const { elsewhere, flag, options: checked, text, wrongType } = check

export const ADOPTION = { rules: elsewhere, scheduler: check.scheduler, warn: flag }

/** Checks and copies the rules. @param {Scheduler} scheduler @param {any} rules @returns {any} */
export function rulesOf(scheduler, rules = {}) {
  const parameters = { deadline: elsewhere, priority: elsewhere, reservation: elsewhere }
  const checks = { ...parameters, latest: flag, interleave: flag, atomic: flag }
  const eventChecks = {
    ...checks,
    type(/** @type {string} */ name, /** @type {any} */ types) {
      const all = [types].flat()
      all.forEach(type => { if (type !== undefined) text(name, type) })
    },
    target(/** @type {string} */ name, /** @type {any} */ target) {
      if (['string', 'function'].includes(typeof target)) return
      if (typeof target?.addEventListener === 'function') return
      throw wrongType(name, 'a selector, a function or an EventTarget', target)
    }
  }
  /** @param {string} where @param {any} rule @param {any} [known] */
  const checkRule = (where, rule, known = checks) => {
    check.knownOptions(rule, known, where)
    const { deadline, priority, reservation } = checked(rule, known)
    new Task(/** @type {any} */ (() => {}), { deadline, priority, reservation })
    if (reservation?.[protocol].needsMain || (reservation?.scheduler ?? scheduler) !== scheduler) {
      throw new TypeError(
        `${where}.reservation must be a Reservation, or io.for(main), of the scheduler of the jobs`)
    }
    return rule
  }
  const kinds = check.unchecked('timer', 'frame', 'idle', 'observer', 'message', 'event')
  check.knownOptions(rules, kinds, 'rules')
  const { event = [], ...others } = rules
  Object.keys(others).forEach(kind => checkRule(`rules.${kind}`, others[kind]))
  const events = [event].flat()
  return { ...others, event: events.map((rule, i) => checkRule(`rules.event[${i}]`, rule, eventChecks)) }
}

/**
 * Returns a predicate of the rules that apply to an event.
 *
 * @param {string} type @param {any} at the target whose listener is called
 * @returns {(rule: EventRule) => boolean}
 */
export const fits = (type, at) => ({ type: types, target: wanted }) => {
  if (types !== undefined && ![types].flat().includes(type)) return false
  if (typeof wanted === 'string') return at.matches?.(wanted)
  return typeof wanted === 'function' ? wanted(at) : wanted === undefined || wanted === at
}

/** The deadline of input and of frames, ms. */
export const SOON = 16
