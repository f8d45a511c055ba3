import jshint from 'jshint'

const { JSHINT } = jshint

export const inputs = (name, which) => Array.from({ length: 4 }, (_, i) => `function check${i}(${which ? 'rows' : 'list'}, limit) {
  var total = 0
  for (var n = 0; n < limit; n++) { total += missing${i % 9 + which} ${which ? ';' : ''} }
  return total;
}`).join('\n')

export const calls = {
  errors(text) {
    JSHINT(text, { esversion: 8, undef: true, unused: true })
    return JSHINT.errors.map(({ line, code }) => `${line} ${code}`)
  },
  data(text) {
    JSHINT(text, { esversion: 6 })
    return JSHINT.data().functions.map(({ name }) => name)
  },
  check: text => JSHINT(text.slice(0, 120))
}
