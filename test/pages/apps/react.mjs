// React: a controlled field. The handler and the render compute.
import { createElement as h, startTransition, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { work } from '../work.mjs'

function Field({ rounds, onAnswer }) {
  const [text, setText] = useState('')
  const onChange = event => {
    const { value } = event.target
    work(rounds / 2)
    setText(value)
    onAnswer()
  }
  work(rounds / 2)
  return h('p', null, h('input', { id: 'field', value: text, onChange }), h('output', null, text))
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
    h('textarea', { id: 'area', value: state.area, onChange: change('area', 'value') }),
    h('input', { id: 'box', type: 'checkbox', checked: state.box, onChange: change('box', 'checked') }),
    h('select', { id: 'choice', value: state.choice, onChange: change('choice', 'value') },
      ['a', 'b', 'c', 'd'].map(name => h('option', { key: name }, name))),
    h('div', { id: 'rich', contentEditable: true, onInput: change('rich', 'textContent') }),
    h('output', null, JSON.stringify(state)))
}

const Item = ({ rounds, name }) => {
  work(rounds)
  return h('li', null, name)
}

/** A list whose render is a transition: React renders it in slices, and a click comes between two of them. */
function List({ rounds, onAnswer }) {
  const [version, setVersion] = useState(0)
  const [clicks, setClicks] = useState(0)
  const onFill = () => startTransition(() => setVersion(version + 1))
  const onClick = () => {
    work(rounds / 2)
    setClicks(count => count + 1)
    onAnswer()
  }
  const items = Array.from({ length: 20 }, (_, key) =>
    h(Item, { key, rounds: version && rounds / 4, name: `${version}.${key}` }))
  return h('div', null,
    h('button', { id: 'fill', onClick: onFill }, 'fill'),
    h('button', { id: 'click', onClick }, 'click'),
    h('output', null, `${clicks}`),
    h('ul', null, items))
}

export const mount = (root, options) => createRoot(root).render(h(Field, options))
export const mountForm = (root, options) => createRoot(root).render(h(Form, options))
export const mountList = (root, options) => createRoot(root).render(h(List, options))
