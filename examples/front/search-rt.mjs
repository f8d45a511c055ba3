import { budget } from '../../rt.mjs'
import { on } from '../../alarms.mjs'
import { isLike } from './lines.mjs'

export function search(field, lines, show, { signal }) {
  on(field, 'input', function* (text) {
    const found = []
    for (const line of lines) {
      if (isLike(line, text)) found.push(line)
      if (--budget.left <= 0) yield
    }
    show(found)
  }, {
    signal, before: () => field.value, excess: 'restart'
  })
}
