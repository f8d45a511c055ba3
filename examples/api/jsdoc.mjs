/**
 * What a module's JSDoc says of its exports, read from its text: this page has no text of its own, and no build.
 *
 * @typedef {{ name?: string, type: string, text: string }} Tag
 * @typedef {{ text: string, tags: Record<string, Tag[]> }} Comment
 * @typedef {{ name: string, signature: string, comments: Comment[], members: Entry[] }} Entry a member's overloads have a comment each
 */

const blocks = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*/g
const tagNames = /(?<![\w`'])@(param|property|returns|throws|template|typedef|type|overload|internal|see|import|module)\b\s*/g

/**
 * Each export once, by the module that has it first.
 *
 * @param {{ name: string, text: string, namespace: Record<string, unknown> }[]} modules
 */
export function documentedAll(modules) {
  /** @type {Set<string>} */
  const seen = new Set()
  return modules.map(module => {
    const { exports, types } = documented(module.text, module.namespace)
    for (const [name, value] of Object.entries(module.namespace)) {
      if (seen.has(name) || exports.some(entry => entry.name === name)) continue
      // One that it has from another one.
      for (const { text } of modules) exports.push(...documented(text, { [name]: value }).exports.slice(0, 1))
    }
    const own = exports.filter(({ name }) => !seen.has(name))
    for (const { name } of own) seen.add(name)
    return { ...module, exports: own, types }
  })
}

/**
 * @param {string} text of a module
 * @param {Record<string, unknown>} namespace what it exports: a function may be declared by another name, and have functions of
 *   its own
 * @returns {{ exports: Entry[], types: Map<string, Entry> }} what the exports mention: typedefs, and classes that are not exported
 */
function documented(text, namespace) {
  /** Comments by the place where they end. @type {Map<number, Comment>} */
  const comments = new Map()
  /** @type {Map<string, Entry>} */
  const types = new Map()
  for (const block of text.matchAll(blocks)) {
    const comment = parse(block[1])
    comments.set(block.index + block[0].length, comment)
    for (const { name = '' } of comment.tags.typedef ?? []) types.set(name, { name, signature: name, comments: [comment], members: [] })
  }

  /** Those right before a place, overloads before the last. @param {number} place @returns {Comment[]} */
  const before = place => {
    const own = comments.get(place)
    if (own === undefined) return []
    const start = text.lastIndexOf('/**', place - 1)
    return [...before(start).filter(({ tags }) => tags.overload), own]
  }

  /** @param {string} shown @param {string} local @returns {Entry | undefined} */
  const declared = (shown, local) => {
    const found = new RegExp(`^(?:export )?(?:async )?(?:function\\*? |class |const )${local}\\b(.*)`, 'm').exec(text)
    const own = found ? before(found.index) : []
    if (!found || !own.length || own.some(({ tags }) => tags.internal)) return
    if (!/^(?:export )?class /.test(found[0])) return { name: shown, signature: callOf(shown, found[1], own), comments: own, members: [] }
    const members = membersOf(found)
    const making = members.find(({ name }) => name === 'constructor')
    const signature = making ? making.signature.replace(/^constructor/, `new ${shown}`) : shown
    const parts = members.filter(member => member !== making)
    return { name: shown, signature, comments: [...own, ...making?.comments ?? []], members: parts }
  }

  /** Public methods, accessors and described fields of a class, and of the one it extends. @param {RegExpExecArray} found @returns {Entry[]} */
  const membersOf = found => {
    const body = text.slice(found.index, text.indexOf('\n}\n', found.index))
    const members = []
    for (const match of body.matchAll(/^  (static )?(?:async )?\*?(get |set )?(\w+)( = .*|\(.*\) \{.*|$)/gm)) {
      const [, isStatic, accessor, name, rest] = match
      const comments = before(found.index + match.index + 2)
      const isField = !rest.startsWith('(')
      if (accessor === 'set ' || /^(?:if|for|while|return|static)$/.test(name) || comments.some(({ tags }) => tags.internal)) continue
      if (isField && !comments[0]?.text) continue
      const shown = `${isStatic ? `${/class (\w+)/.exec(found[0])?.[1]}.` : ''}${name}`
      members.push({ name: shown, signature: accessor || isField ? shown : callOf(shown, rest, comments), comments, members: [] })
    }
    const base = /^\S* ?class \w+ extends (\w+)/.exec(body)?.[1]
    const inherited = base && new RegExp(`^(?:export )?class ${base}\\b(.*)`, 'm').exec(text)
    const known = new Set(members.map(({ name }) => name))
    return inherited ? [...members, ...membersOf(inherited).filter(({ name }) => !known.has(name))] : members
  }

  const exports = []
  for (const [name, value] of Object.entries(namespace)) {
    const entry = declared(name, typeof value === 'function' ? value.name : name)
    if (entry === undefined) continue
    exports.push(entry)
    if (typeof value !== 'function') continue
    for (const [key, part] of Object.entries(value)) {
      const own = typeof part === 'function' && declared(`${name}.${key}`, part.name)
      if (own) entry.members.push(own)
    }
  }
  for (const [, name] of text.matchAll(/^class (\w+)/gm)) {
    const entry = declared(name, name)
    if (entry) types.set(name, { ...entry, signature: name })
  }
  return { exports, types }
}

/** @param {string} name @param {string} rest of its line @param {Comment[]} comments @returns {string} */
function callOf(name, rest, comments) {
  if (!rest.startsWith('(')) return name
  const tags = comments.flatMap(({ tags }) => tags.param ?? [])
  const optional = new Set(tags.filter(({ name }) => name?.startsWith('[')).map(bare))
  const names = rest.slice(1, closing(rest, 0)).replace(/ = .*?(?=,|$)/g, '')
    // One that is taken apart has its name in the comment alone.
    .replace(/\{.*\}/, () => bare(tags.find(({ name }) => /^\[?options/.test(name ?? '')) ?? { type: '', text: '' }))
    .split(/, */).filter(Boolean)
  return `${name}(${names.map(name => optional.has(name) ? `${name}?` : name).join(', ')})`
}

/** @param {Tag} tag @returns {string} its name without brackets and default */
export const bare = ({ name = '' }) => name.replace(/^\[|\]$|=.*/g, '')

/** @param {string} text between the marks of a comment @returns {Comment} */
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

/** @param {string} text @param {number} start of a bracket @returns {number} where it is closed */
function closing(text, start) {
  let depth = 0
  for (let i = start; i < text.length; i++) {
    if ('({['.includes(text[i])) depth++
    if (')}]'.includes(text[i]) && --depth === 0) return i
  }
  return text.length
}
