import { adopt } from '../../alarms.mjs'
globalThis.report = adopt(globalThis, { warn: false, rules: { event: { type: 'input', latest: true } } }).report
