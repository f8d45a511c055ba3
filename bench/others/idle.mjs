// The page without its reactions: what the browser and the machine take by themselves.
HTMLElement.prototype.addEventListener = () => {}
window.setInterval = () => 0
globalThis.report = () => []
