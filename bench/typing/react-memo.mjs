// React's first answer: the result is computed while the component renders, and kept until the text changes.
import { LIMIT, React, render } from './react.mjs'
import { search } from './search.mjs'

render(text => React.useMemo(() => search(text, LIMIT), [text]))
