// Devices, handlers and workers that pass packets through queues in a simulated system, as in Martin
// Richards's benchmark. The classes call each other's methods at polymorphic call sites.

class Packet {
  constructor(link, identity, kind) {
    this.link = link
    this.identity = identity
    this.kind = kind
    this.datum = 0
    this.letters = [0, 0, 0, 0]
  }

  addTo(queue) {
    this.link = null
    if (queue === null) return this
    let last = queue
    while (last.link !== null) last = last.link
    last.link = this
    return queue
  }
}

const IDLE = 0, WORKER = 1, HANDLER_A = 2, HANDLER_B = 3, DEVICE_A = 4, DEVICE_B = 5
const DEVICE_KIND = 0, WORK_KIND = 1

class Control {
  constructor(link, identity, priority, queue, task) {
    Object.assign(this, { link, identity, priority, queue, task, held: false, suspended: queue === null })
    this.runnable = queue !== null
  }

  get waits() {
    return this.held || (this.suspended && !this.runnable)
  }

  run() {
    let packet = null
    if (this.suspended && this.runnable) {
      packet = this.queue
      this.queue = packet === null ? null : packet.link
      this.suspended = false
      this.runnable = this.queue !== null
    }
    return this.task.run(packet)
  }

  take(task, packet) {
    if (this.queue === null) {
      this.queue = packet
      packet.link = null
      this.runnable = true
      if (this.priority > task.priority) return this
    } else this.queue = packet.addTo(this.queue)
    return task
  }
}

class Scheduler {
  queued = 0
  holds = 0
  blocks = []
  list = null
  current = null

  add(identity, priority, queue, task, ready = false) {
    this.list = new Control(this.list, identity, priority, queue, task)
    if (ready) this.list.suspended = false
    this.blocks[identity] = this.list
  }

  schedule() {
    this.current = this.list
    while (this.current !== null) {
      if (this.current.waits) this.current = this.current.link
      else this.current = this.current.run()
    }
  }

  release(identity) {
    const control = this.blocks[identity]
    control.held = false
    return control.priority > this.current.priority ? control : this.current
  }

  hold() {
    this.holds++
    this.current.held = true
    return this.current.link
  }

  suspend() {
    this.current.suspended = true
    return this.current
  }

  queue(packet) {
    const control = this.blocks[packet.identity]
    this.queued++
    packet.link = null
    packet.identity = this.current.identity
    return control.take(this.current, packet)
  }
}

class Task {
  constructor(scheduler) {
    this.scheduler = scheduler
  }
}

class IdleTask extends Task {
  constructor(scheduler, seed, count) {
    super(scheduler)
    this.seed = seed
    this.count = count
  }

  run() {
    if (--this.count === 0) return this.scheduler.hold()
    if ((this.seed & 1) === 0) {
      this.seed >>= 1
      return this.scheduler.release(DEVICE_A)
    }
    this.seed = this.seed >> 1 ^ 0xd008
    return this.scheduler.release(DEVICE_B)
  }
}

class DeviceTask extends Task {
  pending = null

  run(packet) {
    if (packet !== null) {
      this.pending = packet
      return this.scheduler.hold()
    }
    if (this.pending === null) return this.scheduler.suspend()
    const sent = this.pending
    this.pending = null
    return this.scheduler.queue(sent)
  }
}

class WorkerTask extends Task {
  handler = HANDLER_A
  letter = 0

  run(packet) {
    if (packet === null) return this.scheduler.suspend()
    this.handler = this.handler === HANDLER_A ? HANDLER_B : HANDLER_A
    packet.identity = this.handler
    packet.datum = 0
    packet.letters.forEach((_, i, letters) => {
      if (++this.letter > 26) this.letter = 1
      letters[i] = this.letter
    })
    return this.scheduler.queue(packet)
  }
}

class HandlerTask extends Task {
  work = null
  devices = null

  run(packet) {
    if (packet !== null) {
      if (packet.kind === WORK_KIND) this.work = packet.addTo(this.work)
      else this.devices = packet.addTo(this.devices)
    }
    if (this.work !== null) {
      const { work } = this
      if (work.datum < 4) {
        if (this.devices !== null) {
          const device = this.devices
          this.devices = device.link
          device.datum = work.letters[work.datum++]
          return this.scheduler.queue(device)
        }
      } else {
        this.work = work.link
        return this.scheduler.queue(work)
      }
    }
    return this.scheduler.suspend()
  }
}

function simulate(count) {
  const scheduler = new Scheduler()
  const packets = (identity, kind, number) =>
    Array.from({ length: number }).reduce(link => new Packet(link, identity, kind), null)
  scheduler.add(IDLE, 0, null, new IdleTask(scheduler, 1, count), true)
  scheduler.add(WORKER, 1000, packets(WORKER, WORK_KIND, 2), new WorkerTask(scheduler))
  scheduler.add(HANDLER_A, 2000, packets(DEVICE_A, DEVICE_KIND, 3), new HandlerTask(scheduler))
  scheduler.add(HANDLER_B, 3000, packets(DEVICE_B, DEVICE_KIND, 3), new HandlerTask(scheduler))
  scheduler.add(DEVICE_A, 4000, null, new DeviceTask(scheduler))
  scheduler.add(DEVICE_B, 5000, null, new DeviceTask(scheduler))
  scheduler.schedule()
  return [scheduler.queued, scheduler.holds]
}

export function main(rounds) {
  const results = []
  for (let i = 0; i < Math.max(1, rounds / 10); i++) results.push(simulate(rounds * 10))
  return results
}

export const sizes = { small: 10, full: 1000 }
