/** The search field in React: a controlled input and 200 rows, without a build. */
import { partsOf, statusOf } from './page.mjs'

const folder = '/bench/peers/node_modules/'
const files = {
  scheduler: 'scheduler/cjs/scheduler.production.js',
  react: 'react/cjs/react.production.js',
  'react-dom': 'react-dom/cjs/react-dom.production.js',
  'react-dom/client': 'react-dom/cjs/react-dom-client.production.js'
}

/** React is published as CommonJS modules. This loads them in the order in which they require each other. */
const modules = {}
for (const [name, file] of Object.entries(files)) {
  const code = await (await fetch(folder + file)).text()
  new Function('require', 'exports', code)(required => modules[required], modules[name] = {})
}

export const React = modules.react
const { createElement, memo, useState } = React

/** Number of rows. */
export const LIMIT = 200

/**
 * Renders the field, the status and the list.
 *
 * @param {(text: string) => import('./page.mjs').Result | undefined} useResult a hook: the result to show
 */
export function render(useResult) {
  function Search() {
    const [text, setText] = useState('')
    const result = useResult(text)
    const onChange = event => setText(event.target.value)
    return [
      createElement('input', { key: 1, id: 'field', value: text, onChange }),
      result && createElement(Rows, { key: 2, result })
    ]
  }
  const root = modules['react-dom/client'].createRoot(document.getElementById('root'))
  // The first render is synchronous, so that the field exists when the module has been evaluated.
  modules['react-dom'].flushSync(() => root.render(createElement(Search)))
}

const Rows = memo(({ result }) => [
  createElement('output', { key: 1, id: 'status' }, statusOf(result)),
  createElement('ol', { key: 2, id: 'list' }, result.matches.map(match =>
    createElement('li', { key: match.item }, partsOf(match).map(({ text, isMatched }, i) =>
      isMatched ? createElement('b', { key: i }, text) : text))))
])
