import { applyPatches, enablePatches, produce, produceWithPatches } from 'immer'
import { digest, outcome, records } from './inputs.mjs'

enablePatches()

export const sizes = { small: 3, full: 1200 }

export function main(size) {
  let state = { list: records(size), byId: {}, count: 0 }
  for (let i = 0; i < size; i++) {
    state = produce(
      state,
      draft => {
        draft.list[i].age += i
        draft.list[i].tags.push('new')
        if (draft.count++ % 10 === 0) draft.byId[i] = draft.list[i].name
      },
      undefined
    )
  }
  const [next, patches, inverse] = produceWithPatches(state, draft => {
    draft.list
      .filter(record => record.active)
      .forEach(record => {
        record.score = 0
      })
    draft.list.splice(1, 1)
    delete draft.byId[0]
  })
  return [
    digest(next),
    digest(patches),
    digest(applyPatches(next, inverse)) === digest(state),
    outcome(() => {
      state.count = 1
    }),
    Object.isFrozen(state.list[0]),
    produce([3, 1, 2], list => void list.sort())
  ]
}
