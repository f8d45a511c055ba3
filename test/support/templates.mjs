/** A typical template engine with an output buffer. */
export const TEMPLATES = `
let out = ''
function write(text) { for (const c of text) out += c }
export function render(name, list) {
  out = ''
  write('<h1>' + name + '</h1>')
  for (const item of list) write('<li>' + item + '</li>')
  return out
}
export function map(list, fn) {
  const result = []
  out = ''
  for (const item of list) { const text = fn(item); out += text; result.push(text) }
  return out
}
export const length = () => out.length
`
