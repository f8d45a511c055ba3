// A function of nested loops over small arrays: permutations by rotation, and pancake flips.

export function main(n) {
  var perm = [], perm1 = [], count = []
  var flips = 0, checksum = 0, permutations = 0, r = n
  for (var i = 0; i < n; i++) perm1[i] = i
  while (true) {
    while (r !== 1) {
      count[r - 1] = r
      r--
    }
    for (var j = 0; j < n; j++) perm[j] = perm1[j]
    var flipsHere = 0
    var k
    while ((k = perm[0]) !== 0) {
      var half = (k + 1) >> 1
      for (var m = 0; m < half; m++) {
        var swapped = perm[m]
        perm[m] = perm[k - m]
        perm[k - m] = swapped
      }
      flipsHere++
    }
    if (flipsHere > flips) flips = flipsHere
    checksum += permutations % 2 === 0 ? flipsHere : -flipsHere
    while (true) {
      if (r === n) return [checksum, flips]
      var first = perm1[0]
      for (var p = 0; p < r; p++) perm1[p] = perm1[p + 1]
      perm1[r] = first
      count[r]--
      if (count[r] > 0) break
      r++
    }
    permutations++
  }
}

export const sizes = { small: 5, full: 10 }
