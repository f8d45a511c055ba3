// The same tests in an engine that has AsyncContext.
import '../../support/async-context.mjs'
import './scheduler.test.mjs'
