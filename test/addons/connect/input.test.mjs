/** Tests the invalid arguments of addons/connect.mjs. */
import { suite } from 'uvu'
import * as module from '../../../addons/connect.mjs'
import { FUNCTION, POSITIVE, STRING, exportTests, parameterTests, throws } from '../../support/refusals.mjs'

const { accept, connect } = module

const endpoint = () => ({ postMessage: throws, addEventListener: throws })

const SIZE = { wants: 'a number >= 65536', takes: value => typeof value === 'number' && value >= 65_536, range: true }

/** @type {[call: string, name: string, kind: any, act: (here: any, value: any) => void][]} */
const PARAMETERS = [
  ...[['connect', options => connect(endpoint(), 'x', options)], ['accept', options => accept(endpoint(), () => {}, options)]]
    .flatMap(([call, act]) => [['maxPayload', SIZE], ['timeout', POSITIVE]].map(([name, kind]) =>
      [call, name, kind, (_, value) => act({ [name]: value })])),
  ['accept', 'work', { ...FUNCTION, isRequired: true }, (_, work) => accept(endpoint(), work)],
  ['connect', 'name', { ...STRING, isRequired: true }, (_, name) => connect(endpoint(), name)]
]

const refusals = suite('connect: invalid arguments')

parameterTests(refusals, PARAMETERS, () => ({ traces: () => null }))
exportTests(refusals, module, PARAMETERS, [])

refusals.run()
