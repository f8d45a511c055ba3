import { adopt } from '../../addons/adopt.mjs'
globalThis.report = adopt(globalThis, { warn: false, rules: { event: { type: 'input', latest: true } } }).report
