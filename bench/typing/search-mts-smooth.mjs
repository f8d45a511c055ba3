// main-thread-scheduling beside animations: it works for up to 13 ms between two frames.
import { searchBy } from './mts.mjs'

searchBy('smooth')
