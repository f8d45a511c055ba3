import { accept, connect, type ExternalChannel } from 'rt.mjs/connect'
import { is } from './equal.js'

const lines: ExternalChannel<string> = connect<string>(new Worker('worker.mjs'), 'lines')
is<number>()(lines.rejected)
lines.send('x', { transfer: [] })
// @ts-expect-error
lines.send(5)
// @ts-expect-error: made by connect()
import { ExternalChannel as Made } from 'rt.mjs/connect'; new Made()

is<void>()(accept(new WebSocket('ws://x'), session => { connect(session, 'say') }, { timeout: 5000 }))
// @ts-expect-error
connect(() => new WebSocket('ws://x'), 'lines', { timeuot: 5 })
