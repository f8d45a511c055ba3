// RSA with numbers of 14-bit digits in arrays: carries, long division, modular powers.

var DIGIT = 14, BASE = 1 << DIGIT, MASK = BASE - 1

function trim(a) {
  while (a.length > 1 && a[a.length - 1] === 0) a.pop()
  return a
}

function fromNumber(n) {
  var a = []
  do {
    a.push(n & MASK)
    n = Math.floor(n / BASE)
  } while (n > 0)
  return a
}

function compare(a, b) {
  if (a.length !== b.length) return a.length - b.length
  var i = a.length - 1
  while (i >= 0 && a[i] === b[i]) i--
  return i < 0 ? 0 : a[i] - b[i]
}

function add(a, b) {
  var result = [], carry = 0
  for (var i = 0; i < a.length || i < b.length || carry > 0; i++) {
    carry += (a[i] || 0) + (b[i] || 0)
    result.push(carry & MASK)
    carry >>= DIGIT
  }
  return trim(result.length ? result : [0])
}

function subtract(a, b) {
  var result = [], borrow = 0
  for (var i = 0; i < a.length; i++) {
    var d = a[i] - (b[i] || 0) - borrow
    borrow = d < 0 ? 1 : 0
    result.push(d + borrow * BASE)
  }
  return trim(result)
}

function multiply(a, b) {
  var result = new Array(a.length + b.length)
  for (var k = 0; k < result.length; k++) result[k] = 0
  for (var i = 0; i < a.length; i++) {
    var carry = 0
    for (var j = 0; j < b.length; j++) {
      var t = result[i + j] + a[i] * b[j] + carry
      result[i + j] = t & MASK
      carry = t >>> DIGIT
    }
    result[i + b.length] = carry
  }
  return trim(result)
}

function remainder(a, b) {
  if (compare(a, b) < 0) return a
  var rest = [0]
  for (var i = a.length - 1; i >= 0; i--) {
    rest = rest.length === 1 && rest[0] === 0 ? [a[i]] : [a[i]].concat(rest)
    var low = 0, high = BASE - 1
    while (low < high) {
      var middle = (low + high + 1) >> 1
      if (compare(multiply(b, [middle]), rest) <= 0) low = middle
      else high = middle - 1
    }
    if (low > 0) rest = subtract(rest, multiply(b, [low]))
  }
  return rest
}

function power(base, exponent, modulus) {
  var result = [1]
  var square = remainder(base, modulus)
  for (var i = 0; i < exponent.length; i++) {
    for (var bit = 0; bit < DIGIT; bit++) {
      if (exponent[i] >> bit & 1) result = remainder(multiply(result, square), modulus)
      square = remainder(multiply(square, square), modulus)
    }
  }
  return result
}

function isProbablyPrime(n) {
  var one = [1]
  var below = subtract(n, one)
  return [2, 3, 5].every(function (base) {
    return compare(power([base], below, n), one) === 0
  })
}

function randomNumber(digits, seed) {
  var a = []
  for (var i = 0; i < digits; i++) {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    a.push(seed >> 8 & MASK)
  }
  a[0] |= 1
  a[digits - 1] |= 1 << DIGIT - 1
  return a
}

export function main(digits) {
  var candidates = []
  for (var seed = 1; seed <= 12; seed++) {
    var n = randomNumber(digits, seed)
    candidates.push([n.join('.'), isProbablyPrime(n)])
  }
  var modulus = multiply(fromNumber(1000003), fromNumber(998244353))
  var message = fromNumber(123456789)
  var secret = power(message, fromNumber(65537), modulus)
  return [candidates, secret, add(secret, modulus)]
}

export const sizes = { small: 1, full: 11 }
