import Fuse from 'fuse.js'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 4, full: 2500 }

export function main(size) {
  const fuse = new Fuse(records(size), {
    keys: ['name', { name: 'address.city', weight: 2 }, 'tags'],
    includeScore: true,
    includeMatches: true,
    threshold: 0.4,
    useExtendedSearch: true
  })
  return ['Adda', 'grace hop', 'paris', "'Tony | ^Bar", '!Rome', 'Jorg'].map(query => {
    const found = fuse.search(query, { limit: 50 })
    return [
      query,
      found.length,
      digest(found.map(({ refIndex, score, matches }) => [refIndex, score.toFixed(6), matches.length]))
    ]
  })
}
