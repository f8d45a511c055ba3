/** The texts of a page that is given as HTML. */

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"' }
const BLOCKS = /<\/?(?:p|li|dd|dt|td|th|h\d|summary|details|dl|ul|table|thead|tbody|tr|article|div|br)\b[^>]*>/

/**
 * Lists the texts of paragraphs, cells, list items and headings, without listings and types. Code within a
 * text is quoted as in Markdown.
 *
 * @param {string} html @returns {string[]}
 */
export function textsOfPage(html) {
  const prose = html.replace(/<pre[^]*?<\/pre>|<code class="type">[^]*?<\/code>/g, '')
    .replace(/<\/?code>/g, '`')
  return prose.split(BLOCKS)
    .map(text => text.replace(/<[^>]+>/g, '').replace(/&(\w+);/g, (_, name) => ENTITIES[name]))
    .map(text => text.replace(/\s+/g, ' ').trim()).filter(text => text.includes(' '))
}
