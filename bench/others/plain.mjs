// Measures the durations of the page's callbacks without a scheduler, in the format of adopt's report.
const rows = {}
const metered = fn => function (...args) {
  const begin = performance.now()
  try {
    return fn.apply(this, args)
  } finally {
    const row = rows[fn.name] ??= { name: fn.name, calls: 0, time: 0, longest: 0 }
    const time = performance.now() - begin
    row.calls++
    row.time += time
    row.longest = Math.max(row.longest, time)
  }
}
for (const [owner, name, at] of [
  [window, 'setInterval', 0], [window, 'setTimeout', 0], [window, 'requestAnimationFrame', 0],
  [EventTarget.prototype, 'addEventListener', 1]
]) {
  const native = owner[name]
  owner[name] = function (...args) {
    args[at] = metered(args[at])
    return native.apply(this, args)
  }
}
globalThis.report = () => Object.values(rows)
