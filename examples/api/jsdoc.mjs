/**
 * Reads the documentation of all exports from the JSDoc in the text of the modules. The API page therefore
 * needs no text of its own and no build.
 *
 * @typedef {{ name?: string, type: string, text: string }} Tag
 * @typedef {{ text: string, tags: Record<string, Tag[]> }} Comment
 * @typedef {object} Entry an export, a member or a type; overloads have one comment each
 * @property {string} name
 * @property {string} signature
 * @property {Comment[]} comments
 * @property {Entry[]} members
 * @property {string} [base] the class that a class extends
 */

const blocks = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*/g
const tagNames = /(?<![\w`'])@(param|property|returns|throws|example|template|typedef|type|overload|internal|see|import|module)\b\s*/g

/**
 * The modules in the order of the index, each with its exports in the order of a first reading.
 *
 * @type {Record<string, string[]>}
 */
const ORDER = {
  rt: ['rt', 'budget', 'Job', 'Scheduler', 'Task', 'edf', 'fp', 'rm', 'defaultHost', 'DeadlineError', 'DeadlockError'],
  alarms: [
    'on', 'every', 'after', 'at', 'sleep', 'timeout', 'until', 'frames', 'periodic', 'nextPeriod', 'sporadic', 'events',
    'AsyncEvent', 'Alarm', 'TimeoutError'
  ],
  sync: [
    'Channel', 'choice', 'par', 'race', 'Mutex', 'Semaphore', 'Barrier', 'Resource', 'nonPreemptive', 'ChannelError',
    'OwnershipError'
  ],
  'addons/preemptify': ['preemptify', 'isModule', 'isOwnModule'],
  'addons/adopt': ['adopt'],
  'addons/workers': ['Workers'],
  'addons/connect': ['connect', 'accept'],
  'addons/shared': ['Latest', 'Ring', 'SharedMutex', 'SharedSemaphore'],
  'addons/reservations': ['Reservation', 'interrupt', 'loop', 'admit', 'IoReservation', 'worstCaseDelay'],
  'addons/schedulable': ['schedulable', 'AdmissionError'],
  'addons/scheduler': ['scheduler', 'schedulerOf', 'TaskController'],
  'addons/deadlock': ['reportDeadlocks']
}

/** The names of the modules. */
export const MODULES = Object.keys(ORDER)

/**
 * Reads and documents all modules.
 *
 * @param {(url: URL) => string | Promise<string>} read reads the text of a file
 */
export async function documentedModules(read) {
  return documentedAll(await Promise.all(MODULES.map(async name => {
    const url = new URL(`../../${name}.mjs`, import.meta.url)
    return { name, text: await textWithFolder(url, read), namespace: await import(url.href) }
  })))
}

/**
 * Returns the text of a module, of the files in its own folder that it imports, and of the files whose types
 * it uses. For example, addons/preemptify.mjs exports functions of several files in addons/preemptify/.
 *
 * @param {URL} url @param {(url: URL) => string | Promise<string>} read
 */
async function textWithFolder(url, read) {
  const text = await read(url)
  const folder = url.href.replace(/[.]mjs$/, '/')
  const files = [...text.matchAll(/^(?:import|export) [^']*from '([.]\/[^']+)'/gm)]
    .map(([, from]) => new URL(from, url))
    .filter(({ href }) => href.startsWith(folder))
  const types = [...text.matchAll(/@typedef \{import\('([.]\/[^']+)'\)/g)].map(([, from]) => new URL(from, url))
  return [text, ...await Promise.all([...files, ...types].map(read))].join('\n')
}

/**
 * Documents each export once, at the module that declares it.
 *
 * @param {{ name: string, text: string, namespace: Record<string, unknown> }[]} modules
 */
export function documentedAll(modules) {
  return modules.map(module => {
    const { exports, ...others } = documented(module.text, module.namespace)
    const order = ORDER[module.name] ?? []
    const inOrder = exports.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
    return { ...module, ...others, exports: inOrder, purpose: purposeOf(module.text) }
  })
}

/** Returns the first sentence of the comment at the start of a module, without the name of its file. @param {string} text */
function purposeOf(text) {
  const [, comment] = /^\/\*\*((?:(?!\*\/)[^])*)\*\//.exec(text) ?? []
  const [, purpose] = /^[\w/]+\.mjs: ([^]*?\.)(?:\s|$)/.exec(parse(comment ?? '').text) ?? []
  return purpose ? purpose[0].toUpperCase() + purpose.slice(1) : ''
}

/**
 * Documents the exports and the types of one module.
 *
 * @param {string} text the text of the module
 * @param {Record<string, unknown>} namespace the exports of the module. A function can be declared under
 *   another name, and can have functions as properties
 * @returns {{ exports: Entry[], types: Map<string, Entry>, internal: Set<string> }} `types`: the typedefs and
 *   the classes that are not exported; `internal`: the names of the exports that are marked `@internal`
 */
function documented(text, namespace) {
  /** Comments by the index of the character that follows them. @type {Map<number, Comment>} */
  const comments = new Map()
  /** @type {Map<string, Entry>} */
  const types = new Map()
  for (const block of text.matchAll(blocks)) {
    const comment = parse(block[1])
    comments.set(block.index + block[0].length, comment)
    for (const { name = '' } of comment.tags.typedef ?? []) types.set(name, { name, signature: name, comments: [comment], members: [] })
  }

  /**
   * Returns the comments right before an index of the text: overloads, then the last comment.
   *
   * @param {number} place @returns {Comment[]}
   */
  const before = place => {
    const own = comments.get(place)
    if (own === undefined) return []
    const start = text.lastIndexOf('/**', place - 1)
    return [...before(start).filter(({ tags }) => tags.overload), own]
  }

  /** @param {Comment[]} comments */
  const isInternal = comments => comments.some(({ tags }) => tags.internal)
  /** @type {Set<string>} */
  const internal = new Set()
  for (const list of text.matchAll(/^export \{([^}]*)\}/gm)) {
    if (isInternal(before(list.index))) for (const [name] of list[1].matchAll(/\w+/g)) internal.add(name)
  }

  /** Returns the declaration of a name that has a comment. @param {string} local */
  const found = local => {
    const start = '^(?:export )?(?:async )?(?:function\\*? |class |const )'
    const all = [...text.matchAll(new RegExp(`${start}${local}\\b(.*)`, 'gm'))]
    return all.find(({ index }) => before(index).length > 0)
  }

  /** @param {string} shown @param {string} local @returns {Entry | undefined} */
  const declared = (shown, local) => {
    const declaration = found(local)
    if (declaration === undefined || internal.has(shown)) return
    const own = before(declaration.index)
    if (isInternal(own)) {
      internal.add(shown)
      return
    }
    const [head, rest] = declaration
    if (!/^(?:export )?class /.test(head)) {
      const [, isClass, made] = /^(typeof )?(\w+)$/.exec(own.at(-1)?.tags.type?.[0].type ?? '') ?? []
      const described = made && found(made) && declared(shown, made)
      if (described && isClass) {
        // The comment of the class itself describes only one of the classes that the constant can be.
        return { ...described, comments: [...own, ...described.comments.slice(1)] }
      }
      if (described) return { ...described, signature: shown, comments: own }
      return { name: shown, signature: callOf(shown, rest, own), comments: own, members: [] }
    }
    const members = membersOf(declaration)
    const making = members.find(({ name }) => name === 'constructor')
    const signature = making ? making.signature.replace(/^constructor/, `new ${shown}`) : shown
    const parts = members.filter(member => member !== making)
    const [, base] = / extends (\w+)/.exec(rest) ?? []
    return { name: shown, signature, comments: [...own, ...making?.comments ?? []], members: parts, base }
  }

  /**
   * Returns the public methods, the accessors and the described fields of a class and of its base class.
   *
   * @param {RegExpExecArray} declaration @returns {Entry[]}
   */
  const membersOf = ({ 0: head, index: start }) => {
    const body = text.slice(start, text.indexOf('\n}\n', start))
    const members = []
    for (const match of body.matchAll(/^  (static )?(?:async )?\*?(get |set )?(\w+)( = .*|\(.*\) \{.*|$)/gm)) {
      const [, isStatic, accessor, name, rest] = match
      const comments = before(start + match.index + 2)
      const isField = !rest.startsWith('(')
      if (accessor === 'set ' || /^(?:if|for|while|return|static)$/.test(name)) continue
      if (isInternal(comments)) continue
      if (isField && !comments[0]?.text) continue
      const shown = `${isStatic ? `${/class (\w+)/.exec(head)?.[1]}.` : ''}${name}`
      members.push({ name: shown, signature: accessor || isField ? shown : callOf(shown, rest, comments), comments, members: [] })
    }
    const base = /^\S* ?class \w+ extends (\w+)/.exec(body)?.[1]
    const inherited = base && new RegExp(`^(?:export )?class ${base}\\b(.*)`, 'm').exec(text)
    const known = new Set(members.map(({ name }) => name))
    return inherited ? [...members, ...membersOf(inherited).filter(({ name }) => !known.has(name))] : members
  }

  const exports = []
  for (const [name, value] of Object.entries(namespace)) {
    const entry = declared(name, name) ?? (typeof value === 'function' ? declared(name, value.name) : undefined)
    if (entry === undefined) continue
    exports.push(entry)
    if (typeof value !== 'function') continue
    for (const [key, part] of Object.entries(value)) {
      if (typeof part !== 'function') continue
      const own = declared(`${name}.${key}`, part.name) ?? declared(`${name}.${key}`, key)
      if (own) entry.members.push(own)
    }
  }
  for (const [, name] of text.matchAll(/^class (\w+)/gm)) {
    const entry = declared(name, name)
    if (entry) types.set(name, { ...entry, signature: name })
  }
  return { exports, types, internal }
}

/**
 * @param {string} name
 * @param {string} rest the line after the name
 * @param {Comment[]} comments
 * @returns {string}
 */
function callOf(name, rest, comments) {
  const tags = comments.flatMap(({ tags }) => tags.param ?? [])
  const optional = new Set(tags.filter(({ name }) => name?.startsWith('[')).map(bare))
  const isArrow = / =>/.test(rest) && tags.length > 0
  if (!rest.startsWith('(')) return isArrow ? `${name}(${tags.map(bare).join(', ')})` : name
  const names = rest.slice(1, closing(rest, 0)).replace(/ = .*?(?=,|$)/g, '')
    // A destructured parameter has a name only in its comment.
    .replace(/\{.*\}/, () => bare(tags.find(({ name }) => /^\[?options/.test(name ?? '')) ?? { type: '', text: '' }))
    .split(/, */).filter(Boolean)
  return `${name}(${names.map(name => optional.has(name) ? `${name}?` : name).join(', ')})`
}

/** @param {Tag} tag @returns {string} the name without brackets and default */
export const bare = ({ name = '' }) => name.replace(/^\[|\]$|=.*/g, '')

/** @param {string} text the comment without its delimiters @returns {Comment} */
function parse(text) {
  const lines = text.split('\n').map(line => line.replace(/^\s*\* ?/, '')).join('\n').trim()
  const found = [...lines.matchAll(tagNames)]
  /** @type {Record<string, Tag[]>} */
  const tags = {}
  for (const [i, { 0: whole, 1: kind, index }] of found.entries()) {
    const part = lines.slice(index, found[i + 1]?.index)
    let left = part.slice(whole.length)
    let type = ''
    if (left.startsWith('{')) {
      const end = closing(left, 0)
      type = left.slice(1, end).replace(/\s+/g, ' ')
      left = left.slice(end + 1).trim()
    }
    const named = ['param', 'property', 'typedef', 'template'].includes(kind) ? /^(\[[^\]]*\]|[\w.$]+)\s*/.exec(left) : null
    ;(tags[kind] ??= []).push({ name: named?.[1], type, text: left.slice(named?.[0].length ?? 0).trim() })
  }
  return { text: lines.slice(0, found[0]?.index).trim(), tags }
}

/**
 * @param {string} text
 * @param {number} start index of a bracket
 * @returns {number} index of the closing bracket
 */
function closing(text, start) {
  let depth = 0
  for (let i = start; i < text.length; i++) {
    if ('({['.includes(text[i])) depth++
    if (')}]'.includes(text[i]) && --depth === 0) return i
  }
  return text.length
}
