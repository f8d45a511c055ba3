// Preact: a controlled field. The handler and the render compute.
import { h, render } from 'preact'
import { useState } from 'preact/hooks'
import { work } from '../work.mjs'

function Field({ rounds, onAnswer }) {
  const [text, setText] = useState('')
  const onInput = event => {
    const { value } = event.target
    work(rounds / 2)
    setText(value)
    onAnswer()
  }
  work(rounds / 2)
  return h('p', null, h('input', { id: 'field', value: text, onInput }), h('output', null, text))
}

export const mount = (root, options) => render(h(Field, options), root)
