// A member of the farm: node process.mjs [mqtt://host:port]
import mqtt from 'mqtt'
import { rt } from '../../../rt.mjs'
import { share } from '../share.mjs'
import { openBus } from './bus.mjs'

const bus = openBus(mqtt, process.argv[2] ?? 'mqtt://localhost:1883')
console.log(`member ${bus.member}`)
rt.spawn(share(bus))
