/** The 200,000 items of the list: file names that all differ. */

const words = text => text.split(' ')
const packages = words('admin api app billing catalog chat core docs editor forms ' +
  'graphs login mail maps media search shop sync team web')
const areas = words('account avatar basket calendar chart client comment contact export filter ' +
  'grid import invoice layout menu message order page product report search setting table theme user')
const nouns = words('action axis badge bar button cache card cell column count cursor date dialog error ' +
  'field file footer form group header icon image index input item label line link list note ' +
  'option panel query range row scroll shadow tab table title')
const kinds = words('events hooks index model state store style tests types view')

export const items = packages.flatMap(name => areas.flatMap(area => nouns.flatMap(noun =>
  kinds.map(kind => `${name}/${area}/${noun}-${kind}.ts`))))

/** The text of each round. All texts begin differently, so a field never shows a part of another text. */
export const texts = ['usertable', 'chartaxis', 'menuindex', 'searchrow', 'filterbar']
