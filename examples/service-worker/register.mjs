/**
 * Registers a service worker, and waits until the worker handles the requests of the page. The first load of a page, and a
 * reload with Shift, bypass the worker.
 *
 * @param {string | URL} url
 * @param {RegistrationOptions} [options]
 * @returns {Promise<void>}
 * @throws {TypeError} if the browser has no service workers, or none that are modules
 */
export async function controlled(url, options = {}) {
  const { serviceWorker } = navigator
  if (!serviceWorker) throw new TypeError('service workers need https: or localhost, and no private window')
  const isTaken = new Promise(resolve => serviceWorker.addEventListener('controllerchange', resolve, { once: true }))
  const registration = await serviceWorker.register(url, { type: 'module', updateViaCache: 'none', ...options })
  if (serviceWorker.controller) return
  const { active } = await serviceWorker.getRegistration().then(found => found ? serviceWorker.ready : registration)
  // The worker deletes old texts during its activation. A page that it controls earlier could lose new texts.
  while (active?.state === 'activating') {
    await new Promise(resolve => active.addEventListener('statechange', resolve, { once: true }))
  }
  active?.postMessage('claim')
  await isTaken
}
