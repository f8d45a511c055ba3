import type { Job } from 'rt.mjs'
import { sleep } from 'rt.mjs/alarms'
import { AdmissionError, IoReservation, Reservation, admit, interrupt, loop, worstCaseDelay } from 'rt.mjs/reservations'
import { is } from './equal.js'

function* tick() { yield }

const reservation = new Reservation({ capacity: 5, period: 16, kind: 'sporadic' })
is<number>()(reservation.capacity)
is<number>()(reservation.remaining)
is<Reservation>()(reservation.resize({ capacity: 3 }))
is<number>()(new IoReservation({ utilization: 0.5 }).utilization)
is<Job>()(loop(function* () { yield sleep(5) }, { capacity: 5, period: 10 }).job)
is<number>()(admit([reservation, { wcet: 1, period: 5 }], { share: 0.8 }).bound)
is<number>()(worstCaseDelay({ handler: reservation, bottomHalf: 3 }))
// @ts-expect-error
new Reservation({ capacity: 5 })
// @ts-expect-error
reservation.resize({ capasity: 3 })
// @ts-expect-error
loop(function* () { yield 5 }, { capacity: 5, period: 10 })
// @ts-expect-error
admit([5])

// --- handlers

interrupt(window, 'keydown', tick, { deadline: 16, capacity: 1, period: 5 })
is<Reservation | undefined>()(interrupt(window, 'keydown', tick, { capacity: 1, period: 5 }).reservation)
is<number>()(interrupt(window, 'keydown', tick).waiting)
const io = new IoReservation({ capacity: 1, period: 10 })
interrupt(window, 'message', tick, { capacity: 1, period: 5, io, bottomHalf: event => { is<MessageEvent>()(event) } })
interrupt(window, 'keydown', text => { is<string>()(text) }, { before: (event: KeyboardEvent) => event.key })
// @ts-expect-error
interrupt(window, 'keydown', (text: number) => text, { before: (event: KeyboardEvent) => event.key })
// @ts-expect-error
interrupt(window, 'keydown', tick, { capasity: 1 })
// @ts-expect-error
interrupt(window, 'keydown', tick, { io: 0.1 })
is<number>()(new AdmissionError('', { name: '', compare: () => 0, level: () => 0 }, {} as any).bound)
