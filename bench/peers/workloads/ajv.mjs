import Ajv from 'ajv'
import { digest, outcome, records } from './inputs.mjs'

export const sizes = { small: 1, full: 20 }

export function main(size) {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, coerceTypes: true, logger: false })
  ajv.addKeyword({ keyword: 'even', type: 'number', validate: (schema, value) => !schema || value % 2 === 0 })
  ajv.addFormat('zip', /^\d{5}$/)
  const schema = id => ({
    $id: `s${id}`,
    type: 'object',
    required: ['id', 'name', 'missing'],
    properties: {
      id: { type: 'integer', minimum: 0 },
      name: { type: 'string', maxLength: 14 },
      age: { even: true },
      score: { type: 'number', multipleOf: 0.5 },
      tags: { type: 'array', uniqueItems: true, items: { enum: ['a', 'b'] } },
      address: {
        type: 'object',
        properties: { zip: { type: 'string', format: 'zip' }, city: { $ref: '#/definitions/city' } },
        additionalProperties: false
      },
      active: { anyOf: [{ const: true }, { type: 'null' }] },
      extra: { default: id }
    },
    definitions: { city: { pattern: '^[PR]' } },
    if: { properties: { age: { minimum: 50 } } },
    then: { required: ['address'] }
  })
  const results = []
  for (let i = 0; i < size; i++) {
    const validate = ajv.compile(schema(i))
    for (const record of records(20, i + 1))
      results.push(validate(record) || validate.errors.map(e => `${e.instancePath} ${e.message}`), record.extra)
  }
  return [digest(results), outcome(() => ajv.compile({ type: 'wrong' })), outcome(() => ajv.compile({ $ref: 'none' }))]
}
