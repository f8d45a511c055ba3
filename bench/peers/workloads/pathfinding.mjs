import PF from 'pathfinding'
import { digest, seeded } from './inputs.mjs'

export const sizes = { small: 4, full: 200 }

export function main(size) {
  const random = seeded(4)
  const matrix = Array.from({ length: size }, (_, y) =>
    Array.from({ length: size }, (_, x) => (x + y > 0 && x + y < size * 2 - 2 && random.chance(0.2) ? 1 : 0))
  )
  const grid = new PF.Grid(matrix)
  return [
    'AStarFinder',
    'BestFirstFinder',
    'BreadthFirstFinder',
    'DijkstraFinder',
    'BiAStarFinder',
    'JumpPointFinder',
    'IDAStarFinder'
  ]
    .slice(0, size > 9 ? 6 : 7)
    .map(name => {
      const path = new PF[name]({ allowDiagonal: true, heuristic: PF.Heuristic.octile }).findPath(
        0,
        0,
        size - 1,
        size - 1,
        grid.clone()
      )
      return [name, path.length, digest(path), path.length && PF.Util.smoothenPath(grid, path).length]
    })
}
