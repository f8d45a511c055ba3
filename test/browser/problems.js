// Comes first in pages that WebKit loads, whose driver hears nothing of their consoles: keeps the errors.
{
  const { setTimeout, console, Error } = globalThis
  const { error } = console
  let problems = []
  const describe = value => value instanceof Error ? `${value}\n${value.stack}` : String(value)
  const note = (event, value) => {
    // A later listener may prevent what the console would get.
    setTimeout(() => { if (!event.defaultPrevented) problems.push(describe(value)) })
  }
  addEventListener('error', event => note(event, event.error ?? event.message))
  addEventListener('unhandledrejection', event => note(event, event.reason))
  console.error = (...args) => {
    problems.push(args.map(describe).join(' '))
    error.apply(console, args)
  }
  globalThis.takeProblems = () => {
    const taken = problems
    problems = []
    return taken
  }
}
