import { connect } from '../../addons/connect.mjs'
import { par } from '../../sync.mjs'

/**
 * One side of the chat, as a job: shows what is heard and says what is typed. The channels outlive their sockets: what is
 * typed while there is none is said once, in order, when there is.
 *
 * @param {object} setup
 * @param {() => any} setup.open the next endpoint, such as a WebSocket
 * @param {string} setup.name
 * @param {import('../../sync.mjs').Channel} setup.typed texts to say
 * @param {(entry: import('./hub.mjs').Entry) => void} setup.show
 * @param {import('../../addons/connect.mjs').SessionOptions} [setup.options] of `connect`
 * @returns {Generator<any, void, any>} fails when the room does not know it any more
 */
export function* converse({ open, name, typed, show, options }) {
  const say = connect(open, 'say', options)
  const hear = connect(open, 'hear', options)
  yield say.send({ name })
  yield par(() => hear.forEach(show), () => typed.forEach(text => say.send({ text })))
}
