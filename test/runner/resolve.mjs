const watched = new URL('./uvu.mjs', import.meta.url).href

/** Gives test files the watched uvu, and the watched uvu the real one. */
export const resolve = (specifier, context, next) =>
  specifier === 'uvu' && context.parentURL !== watched
    ? { url: watched, shortCircuit: true }
    : next(specifier, context)
