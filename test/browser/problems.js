// Records errors of pages in WebKit, whose driver has no access to their consoles. Runs before all other
// scripts.
{
  const { setTimeout, console, Error } = globalThis
  const { error } = console
  let problems = []
  const describe = value => value instanceof Error ? `${value}\n${value.stack}` : String(value)
  const note = (event, value) => {
    // A later listener may prevent the default, and then the console shows nothing.
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
