import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX } from 'd3-force'

// The timer of the simulation must not fire before the simulation is complete.
export const scheduler = { round: Infinity }

export const sizes = { small: 4, full: 300 }

export function main(size) {
  const nodes = Array.from({ length: size }, (_, id) => ({ id }))
  const ticks = []
  const simulation = forceSimulation(nodes)
    .stop()
    .force(
      'link',
      forceLink(Array.from({ length: size * 2 }, (_, i) => ({ source: i % size, target: (i * 7) % size })))
        .distance(d => 10 + (d.index % 5))
        .id(d => d.id)
    )
    .force(
      'charge',
      forceManyBody().strength(d => -20 - (d.id % 3))
    )
    .force('centre', forceCenter(50, 50))
    .force('collide', forceCollide(3))
    .force('x', forceX(d => d.id % 10).strength(0.05))
    .on('tick', () => {
      ticks.push(1)
    })
  for (let i = 0; i < Math.min(size, 120); i++) simulation.tick()
  return [nodes.map(({ x, y }) => [x, y]), simulation.alpha(), ticks.length, simulation.find(50, 50).id]
}
