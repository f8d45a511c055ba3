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

export const mount = (root, options) => render(() => Field(options), root)
