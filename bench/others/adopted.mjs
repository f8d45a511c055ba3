import { adopt } from '../../addons/adopt.mjs'
globalThis.report = adopt(globalThis, { warn: false }).report
