/** Renders the pages of the API: one page per module, an overview, and the entries of the search. */
import { escape, highlight } from '../site/highlight.mjs'
import { examplesOf, memberId, programOf } from './examples.mjs'
import { bare } from './jsdoc.mjs'

/**
 * @typedef {import('./jsdoc.mjs').Entry} Entry
 * @typedef {import('./jsdoc.mjs').Comment} Comment
 * @typedef {import('./jsdoc.mjs').Tag} Tag
 * @typedef {Awaited<ReturnType<typeof import('./jsdoc.mjs').documentedModules>>[number]} Module
 *
 * An entry of the search.
 *
 * @typedef {object} Found
 * @property {string} name
 * @property {string} place the module and, for members and options, the owner
 * @property {string} address
 * @property {string} use the first sentence of the description
 */

/** Members that have an article, by module: the name of the article and the owner and name of the member. */
const PROMOTED = { rt: { spawn: ['Scheduler', 'spawn'] } }

/** The exports that most programs start with. */
const CORE = [
  ['spawn', 'rt', 'runs a function or generator function as a job'],
  ['budget', 'rt', 'makes `yield` in a hot loop cheap'],
  ['preemptify', 'addons/preemptify', 'adds preemption points to a function or a library'],
  ['on', 'alarms', 'handles events of an element in jobs'],
  ['sleep', 'alarms', 'lets a job or an async function wait'],
  ['Job.cancel', 'rt', 'cancels a job and the calls that it waits for']
]

/** The part of the overview for TypeScript; a test compiles it. */
export const TYPED = `import { rt } from 'rt.mjs'
import { on, timeout } from 'rt.mjs/alarms'
function* load(url: string) {
  const reply = yield* timeout(1000, fetch(url)) // a Response
  const text: string = yield reply.text() // without ": string", an error: a plain yield has no type
  return text.length
}
console.log(await rt.spawn(load, { deadline: 2000 }, 'data:,hello')) // a number
function* last<T>(list: T[]) { yield; return list[list.length - 1] }
console.log(await rt.spawn(last<number>, {}, [1, 2])) // without "<number>", the result is unknown
on(document, 'keydown', key => console.log(key), { before: (event: KeyboardEvent) => event.key })`

/** Whether a member is a function that is a property of a function, for example preemptify.import. @param {string} name */
const isProperty = name => /^[a-z]\w*[.]/.test(name)

/** Maximum length of a paragraph that leaves room for the next one, characters. */
const SHORT = 120

/** @param {string} name the name of a module @returns {string} the name in addresses */
export const keyOf = name => name.replace('addons/', '')

/** @param {string} module @param {string} [id] @returns {string} the address of a module or of an element of its page */
const addressOf = (module, id) => `?module=${keyOf(module)}${id ? `#${id}` : ''}`

/** @param {string} name @returns {string} the specifier of a module in the package */
const specifierOf = name => name === 'rt' ? 'rt.mjs' : `rt.mjs/${keyOf(name)}`

