import {
  buildSchema,
  execute,
  graphqlSync,
  introspectionFromSchema,
  parse,
  print,
  printSchema,
  validate,
  visit
} from 'graphql'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 2, full: 3000 }

export function main(size) {
  const schema = buildSchema(`
    enum City { Paris Rome Oslo }
    interface Node { id: ID! }
    type Address { city: City, zip: String }
    type Person implements Node { id: ID!, name: String!, age: Int, tags(first: Int = 2): [String!]!, address: Address, friend: Person }
    type Query { people(limit: Int, active: Boolean): [Person], person(id: ID!): Person }`)
  const list = records(size).map((record, i, all) => ({
    ...record,
    tags: ({ first }) => record.tags.slice(0, first),
    friend: () => ({ ...all[(i * 7 + 1) % all.length], tags: [] })
  }))
  const rootValue = {
    people: ({ limit, active }) => list.filter(r => active === undefined || r.active === active).slice(0, limit),
    person: ({ id }) => {
      throw new Error(`no ${id}`)
    }
  }
  const query = `query Q($active: Boolean, $skip: Boolean = false) { people(limit: ${size}, active: $active) { ...F
    friend { name friend { ...F @skip(if: $skip) } } }
    person(id: "x") { id } } fragment F on Person { id name tags(first: 1) address { city zip } __typename }`
  const document = parse(query)
  const names = []
  visit(document, {
    Field: {
      enter({ name }) {
        names.push(name.value)
      }
    }
  })
  return [
    digest(execute({ schema, document, rootValue, variableValues: { active: true } })),
    digest(graphqlSync({ schema, source: query, rootValue })),
    validate(schema, parse('{ people { none } nobody { id } }')).map(e => e.message),
    digest(print(document)),
    names,
    digest(printSchema(schema)),
    digest(introspectionFromSchema(schema)),
    graphqlSync({ schema, source: '{ people(' }).errors.map(String)
  ]
}
