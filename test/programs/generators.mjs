// Generators that delegate to generators: permutations, a sudoku solver, an async pipeline of results.

function* permutations(list, n = list.length) {
  if (n <= 1) yield list.slice()
  else {
    for (let i = 0; i < n; i++) {
      yield* permutations(list, n - 1)
      const j = n % 2 ? 0 : i
      ;[list[n - 1], list[j]] = [list[j], list[n - 1]]
    }
  }
}

function* take(count, iterable) {
  if (count <= 0) return
  for (const value of iterable) {
    yield value
    if (--count <= 0) return
  }
}

function* filter(iterable, accept) {
  for (const value of iterable) if (accept(value)) yield value
}

class Sudoku {
  constructor(text) {
    this.cells = [...text].map(Number)
  }

  *candidates(at) {
    const row = Math.floor(at / 9), column = at % 9
    const taken = new Set()
    for (let i = 0; i < 9; i++) {
      taken.add(this.cells[row * 9 + i])
      taken.add(this.cells[i * 9 + column])
      taken.add(this.cells[(row - row % 3 + Math.floor(i / 3)) * 9 + column - column % 3 + i % 3])
    }
    for (let digit = 1; digit <= 9; digit++) if (!taken.has(digit)) yield digit
  }

  *solutions() {
    let best = -1
    let choices
    for (const [at, cell] of this.cells.entries()) {
      if (cell !== 0) continue
      const here = [...this.candidates(at)]
      if (best < 0 || here.length < choices.length) {
        best = at
        choices = here
      }
    }
    if (best < 0) {
      yield this.cells.join('')
      return
    }
    for (const digit of choices) {
      this.cells[best] = digit
      yield* this.solutions()
    }
    this.cells[best] = 0
  }
}

async function* delayed(iterable) {
  for (const value of iterable) yield await value
}

export async function main(size) {
  const even = filter(permutations([1, 2, 3, 4, 5, 6, 7, 8].slice(0, Math.min(8, size))), ([a]) => a % 2 === 0)
  let sum = 0
  for (const [a, b, c] of even) sum = sum * 31 + a + b * 3 + (c ?? 0) * 7 | 0
  const puzzle = '530070000600195000098000060800060003400803001700020006060000280000419005000080079'
  const solved = size < 5 ? [] : [...take(2, new Sudoku(puzzle).solutions())]
  const many = size < 8 ? [] : [...take(size * 4, new Sudoku('1' + '0'.repeat(80)).solutions())]
  let joined = ''
  for await (const list of delayed(take(size, permutations([...'abcdef'])))) joined += list.join('')
  return [sum, solved, many, joined]
}

export const sizes = { small: 3, full: 120 }
