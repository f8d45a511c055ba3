// Vue: a controlled field. The handler and the render compute.
import { createApp, h, ref } from 'vue'
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

export const mount = (root, options) => createApp(Field, options).mount(root)
