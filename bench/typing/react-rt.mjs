// rt.mjs in React: a hook runs the search as a job, and cancels it when the text changes.
import { rt } from '../../rt.mjs'
import { LIMIT, React, render } from './react.mjs'
import { search } from './search-job.mjs'

function useJob(work, args, options) {
  const [result, setResult] = React.useState()
  React.useEffect(() => {
    const job = rt.spawn(work, options, ...args)
    job.then(setResult, error => {
      if (error.name !== 'AbortError') setResult(() => { throw error })
    })
    return () => { job.cancel() }
  }, args)
  return result
}

render(text => useJob(search, [text, LIMIT], { deadline: 200 }))
