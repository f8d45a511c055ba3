import { Chess } from 'chess.js'
import { digest, outcome, seeded } from './inputs.mjs'

export const sizes = { small: 2, full: 60 }

function perft(chess, depth) {
  if (depth === 0) return 1
  let count = 0
  for (const move of chess.moves({ verbose: true })) {
    chess.move(move)
    count += perft(chess, depth - 1)
    chess.undo()
  }
  return count
}

export function main(size) {
  const random = seeded(3)
  const chess = new Chess()
  for (let i = 0; i < size && !chess.isGameOver(); i++) chess.move(random.pick(chess.moves()))
  const again = new Chess()
  again.loadPgn(chess.pgn())
  return [
    chess.fen(),
    again.fen(),
    digest(chess.pgn()),
    chess.history().length,
    perft(new Chess('r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1'), size < 10 ? 0 : 2),
    outcome(() => chess.move('Zz9')),
    outcome(() => new Chess('bad fen')),
    chess.ascii(),
    chess.attackers('e4'),
    chess.isCheck()
  ]
}
