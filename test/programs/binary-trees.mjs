// Recursion and allocation, after the Computer Language Benchmarks Game.

function TreeNode(left, right) {
  this.left = left
  this.right = right
}

TreeNode.prototype.itemCheck = function () {
  if (this.left === null) return 1
  return 1 + this.left.itemCheck() + this.right.itemCheck()
}

function bottomUpTree(depth) {
  if (depth === 0) return new TreeNode(null, null)
  return new TreeNode(bottomUpTree(depth - 1), bottomUpTree(depth - 1))
}

export function main(maxDepth) {
  var lines = []
  var minDepth = 4
  var longLived = bottomUpTree(maxDepth)
  for (var depth = minDepth; depth <= maxDepth; depth += 2) {
    var iterations = 1 << (maxDepth - depth + minDepth)
    var check = 0
    for (var i = 0; i < iterations; i++) check += bottomUpTree(depth).itemCheck()
    lines.push(iterations + ' trees of depth ' + depth + ' check: ' + check)
  }
  lines.push('long lived tree of depth ' + maxDepth + ' check: ' + longLived.itemCheck())
  return lines
}

export const sizes = { small: 4, full: 16 }
