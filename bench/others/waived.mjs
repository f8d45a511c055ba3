import { adopt } from '../../addons/adopt.mjs'
const waiver = { interleave: true }
const rules = { event: waiver, timer: waiver, frame: waiver, idle: waiver, observer: waiver, message: waiver }
globalThis.report = adopt(globalThis, { warn: false, rules }).report
