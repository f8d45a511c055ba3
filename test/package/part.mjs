import { Channel } from 'rt.mjs/sync'

console.log(new Channel(1).offer('a message'))
