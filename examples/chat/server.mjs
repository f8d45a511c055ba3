import { accept } from '../../addons/connect.mjs'
import { Hub } from './hub.mjs'
import { acceptWebSocket } from './web-socket.mjs'

/** Path of the WebSocket, as the page expects it. */
export const path = '/examples/chat/socket'

/**
 * Opens the chat room of a server.
 *
 * @returns {{
 *   upgrade(request: import('node:http').IncomingMessage, socket: import('node:stream').Duplex, head:
 *   Buffer): void, close(): void
 * }} `upgrade`: the listener of the HTTP server's event 'upgrade'; `close` ends all connections
 */
export function openChat() {
  const hub = new Hub()
  /** @type {Set<import('./web-socket.mjs').WebSocketConnection>} */
  const connections = new Set()
  return {
    upgrade(request, socket, head) {
      // Node removes its own listener at an upgrade: an unhandled 'error' event would end the process.
      socket.on('error', () => socket.destroy())
      if (request.url?.split('?', 1)[0] !== path) {
        socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
        return
      }
      const connection = acceptWebSocket(request, socket, head)
      if (connection === undefined) return
      connections.add(connection)
      connection.on('close', () => connections.delete(connection))
      accept(connection, session => hub.join(session))
    },
    close() {
      for (const connection of connections) connection.terminate()
    }
  }
}
