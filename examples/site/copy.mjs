/**
 * Adds a button that copies the code of a listing.
 *
 * @param {HTMLElement} code
 */
export function addCopyButton(code) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' })
  button.onclick = async () => {
    const isCopied = await navigator.clipboard.writeText(code.textContent).then(() => true, () => false)
    button.textContent = isCopied ? 'Copied' : 'Not allowed'
    setTimeout(() => { button.textContent = 'Copy' }, 2000)
  }
  const frame = Object.assign(document.createElement('div'), { className: 'listing' })
  code.replaceWith(frame)
  frame.append(code, button)
}

for (const code of document.querySelectorAll('pre.code')) addCopyButton(/** @type {HTMLElement} */ (code))
