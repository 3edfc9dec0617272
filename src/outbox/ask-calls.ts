// Which calls of a reply ask people to decide something, and what each says once that is decided.
import type { JsonObject, RenderedCall } from '../contract/index.ts'

/**
 * `unasked` is the same reply rendered without its questions. A call that is in both asks nothing; the others ask, and those of
 * `unasked` that are left over take their places in order. One that nothing is left for says nothing but the question.
 */
export function markQuestions(
  calls: readonly RenderedCall[],
  unasked: readonly RenderedCall[],
  asks: readonly string[],
): readonly RenderedCall[] {
  const left = unasked.map(({ call }) => ({ call, written: written(call) }))
  const isAsking = calls.map(({ call }) => {
    const same = left.findIndex((each) => each.written === written(call))
    if (same >= 0) left.splice(same, 1)
    return same < 0
  })
  return calls.map((rendered, at) =>
    isAsking[at] === true ? { ...rendered, question: { asks, otherwise: left.shift()?.call ?? null } } : rendered,
  )
}

/** Both were made by the same render, so that their keys are in the same order. */
function written(call: JsonObject): string {
  return JSON.stringify(call)
}
