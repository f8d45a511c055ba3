// React's own answer to slow lists: the field renders with the new text first, the list in a later render.
import { LIMIT, React, render } from './react.mjs'
import { search } from './search.mjs'

render(text => {
  const deferred = React.useDeferredValue(text)
  return React.useMemo(() => search(deferred, LIMIT), [deferred])
})
