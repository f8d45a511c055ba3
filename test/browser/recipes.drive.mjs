/** The recipes for pages, pasted into an empty project: see test/support/recipe-project.mjs. */
import { equal, ok } from 'node:assert/strict'
import { select } from '../../examples/recipes/table.mjs'
import { frameworks, withProject } from '../support/recipe-project.mjs'
import { until } from './page-control.mjs'

/**
 * A test that opens a page of the project. It leaves the page before the server closes, because the page may still
 * load modules.
 *
 * @param {string} page @param {(browser: any) => unknown} use
 */
const onPage = (page, use) => ({ browser }) => withProject(async address => {
  await browser.open(`${address}/${page}`)
  const result = await use(browser)
  await browser.open('about:blank')
  return result
})

async function type(browser, text) {
  await until(browser, () => document.querySelector('#field')?.disabled === false)
  await browser.click('#field')
  for (const key of text) await browser.press(key)
}

/** Waits until an element shows a text. */
const shows = (browser, id, text) => until(browser, (id, text) => {
  const element = document.getElementById(id)
  return element !== null && (element.value ?? element.textContent) === text
}, id, text)

const textOf = (browser, id) => browser.evaluate(id => document.getElementById(id).textContent, id)

/** Checks that the library was preempted: a job that runs in one piece yields once. */
async function wasPreempted(browser) {
  const yields = await browser.evaluate(async () =>
    (await import('/node_modules/rt.mjs/rt.mjs')).rt.stats().yields)
  ok(yields > 50, `${yields} yields`)
}

/** Runs in the page. */
function sumOfPixels() {
  const picture = document.getElementById('picture')
  const { data } = picture.getContext('2d').getImageData(0, 0, picture.width, picture.height)
  return data.reduce((sum, value) => sum + value)
}

const numbers = Array.from({ length: 300_000 }, (_, n) => String(n))
const matches = text => `${numbers.filter(number => number.includes(text)).length} numbers contain ${text}`

const framework = name => onPage(`${name}/index.html`, async browser => {
  await type(browser, '99')
  await shows(browser, 'found', matches('99'))
})

export default {
  'the recipe search.html shows the words for the last text': onPage('search.html', async browser => {
    const words = numbers.map(n => (n * 7919).toString(36)).filter(word => word.includes('1z'))
    await type(browser, '1z')
    await shows(browser, 'total', `${words.length} words contain 1z`)
    equal(await textOf(browser, 'list'), words.slice(0, 200).join('\n'))
  }),

  'the recipe search-library.html preempts fuse.js': onPage('search-library.html', async browser => {
    await type(browser, 'balomu')
    await until(browser, () => document.getElementById('total').value.endsWith('names are like balomu'))
    ok((await textOf(browser, 'list')).split('\n').length > 10)
    await wasPreempted(browser)
  }),

  'the recipe table.html shows the rows for the last key and click': onPage('table.html', async browser => {
    const first = async (text, key) => {
      const rows = select(text, key)
      await shows(browser, 'total', `${rows.length} rows by ${key}`)
      const [{ id, city, price }] = rows
      await until(browser, text => document.querySelector('#body tr')?.innerText.replaceAll('\t', ' ') === text,
        `${id} ${city} ${price.toFixed(2)}`)
    }
    await first('', 'id')
    await browser.click('[data-key=price]')
    await first('', 'price')
    await type(browser, 'Kiel 12')
    await first('Kiel 12', 'price')
    await wasPreempted(browser)
  }),

  'the recipe markdown.html preempts marked and renders the text': onPage('markdown.html', async browser => {
    await type(browser, '*')
    await browser.evaluate(() => {
      const field = document.getElementById('field')
      field.value = '# Title\n\n' + '- *item* `code`\n'.repeat(2000)
      field.dispatchEvent(new Event('input'))
    })
    await until(browser, () => document.getElementById('preview').srcdoc.split('<em>item</em>').length === 2001)
    await wasPreempted(browser)
  }),

  'the recipe canvas.html draws all lines, again after a click': onPage('canvas.html', async browser => {
    await shows(browser, 'lines', '300')
    const first = await browser.evaluate(sumOfPixels)
    await browser.click('#picture')
    await until(browser, `document.getElementById('lines').value === '300' && (${sumOfPixels})() !== ${first}`)
  }),

  'the recipe csv.html reads quoted cells of a chosen file': onPage('csv.html', async browser => {
    await browser.evaluate(() => {
      const text = 'name,"text"\r\nZoë,"a ""b"", c"\r\n"","two\nlines"\nlast,"'
      const chosen = new DataTransfer()
      chosen.items.add(new File([`${text}${'x'.repeat(500_000)}"`], 'people.csv'))
      const field = document.getElementById('field')
      field.files = chosen.files
      field.dispatchEvent(new Event('change'))
    })
    await shows(browser, 'total', 'people.csv: 4 rows, 2 columns')
    const list = await textOf(browser, 'list')
    equal(list.slice(0, 60), `name | text\nZoë | a "b", c\n | two\nlines\nlast | ${'x'.repeat(100)}`.slice(0, 60))
    equal(await browser.evaluate(() => document.getElementById('bar').value), 1)
  }),

  ...Object.fromEntries(Object.keys(frameworks).map(name =>
    [`the hook for ${name} shows the result for the last text`, framework(name)])),

  'the hook for React throws the error of the job to the error boundary': onPage('React/index.html', async browser => {
    await type(browser, '!')
    await until(browser, () => document.getElementById('error')?.textContent === 'no search for !')
    return ['no search for !']
  })
}
