import { rt } from '../../rt.mjs'
import { Channel } from '../../sync.mjs'
import { converse } from './conversation.mjs'

const element = id => document.getElementById(id)
const entries = element('entries')
const text = /** @type {HTMLInputElement} */ (element('text'))
const given = new URLSearchParams(location.search).get('name')
const name = given || `Guest ${100 + Math.floor(Math.random() * 900)}`
const typed = new Channel(Infinity)
/** @type {WebSocket} */
let socket
let isCut = false

element('name').textContent = name
element('form').addEventListener('submit', event => {
  event.preventDefault()
  if (text.value.trim()) typed.offer(text.value)
  text.value = ''
})
element('cut').addEventListener('click', () => {
  // Long enough to type a message while the line is cut.
  isCut = true
  setTimeout(() => { isCut = false }, 3000)
  socket.close()
})

rt.spawn(converse({ open, name, typed, show }), { name: 'chat' }).catch(() => {
  element('status').textContent = 'the room has closed: load this page again'
})

function open() {
  if (isCut) return null
  const address = new URL('socket', location.href)
  address.protocol = address.protocol.replace('http', 'ws')
  socket = new WebSocket(address)
  socket.addEventListener('open', () => status(true))
  socket.addEventListener('close', () => status(false))
  return socket
}

/** @param {import('./hub.mjs').Entry} entry */
function show({ kind, name: who, text: said, here }) {
  const item = document.createElement('li')
  if (kind === 'said') {
    item.className = who === name ? 'said own' : 'said'
    item.append(Object.assign(document.createElement('b'), { textContent: who }), said)
  } else {
    item.className = 'event'
    item.textContent = `${who} ${kind === 'came' ? 'is here' : 'has left'}: ${here} in the room`
  }
  const isAtEnd = entries.scrollHeight - entries.scrollTop - entries.clientHeight < 50
  entries.append(item)
  if (isAtEnd) item.scrollIntoView({ block: 'end' })
}

/** @param {boolean} isOnline */
function status(isOnline) {
  element('status').textContent = isOnline ? 'on the line' : 'cut off, trying again'
  element('status').classList.toggle('online', isOnline)
}
