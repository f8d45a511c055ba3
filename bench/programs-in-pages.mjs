import { callIn, eachBrowser, kinds } from './support-browsers.mjs'
import { programs } from './support-programs.mjs'
import { heading, median, optionsOf, table, target } from './support.mjs'

const usage = `node bench/programs-in-pages.mjs [options]
  --programs ''                     parts of names; none: all of test/programs
  --passes 6                        of all ways, in a page of its own for each program
  --browsers ${kinds.join()}`

const values = optionsOf({ programs: '', passes: '6', browsers: kinds.join() }, usage)
const list = programs('programs', values.programs.split(',').filter(Boolean))

heading('whole programs, rewritten as modules, in pages', `isolated, wall time; cold: the first run of each; else the median of ${values.passes - 1} more`)

await eachBrowser(values.browsers.split(','), async (browser, server) => {
  console.log(`### ${browser.name}\n`)
  const rows = []
  for (const { name } of list) {
    const { native, plain, job } = await callIn(browser, server, 'isolated', '/bench/support-whole.mjs', 'measure', `/test/programs/${name}.mjs`, Number(values.passes))
    const warm = costs => median(costs.slice(1))
    rows.push([name, warm(native), warm(job) / warm(native), warm(plain) / warm(native), native[0], job[0] / native[0], plain[0] / native[0]])
  }
  table(['program', 'native, ms', 'job, x', 'plain, x', 'native cold, ms', 'job cold, x', 'plain cold, x'], rows)
  const all = column => rows.map(row => row[column])
  target('run time as a job, median', median(all(2)), { most: 2.5, unit: ' x' })
  target('run time as a job, worst', Math.max(...all(2)), { most: 8, unit: ' x' })
  target('run time called plainly, median', median(all(3)), { most: 1.5, unit: ' x' })
  console.log(`- cold, as a job: median ${median(all(5)).toFixed(2)} x, worst ${Math.max(...all(5)).toFixed(2)} x\n`)
})
