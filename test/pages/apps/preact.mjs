// Preact: a controlled field. The handler and the render compute.
import { h, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
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

/** Fields of other kinds. A timer renders them again while the user edits them. */
function Form({ rounds, onAnswer }) {
  const [state, setState] = useState({ area: '', box: false, choice: 'a', rich: '' })
  const [, setTicks] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTicks(ticks => ticks + 1), 50)
    return () => clearInterval(timer)
  }, [])
  const change = (name, property) => ({ target }) => {
    const value = target[property]
    work(rounds / 2)
    setState(state => ({ ...state, [name]: value }))
    onAnswer()
  }
  work(rounds / 2)
  return h('p', null,
    h('textarea', { id: 'area', value: state.area, onInput: change('area', 'value') }),
    h('input', { id: 'box', type: 'checkbox', checked: state.box, onChange: change('box', 'checked') }),
    h('select', { id: 'choice', value: state.choice, onChange: change('choice', 'value') },
      ['a', 'b', 'c', 'd'].map(name => h('option', { key: name }, name))),
    h('div', { id: 'rich', contentEditable: true, onInput: change('rich', 'textContent') }),
    h('output', null, JSON.stringify(state)))
}

export const mount = (root, options) => render(h(Field, options), root)
export const mountForm = (root, options) => render(h(Form, options), root)
