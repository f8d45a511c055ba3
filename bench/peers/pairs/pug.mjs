import pug from 'pug'

export const inputs = (name, which) => Array.from({ length: 2 }, (_, i) =>
  `div(class=c${which} id="x${i}")\n  p= text\n  if text\n    b version ${which}\n  each x in [1, ${which}]\n    li= x`).join('\n')

export const calls = {
  client: text => pug.compileClient(text),
  bare: text => pug.compileClient(text, { compileDebug: false, pretty: true }),
  render: text => pug.render(text, { text: 'some <text>' })
}
