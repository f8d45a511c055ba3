// main-thread-scheduling for results that users wait for: it works for up to 83 ms between two frames.
import { searchBy } from './mts.mjs'

searchBy('interactive')
