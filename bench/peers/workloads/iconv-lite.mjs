import iconv from 'iconv-lite'
import { digest, outcome, prose } from './inputs.mjs'

export const sizes = { small: 10, full: 12000 }

const kana = 'プリエンプション、点。日本語のテキスト'
const han = '中文的文本：调度器，优先级。'
const cyrillic = 'Планировщик задач, Ёж'
const texts = {
  win1252: 'Öl, naïve, 5 €',
  'ISO-8859-15': 'Öl, œuvre, 5 €',
  koi8r: cyrillic,
  cp866: cyrillic,
  Shift_JIS: kana,
  'EUC-JP': kana,
  GBK: han,
  gb18030: `${han} 😀 ẞ`,
  Big5: '中文的文本',
  EUCKR: '한국어 텍스트',
  'utf-16': `${kana} 😀`,
  'utf-32be': `${kana} 😀`,
  'utf-7': `${cyrillic} + 😀`,
  'utf-7-imap': `${cyrillic} & 😀`,
  cesu8: `${han} 😀`
}

export function main(size) {
  const text = prose(size)
  const results = []
  for (const [encoding, own] of Object.entries(texts)) {
    const whole = `${text}${own.repeat(Math.ceil(size / 10))}`
    const bytes = iconv.encode(whole, encoding, { addBOM: encoding === 'utf-32be' })
    const decoded = iconv.decode(bytes, encoding)
    results.push(`${encoding} ${bytes.length} ${bytes.subarray(0, 40).toString('hex')} ${digest(decoded)}`)
  }
  // Chunks of 7 bytes split some two-byte characters.
  const decoder = iconv.getDecoder('Shift_JIS')
  const bytes = iconv.encode(kana.repeat(size), 'Shift_JIS')
  let pieces = ''
  for (let i = 0; i < bytes.length; i += 7) pieces += decoder.write(bytes.subarray(i, i + 7))
  pieces += decoder.end() ?? ''
  return [
    results,
    digest(pieces),
    iconv.encode('a 中 €', 'ascii').toString('latin1'),
    iconv.decode(Buffer.from('ff81fe', 'hex'), 'GBK'),
    iconv.encodingExists('ISO_8859-1:1987'),
    outcome(() => iconv.encode('a', 'none such'))
  ]
}
