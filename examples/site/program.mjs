// Shows the script of a page in colors, and a message if the script fails, for example because a library is
// not installed.
import { addCopyButton } from './copy.mjs'
import { highlight } from './highlight.mjs'

const script = document.querySelector('main script[type=module]')
const code = Object.assign(document.createElement('pre'), { className: 'code', tabIndex: 0 })
code.innerHTML = highlight(script.textContent.trim(), 'js')
script.after(code)
addCopyButton(code)

const problem = Object.assign(document.createElement('p'), { role: 'alert', className: 'problem', hidden: true })
document.querySelector('h1').after(problem)
const usesPackages = document.querySelector('script[type=importmap]')?.textContent.includes('/packages/')
const advice = usesPackages ? '. In a clone, npm --prefix examples/packages install installs the library.' : ''

/** @param {unknown} error */
function show(error) {
  problem.textContent = `${error}${advice}`
  problem.hidden = false
}
addEventListener('error', ({ error, message }) => show(error ?? message))
addEventListener('unhandledrejection', ({ reason }) => show(reason))
