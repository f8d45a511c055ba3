// A tree that reorders itself at each access: pointer chasing and allocation, closures for its traversal.

function SplayTree() {
  this.root = null
}

SplayTree.prototype.splay = function (key) {
  if (this.root === null) return
  var dummy = { key: 0, value: null, left: null, right: null }
  var left = dummy, right = dummy, current = this.root, rotated
  while (true) {
    if (key < current.key) {
      if (current.left === null) break
      if (key < current.left.key) {
        rotated = current.left
        current.left = rotated.right
        rotated.right = current
        current = rotated
        if (current.left === null) break
      }
      right.left = current
      right = current
      current = current.left
    } else if (key > current.key) {
      if (current.right === null) break
      if (key > current.right.key) {
        rotated = current.right
        current.right = rotated.left
        rotated.left = current
        current = rotated
        if (current.right === null) break
      }
      left.right = current
      left = current
      current = current.right
    } else break
  }
  left.right = current.left
  right.left = current.right
  current.left = dummy.right
  current.right = dummy.left
  this.root = current
}

SplayTree.prototype.insert = function (key, value) {
  var node = { key: key, value: value, left: null, right: null }
  if (this.root === null) {
    this.root = node
    return
  }
  this.splay(key)
  if (this.root.key === key) return
  if (key > this.root.key) {
    node.left = this.root
    node.right = this.root.right
    this.root.right = null
  } else {
    node.right = this.root
    node.left = this.root.left
    this.root.left = null
  }
  this.root = node
}

SplayTree.prototype.remove = function (key) {
  this.splay(key)
  if (this.root.key !== key) throw new Error('Key not found: ' + key)
  var removed = this.root
  if (removed.left === null) this.root = removed.right
  else {
    var right = removed.right
    this.root = removed.left
    this.splay(key)
    this.root.right = right
  }
  return removed
}

SplayTree.prototype.findGreatestLessThan = function (key) {
  if (this.root === null) return null
  this.splay(key)
  if (this.root.key < key) return this.root
  var node = this.root.left
  while (node !== null && node.right !== null) node = node.right
  return node
}

SplayTree.prototype.traverse = function (visit) {
  var nodes = [this.root]
  while (nodes.length > 0) {
    var node = nodes.pop()
    if (node === null) continue
    visit(node)
    nodes.push(node.right, node.left)
  }
}

function payload(depth, tag) {
  if (depth === 0) return { array: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], string: 'String for key ' + tag + ' in leaf node' }
  return { left: payload(depth - 1, tag), right: payload(depth - 1, tag) }
}

export function main(size) {
  var tree = new SplayTree()
  var state = 49734321
  function random() {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 4294967296
  }
  function insertNew() {
    var key = random()
    tree.insert(key, payload(size > 100 ? 4 : 1, key))
    return key
  }
  for (var i = 0; i < size; i++) insertNew()
  for (var k = 0; k < size * 4; k++) {
    var key = insertNew()
    var greatest = tree.findGreatestLessThan(key)
    tree.remove(greatest === null ? key : greatest.key)
  }
  var keys = []
  tree.traverse(function (node) {
    keys.push(node.key)
  })
  var message
  try {
    tree.remove(2)
  } catch (error) {
    message = error.message
  }
  return [keys.length, keys.slice(0, 10), keys.reduce(function (a, b) { return a + b }, 0), message]
}

export const sizes = { small: 10, full: 6000 }
