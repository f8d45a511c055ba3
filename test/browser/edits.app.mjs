// Controlled fields: each listener reads the state of its field, works for some milliseconds and writes the state back.
const answers = document.getElementById('answers')

function work() {
  let sum = 0
  for (let i = 0; i < 3e6; i++) sum += Math.sqrt(i % 1000)
  return sum
}

/** Counts the events and the answers to these events. */
window.inputs = 0
addEventListener('input', () => { window.inputs++ }, true)

function answer() {
  answers.value = Number(answers.value) + 1
}

function controlText({ target }) {
  const { value, selectionStart } = target
  work()
  target.value = value
  target.setSelectionRange(selectionStart, selectionStart)
  answer()
}

function controlRich({ target }) {
  const { textContent } = target
  work()
  if (target.textContent !== textContent) target.textContent = textContent
  answer()
}

function controlBox({ target }) {
  const { checked } = target
  work()
  target.checked = checked
  answer()
}

function controlChoice({ target }) {
  const { selectedIndex } = target
  work()
  target.selectedIndex = selectedIndex
  answer()
}

document.getElementById('text').addEventListener('input', controlText)
document.getElementById('area').addEventListener('input', controlText)
document.getElementById('rich').addEventListener('input', controlRich)
document.getElementById('box').addEventListener('input', controlBox)
document.getElementById('choice').addEventListener('input', controlChoice)
