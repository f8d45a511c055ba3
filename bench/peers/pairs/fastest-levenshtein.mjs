import { closest, distance } from 'fastest-levenshtein'

export const inputs = (name, which) => which ? ['kitten, sitting on a long wooden bench', 'sitting, kitten on the wooden benches'] : ['saturday is a day', 'sunday']

export const calls = {
  distance: ([one, other]) => distance(one, other),
  closest: ([one, other]) => closest(one, [other, 'sundry', 'bench with kittens that is longer than others']),
  long: ([one, other]) => distance(one.repeat(4), other.repeat(5))
}
