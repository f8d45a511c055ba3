// The page table.html rewrites this plain module, so that filter, sort and their callbacks are
// preemptible.
const cities = ['Aachen', 'Berlin', 'Bremen', 'Dresden', 'Erfurt', 'Hamburg', 'Kiel', 'Ulm']

const rows = Array.from({ length: 100_000 }, (_, id) =>
  ({ id, city: `${cities[id % 8]} ${id % 997}`, price: id * 7919 % 10_007 / 100 }))

/**
 * @param {string} text
 * @param {'id' | 'city' | 'price'} key
 */
export function select(text, key) {
  return rows.filter(row => row.city.includes(text))
    .sort((a, b) => a[key] < b[key] ? -1 : Number(a[key] > b[key]))
}
