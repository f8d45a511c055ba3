// The page search-library.html rewrites this module and the library that it imports.
import Fuse from 'fuse.js'

const syllables = ['ba', 'ko', 'li', 'mu', 'ne', 'ra', 'so', 'ti']
const names = Array.from({ length: 20_000 }, (_, n) =>
  [0, 3, 6, 9, 12].map(shift => syllables[n >> shift & 7]).join(''))

export const fuse = new Fuse(names, { threshold: 0.3 })
