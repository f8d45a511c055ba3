import { Chess } from 'chess.js'

export const inputs = (name, which) => which ? ['d4', 'd5'] : ['e4', 'e5']

export const calls = {
  moves(list) {
    const game = new Chess()
    for (const move of list) game.move(move)
    return game.moves().join()
  },
  fen: list => {
    const game = new Chess()
    game.move(list[0])
    return game.fen()
  },
  ascii: list => new Chess().ascii() + list[0]
}
