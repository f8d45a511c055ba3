// Vue: a controlled field. The handler and the render compute.
import { createApp, h, reactive, ref } from 'vue'
import { work } from '../work.mjs'

const Field = {
  props: ['rounds', 'onAnswer'],
  setup({ rounds, onAnswer }) {
    const text = ref('')
    const onInput = event => {
      const { value } = event.target
      work(rounds / 2)
      text.value = value
      onAnswer()
    }
    return () => {
      work(rounds / 2)
      return h('p', [h('input', { id: 'field', value: text.value, onInput }), h('output', text.value)])
    }
  }
}

/** Fields of other kinds. A timer renders them again while the user edits them. */
const Form = {
  props: ['rounds', 'onAnswer'],
  setup({ rounds, onAnswer }) {
    const state = reactive({ area: '', box: false, choice: 'a', rich: '' })
    const ticks = ref(0)
    setInterval(() => { ticks.value++ }, 50)
    const change = (name, property) => ({ target }) => {
      const value = target[property]
      work(rounds / 2)
      state[name] = value
      onAnswer()
    }
    return () => {
      work(ticks.value && rounds / 2)
      return h('p', [
        h('textarea', { id: 'area', value: state.area, onInput: change('area', 'value') }),
        h('input', { id: 'box', type: 'checkbox', checked: state.box, onChange: change('box', 'checked') }),
        h('select', { id: 'choice', value: state.choice, onChange: change('choice', 'value') },
          ['a', 'b', 'c', 'd'].map(name => h('option', name))),
        h('div', { id: 'rich', contenteditable: true, onInput: change('rich', 'textContent') }),
        h('output', JSON.stringify(state))
      ])
    }
  }
}

export const mount = (root, options) => createApp(Field, options).mount(root)
export const mountForm = (root, options) => createApp(Form, options).mount(root)
