const watched = new URL('./uvu.mjs', import.meta.url).href

/** Resolves uvu to the watched uvu in test files, and to the real uvu in the watched uvu. */
export const resolve = (specifier, context, next) =>
  specifier === 'uvu' && context.parentURL !== watched
    ? { url: watched, shortCircuit: true }
    : next(specifier, context)
