import { minify } from 'terser'
import { digest, javascript } from './inputs.mjs'

export const sizes = { small: 1, full: 15 }

export async function main(size) {
  const text = javascript(size)
  const whole = await minify(text, { module: true, compress: { passes: 2 }, mangle: { toplevel: true } })
  const pretty = await minify(text, {
    module: true,
    compress: false,
    mangle: false,
    format: { beautify: true, comments: 'all' }
  })
  const failed = await minify('let let').catch(error => `${error.name} ${error.message} ${error.line}`)
  return [digest(whole.code), digest(pretty.code), failed]
}
