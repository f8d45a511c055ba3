import forge from 'node-forge'
import { outcome, prose } from './inputs.mjs'

export const sizes = { small: 5, full: 100000 }

export function main(size) {
  const text = forge.util.encodeUtf8(prose(size))
  const cipher = forge.cipher.createCipher('AES-CBC', 'sixteen byte key')
  cipher.start({ iv: '0123456789abcdef' })
  cipher.update(forge.util.createBuffer(text))
  cipher.finish()
  const hashes = ['md5', 'sha1', 'sha256', 'sha512'].map(name => forge.md[name].create().update(text).digest().toHex())
  const asn1 = forge.asn1.create(forge.asn1.Class.UNIVERSAL, forge.asn1.Type.SEQUENCE, true, [
    forge.asn1.create(forge.asn1.Class.UNIVERSAL, forge.asn1.Type.INTEGER, false, forge.asn1.integerToDer(5).getBytes())
  ])
  const random = new forge.jsbn.BigInteger('123456789012345678901234567890', 10)
  return [
    hashes,
    cipher.output.toHex().slice(-64),
    forge.util.encode64(forge.asn1.toDer(asn1).getBytes()),
    random
      .modPow(new forge.jsbn.BigInteger('65537'), new forge.jsbn.BigInteger('1000000000000000000000007'))
      .toString(),
    forge.util.bytesToHex(forge.pkcs5.pbkdf2('password', 'salt', size > 100 ? 500 : 2, 16)),
    outcome(() => forge.asn1.fromDer('x'))
  ]
}
