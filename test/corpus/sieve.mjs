function sieve(limit) {
  var composite = new Uint8Array(limit + 1);
  var primes = [];
  for (var i = 2; i <= limit; i++) {
    if (composite[i])
      continue;
    primes.push(i);
    for (var j = i * i; j <= limit; j += i)
      composite[j] = 1;
  }
  return primes;
}

export default {
  name: 'sieve of Eratosthenes',
  kind: 'loop',
  fn: sieve,
  inputs: size => [size],
  sizes: [0, 1, 2, 30, 1000],
  benchSize: 1_000_000
}
