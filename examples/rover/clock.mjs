/**
 * A host whose clock stands still while the page is kept from running: between two readings it advances by
 * `most` ms at the longest. So what other programs do to the processor is not put down to the jobs of this
 * page. It has to be read often, as each frame does.
 *
 * @param {import('../../rt.mjs').Host} host
 * @param {number} most ms
 * @returns {import('../../rt.mjs').Host}
 */
export function patientHost(host, most) {
  let last = host.now()
  let stood = 0
  const now = () => {
    const time = host.now()
    if (time - last > most) stood += time - last - most
    last = time
    return time - stood
  }
  // An event that happened meanwhile happens when the clock goes on.
  const eventTime = event => Math.min(now(), (host.eventTime?.(event) ?? event.timeStamp) - stood)
  return { ...host, now, eventTime }
}
