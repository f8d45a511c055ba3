import { connect } from '../../addons/connect.mjs'
import { par } from '../../sync.mjs'

/**
 * The chat of one member, as a job: shows received entries and sends typed texts. The channels outlive their
 * sockets. Texts that are typed without a connection are sent once, and in order, over the next connection.
 *
 * @param {object} setup
 * @param {() => any} setup.open opens the next endpoint, such as a WebSocket
 * @param {string} setup.name
 * @param {import('../../sync.mjs').Channel} setup.typed texts to send
 * @param {(entry: import('./hub.mjs').Entry) => void} setup.show
 * @param {import('../../addons/connect.mjs').SessionOptions} [setup.options] options of `connect`
 * @returns {Generator<any, void, any>} fails if the hub no longer knows this member
 */
export function* converse({ open, name, typed, show, options }) {
  const say = connect(open, 'say', options)
  const hear = connect(open, 'hear', options)
  yield say.send({ name })
  yield par(() => hear.forEach(show), () => typed.forEach(text => say.send({ text })))
}