/** @param {string} text @returns {string} */
const firstSentence = text => text.split(/\n\n|(?<=[.?])\s+(?=[A-Z`])/, 1)[0].replace(/\s+/g, ' ')
  .replace(/ \([^()]*(?:\d{4}|[IVX]+-[A-Z])[^()]*\)/g, '') // a source is for the article

/**
 * Splits a type at a separator that is not inside brackets.
 *
 * @param {string} type @param {string} separator a single character @returns {string[]}
 */
function split(type, separator) {
  const parts = ['']
  let depth = 0
  for (const [i, letter] of [...type].entries()) {
    if ('({[<'.includes(letter)) depth++
    if (')}]'.includes(letter) || letter === '>' && type[i - 1] !== '=') depth--
    if (letter === separator && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.map(part => part.trim()).filter(Boolean)
}

/**
 * Renders all pages.
 *
 * @param {Module[]} modules
 * @returns {{ overview: string, pages: Map<string, string>, found: Found[] }} `pages`: the HTML by the name of
 *   the module; `found`: the entries of the search
 */
export function rendered(modules) {
  const examples = examplesOf(modules)
  /** @type {Found[]} */
  const found = []
  /** The modules of exports, by name. @type {Map<string, string>} */
  const homes = new Map(modules.flatMap(({ name, exports }) => exports.map(entry => [entry.name, name])))
  for (const [module, names] of Object.entries(PROMOTED)) for (const name in names) homes.set(name, module)

  /**
   * Types that only reject invalid arguments. The pages omit them, because they tell a reader nothing:
   * `W & Checked<W>` is shown as `W`.
   */
  const checks = new Set(modules.flatMap(({ types }) => [...types.values()])
    .filter(({ comments: [{ text }] }) => text.startsWith('Rejects')).map(({ name }) => name))

  /** Types that pages mention, by the name of their module. @type {Map<string, Set<string>>} */
  const mentioned = new Map(modules.map(({ name }) => [name, new Set()]))

  /** @param {string} name @param {Module} module the module that uses the name */
  const moduleOfType = (name, module) => [module, ...modules].find(({ types }) => types.has(name))

  /**
   * @param {string} type @param {Module} module
   * @param {Map<string, string>} [constraints] the constraints of type parameters, by name
   * @returns {string} HTML
   */
  function typeOf(type, module, constraints) {
    let shown = type.replace(/NoInfer<(\w+)>/g, '$1').replace(/import\('[^']*'\)\./g, '')
    for (const name of checks) {
      for (let at; (at = shown.indexOf(` & ${name}<`)) >= 0;) {
        const start = at + name.length + 3
        let end = start + 1
        for (let depth = 1; depth > 0; end++) {
          depth += shown[end] === '<' ? 1 : shown[end] === '>' && shown[end - 1] !== '=' ? -1 : 0
        }
        shown = shown.slice(0, at) + shown.slice(end)
      }
    }
    shown = constraints?.get(shown) ?? shown
    return escape(shown).replace(/\b[A-Z]\w+\b/g, name => {
      if (checks.has(name)) return name
      const home = homes.get(name)
      if (home) return `<a href="${addressOf(home, name)}">${name}</a>`
      const owner = moduleOfType(name, module)
      if (!owner) return name
      mentioned.get(owner.name)?.add(name)
      return `<a href="${addressOf(owner.name, `type-${name}`)}">${name}</a>`
    })
  }

  /** @param {string} text @returns {string} HTML */
  const inline = text => escape(text)
    .replace(/`([^`]+)`/g, (_, code) => {
      const home = homes.get(code) ?? homes.get(code.split('.')[0])
      const isKnown = homes.has(code) || examples.has(code)
      return home && isKnown ? `<a href="${addressOf(home, code)}"><code>${code}</code></a>` : `<code>${code}</code>`
    })
    .replace(/\b(?:addons\/)?(\w+)\.mjs\b(?![^<]*<\/(?:code|a)>)/g, (text, key) => {
      const module = modules.find(({ name }) => `${name}.mjs` === text)
      return module && module.name !== 'rt' ? `<a href="${addressOf(module.name)}">${key}.mjs</a>` : text
    })

  /** Renders the paragraphs, the lists and the formulas of a comment. @param {string} text @returns {string} */
  function prose(text) {
    return text.split(/\n{2,}/).filter(paragraph => paragraph.trim()).map(paragraph => {
      if (/^ {2}\S/.test(paragraph)) return `<pre>${escape(paragraph)}</pre>`
      const [lead, ...items] = paragraph.split(/^- /m)
      const list = items.length ? `<ul>${items.map(item => `<li>${inline(item.trim())}</li>`).join('')}</ul>` : ''
      return `${lead.trim() ? `<p>${inline(lead.trim())}</p>` : ''}${list}`
    }).join('')
  }

  /** @param {string} text @returns {string} */
  const codeOf = text => `<pre class="code" tabindex="0"><code>${highlight(text, 'js')}</code></pre>`

  /**
   * @param {string} term HTML @param {string} type @param {string} text @param {Module} module
   * @param {{ id?: string, constraints?: Map<string, string> }} [options]
   * @returns {string} a row of a list
   */
  const row = (term, type, text, module, { id = '', constraints } = {}) =>
    `<dt${id ? ` id="${id}"` : ''}>${term}</dt><dd>` +
    `${type ? `<code class="type">${typeOf(type, module, constraints)}</code> ` : ''}${inline(text || textOfType(type, module))}</dd>`

  /** Returns the description of a type that stands alone. @param {string} type @param {Module} module */
  function textOfType(type, module) {
    const [comment] = moduleOfType(type, module)?.types.get(type)?.comments ?? []
    return comment?.tags.typedef?.[0].text ?? ''
  }

  /** Returns the constraints of type parameters: `@template {Work} const W` gives W the type Work. @param {Comment} comment */
  const constraintsOf = ({ tags }) => new Map((tags.template ?? []).filter(({ type }) => type)
    .map(({ name, text, type }) => [name === 'const' ? text : name ?? '', type]))

  /**
   * The properties of options, in groups: one per named type, and one for the members of literal types.
   *
   * @typedef {{ type: string, owner: Module, properties: Tag[] }} Group
   *
   * @param {Tag} tag @param {Module} module
   * @returns {{ groups: Group[], lead: string }} `lead`: the text that describes no single property
   */
  function optionsOf({ name, type, text }, module) {
    if (!/^\[?options\]?$/.test(name ?? '')) return { groups: [], lead: text }
    /** @type {Group[]} */
    const groups = []
    let lead = text.replace(/\s+/g, ' ')
    for (const part of split(type.replace(/ \| null$/, ''), '&')) {
      if (part.startsWith('{')) {
        const names = split(part.slice(1, -1), ',')
          .map(member => /^(?:readonly )?(\w+)(\?)?: ([^]*)$/.exec(member)).filter(match => match !== null)
        const pieces = lead.split(/(?:^|(?<=[.;] )|- )(?=`\w+`: )/)
        const described = new Map()
        const rest = []
        for (const piece of pieces) {
          const [, option, description] = /^`(\w+)`: ([^]*)$/.exec(piece.trim()) ?? []
          if (names.some(([, name]) => name === option)) described.set(option, description.replace(/[.;]$/, ''))
          else rest.push(piece)
        }
        lead = rest.join('').trim()
        groups.push({
          type: '', owner: module,
          properties: names.map(([, name, optional, type]) =>
            ({ name: optional ? `[${name}]` : name, type, text: described.get(name) ?? '' }))
        })
        continue
      }
      const owner = /^\w+$/.test(part) ? moduleOfType(part, module) : undefined
      const [comment] = owner?.types.get(part)?.comments ?? []
      if (!owner || !comment) continue
      const { property, typedef: [alias] = [] } = comment.tags
      if (property) groups.push({ type: part, owner, properties: property })
      else if (alias) {
        const { groups: inner } = optionsOf({ name, type: alias.type, text: alias.text }, owner)
        groups.push(...inner.map(group => ({ ...group, type: group.type || part })))
      }
    }
    return { groups, lead }
  }

  /** Types whose properties a page has shown. @type {Set<string>} */
  const shownTypes = new Set()

  /** @param {Group} group @param {string} owner @param {Module} module @param {string} place */
  function groupOf({ type, owner: home, properties }, owner, module, place) {
    const isFirst = !shownTypes.has(type) && home === module
    if (type) shownTypes.add(type)
    const isDescribed = ({ type, text }) => text !== '' || textOfType(type, home) !== ''
    const others = properties.filter(tag => !isDescribed(tag))
      .map(tag => `<code>${bare(tag)}${tag.name?.startsWith('[') ? '?' : ''}: ${typeOf(tag.type, home)}</code>`)
    const rows = properties.filter(isDescribed).map(tag => {
      const name = bare(tag)
      const id = isFirst || type === '' ? `option-${owner}.${name}` : ''
      if (id && tag.text) found.push({ name, place: `option of ${owner}, ${place}`, address: addressOf(module.name, id), use: firstSentence(tag.text) })
      return row(`<code>${name}${tag.name?.startsWith('[') ? '?' : ''}</code>`, tag.type, tag.text, home, { id })
    })
    if (others.length) rows.push(`<dt>${rows.length ? 'and' : ''}</dt><dd>${others.join(', ')}</dd>`)
    const list = `<dl class="rows">${rows.join('')}</dl>`
    if (isFirst && properties.length < 20 || type === '') return list
    const names = properties.map(tag => `<code>${bare(tag)}</code>`)
    return `<details><summary>${typeOf(type, home)}: ${names.join(', ')}</summary>${list}</details>`
  }

  /** The parameters, the results and the errors. @param {Comment} comment @param {string} owner @param {Module} module */
  function tagsOf({ tags }, owner, module) {
    const constraints = constraintsOf({ text: '', tags })
    const parameters = (tags.param ?? []).filter(({ type }) => type).map(tag => {
      const term = `<code>${bare(tag)}${tag.name?.startsWith('[') ? '?' : ''}</code>`
      const { groups, lead } = optionsOf(tag, module)
      if (groups.length === 0) return row(term, tag.type, tag.text, module, { constraints })
      const distance = ({ type, owner }) => type === '' ? 0 : owner === module ? 1 : 2
      const options = groups.toSorted((a, b) => distance(a) - distance(b)).map(group => groupOf(group, owner, module, `${module.name}.mjs`))
      return `<dt>${term}</dt><dd>${inline(lead)}</dd><dd class="options">${options.join('')}</dd>`
    })
    const properties = (tags.property ?? []).map(tag =>
      row(`<code>${bare(tag)}${tag.name?.startsWith('[') ? '?' : ''}</code>`, tag.type, tag.text, module))
    const outcomes = ['returns', 'throws'].flatMap(kind => (tags[kind] ?? []).map(({ type, text }) =>
      row(kind, type, text, module)))
    const rows = [...parameters, ...properties, ...outcomes]
    return rows.length ? `<dl class="rows">${rows.join('')}</dl>` : ''
  }

  /** @param {string} name */
  function exampleOf(name) {
    const text = examples.get(name)
    return text === undefined ? '' : `<div class="example" data-example="${name}">${codeOf(programOf(text, modules))}
      <button type="button" class="quiet">Run</button><output role="status"></output></div>`
  }

  /**
   * @param {string} text @param {string} subject
   * @returns {string} the first paragraph, or two if it is short; further paragraphs are collapsed
   */
  function description(text, subject) {
    const paragraphs = text.split(/\n{2,}/)
    const shown = paragraphs[0].length < SHORT && !/^ {2}|:$/.test(paragraphs[1] ?? ' '.repeat(2)) ? 2 : 1
    const rest = paragraphs.slice(shown).join('\n\n')
    const more = rest ? `<details class="more"><summary>More about ${escape(subject)}</summary>${prose(rest)}</details>` : ''
    return prose(paragraphs.slice(0, shown).join('\n\n')) + more
  }

  /** @param {Entry} member @param {string} owner @param {Module} module */
  function memberOf({ name, signature, comments }, owner, module) {
    const id = memberId(name, owner)
    const { text = '', tags = {} } = comments[0] ?? {}
    const type = (tags.type ?? tags.returns)?.[0].type
    const description = [text, signature.endsWith(')') ? '' : tags.returns?.[0].text].filter(Boolean).join(' ')
    const use = firstSentence(text || tags.returns?.[0].text || '')
    const promoted = Object.entries(PROMOTED[module.name] ?? {}).find(([, path]) => path.join('.') === id)
    found.push({
      name: id, place: `${module.name}.mjs`, use,
      address: addressOf(module.name, promoted ? promoted[0] : id)
    })
    if (promoted) {
      return `<dt id="${id}"><a href="${addressOf(module.name, promoted[0])}"><code>${escape(signature)}</code></a></dt><dd>${inline(use)}</dd>`
    }
    // An accessor has no signature: the page shows its type and its text.
    if (!signature.endsWith(')')) return row(`<code>${name}</code>`, type ?? '', description, module, { id })
    const details = comments.map(comment => tagsOf(comment, id, module)).join('')
    const rest = text.replace(/\s+/g, ' ').trim() === use ? '' : prose(text)
    const inside = rest + details + exampleOf(id)
    const isOpen = isProperty(name)
    return inside ? `<details id="${id}"${isOpen ? ' open' : ''}><summary><code>${escape(signature)}</code> ${inline(use)}</summary>${inside}</details>`
      : `<dt id="${id}"><code>${escape(signature)}</code></dt><dd>${inline(use)}</dd>`
  }

  /** @param {Entry[]} members @param {string} owner @param {Module} module */
  function membersOf(members, owner, module) {
    const rows = members.map(member => memberOf(member, owner, module))
    const isRow = row => row.startsWith('<dt')
    return rows.map((row, i) => {
      if (!isRow(row)) return row
      const isFirst = i === 0 || !isRow(rows[i - 1])
      const isLast = i === rows.length - 1 || !isRow(rows[i + 1])
      return `${isFirst ? '<dl class="rows members">' : ''}${row}${isLast ? '</dl>' : ''}`
    }).join('')
  }

  /** @param {Entry} entry @param {string} id @param {Module} module */
  function articleOf({ name, signature, comments, members, base }, id, module) {
    // The last comment belongs to the implementation: after the overloads, only its @throws tags are shown.
    const overloads = comments.filter(({ tags }) => tags.overload)
    const implementation = overloads.length ? comments.at(-1) : undefined
    const [main, ...others] = comments.filter(comment => comment !== implementation)
    const throwing = implementation ? tagsOf({ text: '', tags: { throws: implementation.tags.throws ?? [] } }, id, module) : ''
    const parameters = tagsOf(main, id, module) // shows options before the other signatures do
    const sections = others.map((comment, index) => {
      const inside = prose(comment.text) + tagsOf(comment, id, module)
      const isOpen = comment.text !== '' || index === 0
      return isOpen ? inside : `<details><summary>Another signature</summary>${inside}</details>`
    })
    const shown = base !== undefined && homes.has(base)
    const inherited = shown ? `<p>Extends <a href="${addressOf(homes.get(base) ?? '', base)}"><code>${base}</code></a>.</p>` : ''
    const use = firstSentence(main.text)
    found.push({ name: id, place: `${module.name}.mjs`, address: addressOf(module.name, id), use })
    return `<article id="${id}"><h2><a href="${addressOf(module.name, id)}">${escape(signature)}</a></h2>` +
      `${description(main.text, id)}${inherited}${exampleOf(examples.has(id) ? id : name)}` +
      `${parameters}${sections.join('')}${throwing}` +
      `${members.length ? `<h3>Members</h3>${membersOf(members, name, module)}` : ''}</article>`
  }

  /** The articles of a module: promoted members first. @param {Module} module */
  function articlesIn(module) {
    const promoted = Object.entries(PROMOTED[module.name] ?? {}).map(([id, [owner, name]]) => {
      const members = module.exports.find(entry => entry.name === owner)?.members ?? []
      const member = members.find(member => member.name === name)
      if (!member) throw new Error(`${owner} has no member ${name}`)
      return { id, entry: { ...member, name: `${owner}.${name}`, signature: `rt.${member.signature}` } }
    })
    return [...promoted, ...module.exports.map(entry => ({ id: entry.name, entry }))]
  }

  /** @param {Module} module */
  function pageOf(module) {
    const { name, purpose } = module
    const articles = articlesIn(module)
    const listed = articles.flatMap(({ id, entry }) => [{ id, entry },
      ...entry.members.filter(({ name }) => isProperty(name)).map(member => ({ id: member.name, entry: member }))])
    const rows = listed.map(({ id, entry: { comments } }) =>
      `<tr><th scope="row"><a href="${addressOf(name, id)}"><code>${escape(id)}</code></a></th><td>${inline(firstSentence(comments[0].text))}</td></tr>`)
    const names = module.exports.slice(0, 3).map(({ name }) => name)
    found.push({ name: `${name}.mjs`, place: 'module', address: addressOf(name), use: firstSentence(purpose) })
    return `<h1>${name}.mjs</h1><p>${inline(firstSentence(purpose))}</p>${codeOf(`import { ${names.join(', ')} } from '${specifierOf(name)}'`)}
      <table><thead><tr><th scope="col">Export</th><th scope="col">Use</th></tr></thead><tbody>${rows.join('')}</tbody></table>
      ${articles.map(({ id, entry }) => articleOf(entry, id, module)).join('')}`
  }

  /** @param {Module} module @param {string} type @returns {string} */
  function typeArticle(module, type) {
    const { comments, members } = /** @type {Entry} */ (module.types.get(type))
    const { tags: { typedef: [alias] = [] } } = comments[0]
    const own = alias && alias.type !== 'object'
      ? `<p><code class="type">${typeOf(alias.type, module)}</code></p>${alias.text ? `<p>${inline(alias.text)}</p>` : ''}` : ''
    const inside = comments.map(comment => prose(comment.text) + tagsOf(comment, `type-${type}`, module)).join('')
    return `<details id="type-${type}"><summary><code>${type}</code></summary>${inside}${own}` +
      `${membersOf(members, type, module)}</details>`
  }

  const articles = new Map(modules.map(module => {
    shownTypes.clear()
    return [module.name, pageOf(module)]
  }))
  // The description of a type can mention further types, of any module.
  /** @type {Map<string, Map<string, string>>} */
  const types = new Map(modules.map(({ name }) => [name, new Map()]))
  for (let isComplete = false; !isComplete;) {
    isComplete = true
    for (const module of modules) {
      for (const type of mentioned.get(module.name) ?? []) {
        if (types.get(module.name)?.has(type)) continue
        types.get(module.name)?.set(type, typeArticle(module, type))
        isComplete = false
      }
    }
  }
  const pages = new Map(modules.map(({ name }) => {
    const list = [...types.get(name) ?? []].sort(([a], [b]) => a < b ? -1 : 1).map(([, html]) => html)
    const section = list.length ? `<article id="types"><h2><a href="${addressOf(name, 'types')}">Types</a></h2>${list.join('')}</article>` : ''
    return [name, articles.get(name) + section]
  }))

  const core = CORE.map(([id, module, use]) =>
    `<tr><th scope="row"><a href="${addressOf(module, id)}"><code>${id}</code></a></th><td>${inline(use)}</td></tr>`)
  const rows = modules.map(module => {
    const names = articlesIn(module).map(({ id }) => `<a href="${addressOf(module.name, id)}">${id}</a>`)
    return `<tr><th scope="row"><a href="${addressOf(module.name)}">${module.name}.mjs</a></th><td>${inline(firstSentence(module.purpose))}<br>${names.join(' ')}</td></tr>`
  })
  const overview = `<h1>API</h1>
    <p>Most programs need six names. Everything else is optional.</p>
    <table><tbody>${core.join('')}</tbody></table>
    <h2>Modules</h2>
    <p>Times are milliseconds. A larger priority is more important. A call with a wrong argument throws a TypeError or a
      RangeError, and changes nothing.</p>
    <table class="all"><tbody>${rows.join('')}</tbody></table>
    <h2 id="typescript">TypeScript</h2>
    <p>Types of results, arguments, events and options are inferred. Three places need a word of yours:</p>
    ${codeOf(TYPED)}`
  return { overview, pages, found }
}
