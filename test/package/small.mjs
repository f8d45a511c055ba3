import { rt } from 'rt.mjs'

rt.spawn(() => console.log('done'), { deadline: 50 })
