import sjcl from 'sjcl'
import { outcome, prose } from './inputs.mjs'

export const sizes = { small: 5, full: 80000 }

export function main(size) {
  const bits = sjcl.codec.utf8String.toBits(prose(size))
  const key = sjcl.codec.hex.toBits('000102030405060708090a0b0c0d0e0f')
  const aes = new sjcl.cipher.aes(key)
  const sealed = sjcl.mode.ccm.encrypt(aes, bits, key, [], 64)
  return [
    sjcl.codec.hex.fromBits(sjcl.hash.sha256.hash(bits)),
    sjcl.bitArray.equal(sjcl.mode.ccm.decrypt(aes, sealed, key, [], 64), bits),
    sjcl.codec.base64.fromBits(sealed).slice(-40),
    sjcl.codec.hex.fromBits(sjcl.misc.pbkdf2('password', 'salt', size > 100 ? 500 : 2, 128)),
    outcome(() => sjcl.mode.ccm.decrypt(aes, [1, 2, 3, 4], key)),
    sjcl.codec.hex.fromBits(sjcl.mode.ocb2.encrypt(aes, bits.slice(0, 40), key))
  ]
}
