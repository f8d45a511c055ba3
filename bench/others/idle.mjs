// The page without its listeners and intervals, to measure the browser and the machine alone.
HTMLElement.prototype.addEventListener = () => {}
window.setInterval = () => 0
globalThis.report = () => []
