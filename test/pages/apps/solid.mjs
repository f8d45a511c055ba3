// Solid: a controlled field. The handler and a memo compute.
import { createMemo, createSignal } from 'solid-js'
import html from 'solid-js/html'
import { render } from 'solid-js/web'
import { work } from '../work.mjs'

function Field({ rounds, onAnswer }) {
  const [text, setText] = createSignal('')
  const onInput = event => {
    const { value } = event.target
    work(rounds / 2)
    setText(value)
    onAnswer()
  }
  const shown = createMemo(() => {
    work(rounds / 2)
    return text()
  })
  return html`<p><input id="field" prop:value=${text} oninput=${onInput} /><output>${shown}</output></p>`
}

/** Fields of other kinds. A timer changes the state that they show while the user edits them. */
function Form({ rounds, onAnswer }) {
  const [state, setState] = createSignal({ area: '', box: false, choice: 'a', rich: '' })
  const [ticks, setTicks] = createSignal(0)
  setInterval(() => setTicks(ticks => ticks + 1), 50)
  const change = (name, property) => ({ target }) => {
    const value = target[property]
    work(rounds / 2)
    setState(state => ({ ...state, [name]: value }))
    onAnswer()
  }
  const shown = createMemo(() => {
    work(ticks() && rounds / 2)
    return { ...state() }
  })
  return html`<div><textarea id="area" prop:value=${() => shown().area} oninput=${change('area', 'value')}></textarea>
    <input id="box" type="checkbox" prop:checked=${() => shown().box} onchange=${change('box', 'checked')} />
    <select id="choice" prop:value=${() => shown().choice} onchange=${change('choice', 'value')}>
      <option>a</option><option>b</option><option>c</option><option>d</option></select>
    <div id="rich" contenteditable="true" oninput=${change('rich', 'textContent')}></div>
    <output>${() => JSON.stringify(shown())}</output></div>`
}

export const mount = (root, options) => render(() => Field(options), root)
export const mountForm = (root, options) => render(() => Form(options), root)
