// Rewritten as it is fetched, like the libraries: it says nothing of a scheduler.

/**
 * @param {{ Marked: any, hljs: any }} libraries
 * @param {string} text Markdown
 * @returns {string} HTML, its code highlighted
 */
export function render({ Marked, hljs }, text) {
  const marked = new Marked({
    renderer: {
      code({ text, lang }) {
        const language = hljs.getLanguage(lang) ? lang : 'plaintext'
        return `<pre><code class="hljs">${hljs.highlight(text, { language }).value}</code></pre>\n`
      }
    }
  })
  return marked.parse(text)
}
