/**
 * Wraps a host so that its clock stops while the page is kept from running: the clock advances by at most
 * `most` ms between two readings. Delays by other programs are therefore not charged to the jobs of this
 * page. Read the clock often, for example in each frame.
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
  // An event during such a delay happens at the time at which the clock stopped.
  const eventTime = event => Math.min(now(), (host.eventTime?.(event) ?? event.timeStamp) - stood)
  return { ...host, now, eventTime }
}
