import { rt, type Job } from 'rt.mjs'
import { timeout } from 'rt.mjs/alarms'
import { par } from 'rt.mjs/sync'
import { is } from './equal.js'

declare function read(reply: Response): Promise<string>
declare function find(url: string): Promise<string[]>
function* paint(text: string) { yield; return new ImageData(text.length, 1) }

// the snippet
is<Job<number>>()(rt.spawn(show, {}, 'url'))
