// Controlled fields: each listener reads the state of its field, works for some milliseconds and writes the state back.
const answers = document.getElementById('answers')

/** Computes longer than the pause between two keys, on any machine. */
function work() {
  let sum = 0
  for (const end = performance.now() + 15; performance.now() < end;) {
    for (let i = 0; i < 1000; i++) sum += Math.sqrt(i)
  }
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

const timed = document.getElementById('timed')
let ticks = 0

/** Writes a field back that it does not listen to, again and again. */
function tick() {
  const { value } = timed
  work()
  timed.value = value
  if (--ticks > 0) setTimeout(tick, 5)
}

timed.addEventListener('input', () => {
  if (ticks === 0) setTimeout(tick, 5)
  ticks = 20
  answer()
})
document.getElementById('format').addEventListener('click', () => {
  const { value } = timed
  window.formatting = 'started'
  for (let i = 0; i < 30; i++) work()
  timed.value = value.toUpperCase()
  window.formatting = 'finished'
})
document.getElementById('text').addEventListener('input', controlText)
document.getElementById('area').addEventListener('input', controlText)
document.getElementById('rich').addEventListener('input', controlRich)
document.getElementById('box').addEventListener('input', controlBox)
document.getElementById('choice').addEventListener('input', controlChoice)
