import { adopt } from '../../alarms.mjs'
globalThis.report = adopt(globalThis, { warn: false }).report
