import CryptoJS from 'crypto-js'
import { prose } from './inputs.mjs'

export const sizes = { small: 5, full: 12000 }

export function main(size) {
  const text = prose(size)
  const key = CryptoJS.enc.Hex.parse('000102030405060708090a0b0c0d0e0f')
  const encrypted = CryptoJS.AES.encrypt(text, key, { iv: key, mode: CryptoJS.mode.CTR })
  const des = CryptoJS.TripleDES.encrypt(text.slice(0, 500), key, { iv: key })
  return [
    ...['MD5', 'SHA1', 'SHA256', 'SHA512', 'SHA3', 'RIPEMD160'].map(name => CryptoJS[name](text).toString()),
    CryptoJS.HmacSHA256(text, 'key').toString(CryptoJS.enc.Base64),
    CryptoJS.AES.decrypt(encrypted, key, { iv: key, mode: CryptoJS.mode.CTR }).toString(CryptoJS.enc.Utf8) === text,
    des.toString(),
    CryptoJS.PBKDF2('password', 'salt', { keySize: 4, iterations: size > 100 ? 300 : 2 }).toString()
  ]
}
