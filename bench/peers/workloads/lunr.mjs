import lunr from 'lunr'
import { digest, outcome, prose } from './inputs.mjs'

export const sizes = { small: 3, full: 500 }

export function main(size) {
  const index = lunr(function () {
    this.ref('id')
    this.field('title', { boost: 10 })
    this.field('body')
    this.metadataWhitelist = ['position']
    for (let id = 0; id < size; id++) this.add({ id, title: prose(3, id + 1), body: prose(40, id + 9) })
  })
  const results = ['scheduler', '+budget -alarm', 'prior*', 'scheduller~1', 'title:deadline^5 clock'].map(query =>
    digest(index.search(query).map(({ ref, score }) => [ref, score.toFixed(6)]))
  )
  return [
    results,
    digest(index.toJSON()),
    lunr.Index.load(JSON.parse(JSON.stringify(index))).search('clock').length,
    outcome(() => index.search('none:x')),
    lunr.stemmer(new lunr.Token('preemptions')).toString()
  ]
}
