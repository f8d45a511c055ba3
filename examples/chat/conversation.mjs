import { sleep } from '../../alarms.mjs'
import { ChannelError, choice, connect } from '../../sync.mjs'

/**
 * One side of the chat, as a job: shows what is heard and says what is typed, and when the connection is lost
 * opens another one. What was typed and not received stays, and is said then.
 *
 * @param {object} setup
 * @param {() => any} setup.open a new endpoint, such as a WebSocket
 * @param {string} setup.name
 * @param {import('../../sync.mjs').Channel} setup.typed texts to say
 * @param {(entry: import('./hub.mjs').Entry) => void} setup.show
 * @param {(state: { isOnline: boolean, unsaid: number }) => void} setup.status called when it changes
 * @param {number} [setup.pause] ms before it tries again
 * @returns {Generator<any, void, any>}
 */
export function* converse({ open, name, typed, show, status, pause = 1000 }) {
  /** @type {string[]} */
  const unsaid = []
  /** The latest that was shown; after a new connection the hub begins with older ones. */
  let latest = -Infinity
  for (;;) {
    try {
      const endpoint = open()
      const say = connect(endpoint, 'say')
      const hear = connect(endpoint, 'hear')
      yield say.send({ name })
      for (;;) {
        status({ isOnline: true, unsaid: unsaid.length })
        yield choice([
          {
            receive: hear,
            action(entry) {
              if (entry.number <= latest) return
              latest = entry.number
              show(entry)
            }
          },
          { receive: typed, action: text => unsaid.push(text) },
          { send: say, value: { text: unsaid[0] }, when: unsaid.length > 0, action: () => unsaid.shift() }
        ])
      }
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error
    }
    status({ isOnline: false, unsaid: unsaid.length })
    yield sleep(pause)
  }
}
