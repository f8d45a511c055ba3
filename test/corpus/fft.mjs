import { reals } from './inputs.mjs'

// Cooley and Tukey, in place, radix 2; the inverse is not scaled
function fft(real, imaginary, inverse = false) {
  const n = real.length;
  if (n & (n - 1)) throw new RangeError(`the length must be a power of two, got ${n}`);

  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [real[i], real[j]] = [real[j], real[i]];
      [imaginary[i], imaginary[j]] = [imaginary[j], imaginary[i]];
    }
  }

  for (let size = 2; size <= n; size <<= 1) {
    const half = size / 2;
    const angle = (inverse ? 2 : -2) * Math.PI / size;
    for (let k = 0; k < half; k++) {
      const cos = Math.cos(angle * k);
      const sin = Math.sin(angle * k);
      for (let i = k; i < n; i += size) {
        const j = i + half;
        const re = real[j] * cos - imaginary[j] * sin;
        const im = real[j] * sin + imaginary[j] * cos;
        real[j] = real[i] - re;
        imaginary[j] = imaginary[i] - im;
        real[i] += re;
        imaginary[i] += im;
      }
    }
  }
  return { real, imaginary };
}

export default {
  name: 'FFT',
  kind: 'loop',
  fn: fft,
  inputs: size => [reals(size, 1), reals(size, 2)],
  sizes: [1, 2, 8, 128, 100],
  benchSize: 65_536
}
