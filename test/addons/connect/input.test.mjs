/** Wrong arguments of addons/connect.mjs. */
import { suite } from 'uvu'
import * as module from '../../../addons/connect.mjs'
import { FUNCTION, STRING, exportTests, parameterTests, throws } from '../../support/refusals.mjs'

const { accept, connect } = module

const endpoint = () => ({ postMessage: throws, addEventListener: throws })

/** @type {[call: string, name: string, kind: any, act: (here: any, value: any) => void][]} */
const PARAMETERS = [
  ['accept', 'work', { ...FUNCTION, isRequired: true }, (_, work) => accept(endpoint(), work)],
  ['connect', 'name', { ...STRING, isRequired: true }, (_, name) => connect(endpoint(), name)]
]

const refusals = suite('connect: wrong arguments')

parameterTests(refusals, PARAMETERS, () => ({ traces: () => null }))
exportTests(refusals, module, PARAMETERS, [])

refusals.run()
