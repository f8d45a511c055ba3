import Decimal from 'decimal.js'

export const inputs = (name, which) => which ? ['2.5', 3, '0.75'] : ['1.25', 7, '12.5']

export const calls = {
  sqrt: ([x, y, z]) => [x, y, z].map(value => new Decimal(value).sqrt().toString()),
  exp: ([x]) => new Decimal(x).exp().toString(),
  ln: ([x, y]) => `${Decimal.ln(x)} ${new Decimal(y).log(3)}`,
  sin: ([x]) => Decimal.sin(x).toFixed(12),
  divide: ([x, y, z]) => new Decimal(x).div(y).plus(z).times(1.01).toString(),
  text: ([x, y, z]) => [x, y, z].map(value => new Decimal(value).toBinary())
}
