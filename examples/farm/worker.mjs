import { rt } from '../../rt.mjs'
import { labour } from './farm.mjs'

rt.spawn(labour(self))
