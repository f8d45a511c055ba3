import { blake3 } from '@noble/hashes/blake3.js'
import { pbkdf2 } from '@noble/hashes/pbkdf2.js'
import { scrypt } from '@noble/hashes/scrypt.js'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { sha3_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { outcome, prose } from './inputs.mjs'

export const sizes = { small: 5, full: 60000 }

export function main(size) {
  const bytes = utf8ToBytes(prose(size))
  return [
    ...[sha256, sha512, sha3_256, blake3].map(hash => bytesToHex(hash(bytes))),
    bytesToHex(pbkdf2(sha256, 'password', 'salt', { c: size > 100 ? 2000 : 2, dkLen: 16 })),
    bytesToHex(scrypt('password', 'salt', { N: size > 100 ? 1024 : 2, r: 4, p: 1, dkLen: 16 })),
    outcome(() => sha256('text')),
    bytesToHex(sha256.create().update(bytes).update(bytes).digest())
  ]
}
