import { applyPatches, createDraft, enableMapSet, enablePatches, finishDraft, produce, produceWithPatches } from 'immer'
import { records } from '../workloads/inputs.mjs'

enablePatches()
enableMapSet()

export const inputs = (name, which) => ({ list: records(5, which + 1), byId: {}, count: which })

export const calls = {
  produce: state => produce(state, draft => {
    for (const row of draft.list) row.age += 1
    draft.byId.x = draft.list[0].name
  }),
  patches: state => produceWithPatches(state, draft => {
    draft.list.splice(1, 1)
    draft.count++
  }),
  apply(state) {
    const [next, patches, inverse] = produceWithPatches(state, draft => { draft.list[0].tags.push('new') })
    return [applyPatches(state, patches), applyPatches(next, inverse)]
  },
  draft(state) {
    const draft = createDraft(state)
    draft.list.forEach(row => { row.score = 0 })
    return finishDraft(draft)
  },
  map: state => [...produce(new Map(state.list.map(row => [row.id, row])), draft => { draft.get(1).age = 5; draft.delete(2) })]
}
