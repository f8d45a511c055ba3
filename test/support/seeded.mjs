/** Random numbers that a seed repeats on every machine, and a loop that prints the seed of a failure. */

/**
 * The generator sfc32 of PractRand by Chris Doty-Humphrey, public domain.
 *
 * @param {number} seed
 */
export function seeded(seed) {
  let a = 0x9e3779b9
  let b = 0x243f6a88
  let c = seed | 0
  let counter = 1

  /** @returns {number} an integer from 0 to 2^32 - 1 */
  function bits() {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum | 0
    return sum >>> 0
  }

  // Neighbouring seeds give similar numbers until the state is mixed.
  for (let i = 0; i < 12; i++) bits()

  const random = {
    seed,
    bits,

    /** Returns a number in [low, high). */
    real(low = 0, high = 1) {
      return low + (high - low) * (bits() / 4294967296)
    },

    /** Returns an integer from low to high, both included. @param {number} low @param {number} high */
    integer(low, high) {
      return low + Math.floor(random.real() * (high - low + 1))
    },

    /** Returns `true` with this probability. @param {number} probability */
    chance(probability) {
      return random.real() < probability
    },

    /** @template T @param {readonly T[]} list @returns {T} */
    pick(list) {
      if (!list.length) throw new RangeError('list must not be empty')
      return list[random.integer(0, list.length - 1)]
    },

    /**
     * Returns one of the keys, with a probability by weight.
     * @template {string} K
     * @param {Record<K, number>} weights
     * @returns {K}
     */
    weighted(weights) {
      const keys = /** @type {K[]} */ (Object.keys(weights))
      let rest = random.real(0, keys.reduce((sum, key) => sum + weights[key], 0))
      for (const key of keys) if ((rest -= weights[key]) < 0) return key
      return keys[keys.length - 1]
    },

    /** Returns a shuffled copy. @template T @param {readonly T[]} list @returns {T[]} */
    shuffle(list) {
      const copy = [...list]
      for (let i = copy.length - 1; i > 0; i--) {
        const j = random.integer(0, i)
        const swapped = copy[i]
        copy[i] = copy[j]
        copy[j] = swapped
      }
      return copy
    }
  }

  return random
}

/** @typedef {ReturnType<typeof seeded>} Random */

/** The environment variables; pages get them as parameters of the URL. */
const environment = () => globalThis.process?.env ?? Object.fromEntries(new URL(location.href).searchParams)

/**
 * Calls `fn` with generators of the seeds 1..count. Set SEED in the environment to run a single seed. Set
 * SEEDS to run other seeds: `10000`, `5001-10000`. A failure names its seed.
 *
 * @param {number} count
 * @param {(random: Random) => void | Promise<void>} fn
 */
export async function forSeeds(count, fn) {
  const { SEED, SEEDS } = environment()
  const [last, first = 1] = SEED ? [Number(SEED), Number(SEED)]
    : SEEDS ? SEEDS.split('-').map(Number).reverse() : [count]
  for (let seed = first; seed <= last; seed++) {
    try {
      await fn(seeded(seed))
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error))
      failure.message = `seed ${seed} (SEED=${seed} repeats it): ${failure.message}`
      throw failure
    }
  }
}

/**
 * Utilizations of `count` tasks that sum to `total`, uniform over all such sums: UUniFast of Bini and
 * Buttazzo (2005).
 * @param {Random} random
 * @param {number} count
 * @param {number} total
 */
export function utilizations(random, count, total) {
  const parts = []
  let rest = total
  for (let i = count - 1; i > 0; i--) {
    const next = rest * random.real() ** (1 / i)
    parts.push(rest - next)
    rest = next
  }
  parts.push(rest)
  return parts
}
