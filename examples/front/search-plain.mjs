import { isLike } from './lines.mjs'

export function search(field, lines, show, { signal }) {
  field.addEventListener('input', () => {
    const found = [], text = field.value
    for (const line of lines) {
      if (isLike(line, text)) found.push(line)
    }
    show(found)
  }, { signal })
}
