// Changes the built-ins before or after the modules are loaded, runs the smokes, and prints the failures as
// JSON. node smokes-child.mjs CHANGE before|after [MODULES]
import { INTERNAL, load, run, smokesOf } from './smokes.mjs'

const { 2: change, 3: when, 4: modules } = process.argv
// Node creates some of its globals at their first use, with the built-ins of the realm.
const { stdout } = process
Object.getOwnPropertyNames(globalThis).forEach(name => void globalThis[name])
crypto.getRandomValues(new Uint8Array(1))
const apply = new Function(change)
if (when === 'before') apply()
const all = await load(modules?.split(','))
const smokes = smokesOf(all)
if (when === 'after') apply()
const names = Object.keys(all).filter(name => name in smokes)
const missing = Object.keys(all).filter(name => !(name in smokes) && !INTERNAL.includes(name))
const failures = await run(smokes, names)
const report = JSON.stringify(missing.map(name => `${name}: has no smoke`).concat(failures))
stdout.write(report, () => process.exit())
