// A path search over a grid of objects, with an array as its open list and callbacks throughout.

function Grid(width, height, seed) {
  this.cells = []
  var state = seed
  for (var y = 0; y < height; y++) {
    var row = []
    for (var x = 0; x < width; x++) {
      state = (state * 1103515245 + 12345) & 0x7fffffff
      row.push({ x: x, y: y, wall: state % 100 < 25, g: 0, h: 0, f: 0, parent: null, open: false, closed: false })
    }
    this.cells.push(row)
  }
  this.cells[0][0].wall = false
  this.cells[height - 1][width - 1].wall = false
}

Grid.prototype.neighbours = function (node) {
  var cells = this.cells
  return [[-1, 0], [1, 0], [0, -1], [0, 1]].map(function (d) {
    var row = cells[node.y + d[1]]
    return row && row[node.x + d[0]]
  }).filter(function (cell) {
    return cell !== undefined && !cell.wall
  })
}

function lowest(list) {
  var best = 0
  list.forEach(function (node, i) {
    if (node.f < list[best].f) best = i
  })
  return best
}

function search(grid, start, end, distance) {
  var open = [start]
  var visited = 0
  start.open = true
  while (open.length > 0) {
    var at = lowest(open)
    var current = open[at]
    if (current === end) {
      var path = []
      for (; current.parent; current = current.parent) path.push(current)
      return { path: path.reverse(), visited: visited }
    }
    open.splice(at, 1)
    current.open = false
    current.closed = true
    visited++
    grid.neighbours(current).forEach(function (next) {
      if (next.closed) return
      var g = current.g + 1
      if (next.open && g >= next.g) return
      if (!next.open) open.push(next)
      next.open = true
      next.parent = current
      next.g = g
      next.h = distance(next, end)
      next.f = next.g + next.h
    })
  }
  return { path: [], visited: visited }
}

export function main(size) {
  var results = []
  for (var seed = 1; seed <= 8; seed++) {
    var grid = new Grid(size, size, seed)
    var found = search(grid, grid.cells[0][0], grid.cells[size - 1][size - 1], function (a, b) {
      return Math.abs(a.x - b.x) + Math.abs(a.y - b.y)
    })
    results.push([found.visited, found.path.length, found.path.map(function (node) {
      return node.x + ',' + node.y
    }).join(' ')])
  }
  return results
}

export const sizes = { small: 8, full: 150 }
