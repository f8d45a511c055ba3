import { Channel } from '../../../sync.mjs'

const ROOT = 'rt.mjs/farm/'

/**
 * @param {any} mqtt the package of this name
 * @param {string} url address of the broker: mqtt://... from Node, ws://... from pages
 * @returns {import('../share.mjs').Bus & { end(): void }}
 */
export function openBus(mqtt, url) {
  const member = Math.random().toString(36).slice(2)
  const will = { topic: `${ROOT}gone/${member}`, payload: 'gone', qos: 1, retain: false }
  const client = mqtt.connect(url, { clientId: member, will, keepalive: 5, reconnectPeriod: 500 })
  /** @type {import('../share.mjs').Bus['messages']} */
  const messages = new Channel(Infinity)
  // Subscribe again on each connection: the broker then sends its retained messages.
  client.on('connect', () => client.subscribe([`${ROOT}#`], { qos: 1 }))
  client.on('message', (/** @type {string} */ topic, /** @type {Uint8Array} */ value) => {
    messages.offer({ topic: topic.slice(ROOT.length), value })
  })
  client.on('error', () => {})
  return {
    member,
    messages,
    publish: (topic, value, keeps) => client.publish(ROOT + topic, /** @type {any} */ (globalThis).Buffer?.from(value) ?? value,
      { qos: 1, retain: keeps }),
    end: () => client.end(true)
  }
}
