// A Fourier transform as an object that keeps its tables, in the style of an audio library.

function FFT(size) {
  this.size = size
  this.real = new Float64Array(size)
  this.imag = new Float64Array(size)
  this.reverse = new Uint32Array(size)
  this.sin = new Float64Array(size)
  this.cos = new Float64Array(size)
  for (var limit = 1, bit = size >> 1; limit < size; limit <<= 1, bit >>= 1) {
    for (var i = 0; i < limit; i++) this.reverse[i + limit] = this.reverse[i] + bit
  }
  for (var k = 0; k < size; k++) {
    this.sin[k] = Math.sin(-Math.PI / k)
    this.cos[k] = Math.cos(-Math.PI / k)
  }
}

FFT.prototype.forward = function (buffer) {
  var size = this.size, cos = this.cos, sin = this.sin, reverse = this.reverse, real = this.real, imag = this.imag
  for (var i = 0; i < size; i++) {
    real[i] = buffer[reverse[i]]
    imag[i] = 0
  }
  var half = 1
  while (half < size) {
    var stepReal = cos[half], stepImag = sin[half]
    var shiftReal = 1, shiftImag = 0
    for (var step = 0; step < half; step++) {
      var at = step
      while (at < size) {
        var off = at + half
        var tr = shiftReal * real[off] - shiftImag * imag[off]
        var ti = shiftReal * imag[off] + shiftImag * real[off]
        real[off] = real[at] - tr
        imag[off] = imag[at] - ti
        real[at] += tr
        imag[at] += ti
        at += half << 1
      }
      var before = shiftReal
      shiftReal = before * stepReal - shiftImag * stepImag
      shiftImag = before * stepImag + shiftImag * stepReal
    }
    half = half << 1
  }
  return this.spectrum()
}

FFT.prototype.spectrum = function () {
  var result = new Float64Array(this.size / 2)
  for (var i = 0; i < result.length; i++) {
    result[i] = 2 * Math.sqrt(this.real[i] * this.real[i] + this.imag[i] * this.imag[i]) / this.size
  }
  return result
}

export function main(rounds) {
  var size = rounds < 10 ? 64 : 2048
  var fft = new FFT(size)
  var buffer = new Float64Array(size)
  for (var i = 0; i < size; i++) buffer[i] = Math.sin(i * 0.3) + (i % 20 < 10 ? 0.5 : -0.5)
  var spectrum
  for (var round = 0; round < rounds; round++) spectrum = fft.forward(buffer)
  return Array.from(spectrum)
}

export const sizes = { small: 2, full: 1500 }
