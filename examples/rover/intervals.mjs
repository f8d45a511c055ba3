/** The times between consecutive actuations, and what they amount to. */
export class Intervals {
  /** The last ones, ms. @type {number[]} */
  recent = []
  count = 0
  min = Infinity
  max = 0
  #sum = 0
  #sumOfSquares = 0
  #last = NaN

  /** An actuation. @param {number} time ms */
  add(time) {
    const ms = time - this.#last
    this.#last = time
    if (Number.isNaN(ms)) return
    this.count++
    this.#sum += ms
    this.#sumOfSquares += ms * ms
    this.min = Math.min(this.min, ms)
    this.max = Math.max(this.max, ms)
    this.recent.push(ms)
    // In pieces, as each shift moves all the others.
    if (this.recent.length >= 400) this.recent.splice(0, 200)
  }

  /** The next actuation is the first again. */
  interrupt() {
    this.#last = NaN
  }

  get mean() {
    return this.#sum / this.count
  }

  /** Standard deviation. */
  get deviation() {
    return Math.sqrt(Math.max(0, this.#sumOfSquares / this.count - this.mean ** 2))
  }
}
