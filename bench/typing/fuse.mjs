/** A search by a library that blocks: fuse.js over 50,000 items. */
import Fuse from '../peers/node_modules/fuse.js/dist/fuse.mjs'
import { items } from './items.mjs'
import { show } from './page.mjs'

const fuse = new Fuse(items.slice(0, 50_000))

/** @param {string} text */
export function find(text) {
  const found = fuse.search(text)
  const matches = found.slice(0, 50).map(({ item }) => ({ item, start: 0, end: 0 }))
  show({ text, count: found.length, matches })
}
