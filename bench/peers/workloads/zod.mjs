import { z } from 'zod'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 3, full: 4000 }

export function main(size) {
  z.config({ jitless: true })
  const schema = z
    .object({
      id: z.number().int(),
      name: z
        .string()
        .min(5)
        .transform(name => name.toUpperCase()),
      age: z.coerce.number().refine(age => age < 95, 'too old'),
      score: z.number(),
      tags: z.array(z.enum(['a', 'b', 'c'])).default([]),
      address: z.object({ city: z.string(), zip: z.string().regex(/^\d{5}$/) }).optional(),
      active: z.union([z.boolean(), z.literal('yes')])
    })
    .superRefine((record, context) => {
      if (record.score > 99) context.addIssue({ code: 'custom', message: 'score', path: ['score'] })
    })
  const outcomes = records(size).map(record => {
    const { success, data, error } = schema.safeParse(record)
    return success ? data : error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  })
  const tree = z.object({
    value: z.number(),
    get children() {
      return z.array(tree)
    }
  })
  const nested = depth => ({ value: depth, children: depth > 0 ? [nested(depth - 1), nested(depth - 1)] : [] })
  return [
    digest(outcomes),
    tree.safeParse(nested(size > 100 ? 9 : 2)).success,
    z.toJSONSchema(z.object({ a: z.string().optional(), b: z.tuple([z.number(), z.null()]) })),
    z.record(z.string(), z.discriminatedUnion('k', [z.object({ k: z.literal(1) })])).safeParse({ a: { k: 2 } }).success
  ]
}
