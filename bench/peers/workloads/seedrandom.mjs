import seedrandom from 'seedrandom'
import alea from 'seedrandom/lib/alea.js'
import xor4096 from 'seedrandom/lib/xor4096.js'

export const sizes = { small: 20, full: 900000 }

export function main(size) {
  return [
    ['arc4', seedrandom('hello.', { state: true })],
    ['alea', alea('x')],
    ['xor4096', xor4096('y')]
  ].map(([name, random]) => {
    let sum = 0
    for (let i = 0; i < size; i++) sum += random()
    return [name, sum, random.int32(), random.double(), random.quick()]
  })
}
