/** Tests the invalid arguments of addons/workers.mjs. */
import { suite } from 'uvu'
import * as module from '../../../addons/workers.mjs'
import { exportTests, parameterTests } from '../../support/refusals.mjs'

const { Workers } = module

const SIZE = {
  wants: 'an integer >= 1', takes: value => Number.isSafeInteger(value) && value >= 1, range: true
}

/** @type {[call: string, name: string, kind: any, act: (here: any, value: any) => void][]} */
const PARAMETERS = [['Workers', 'size', SIZE, (_, size) => new Workers('none', { size })]]

const refusals = suite('workers: invalid arguments')

parameterTests(refusals, PARAMETERS, () => ({ traces: () => null }))
exportTests(refusals, module, PARAMETERS, ['AdmissionError'])

refusals.run()
