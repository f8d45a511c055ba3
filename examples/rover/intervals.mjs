/** The times between consecutive actuations, and their statistics. */
export class Intervals {
  /** The latest times, ms. @type {number[]} */
  recent = []
  count = 0
  min = Infinity
  max = 0
  #sum = 0
  #sumOfSquares = 0
  #last = NaN

  /** Adds an actuation. @param {number} time ms */
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
    // Remove many at once: each shift() would move all other items.
    if (this.recent.length >= 400) this.recent.splice(0, 200)
  }

  /** Ends the series: the next actuation starts a new one. */
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
