// Which calls of a reply ask people to decide something, and what each says once that is decided.
import type { Adapter, CallQuestion, JsonObject, RenderedCall } from '../contract/index.ts'

/** What can be edited there of a message that was sent: nothing, all of it, or also what is below its words. */
export type Editing = 'none' | 'whole' | 'lines'

export function createCallEditor({ live, capabilities, withLine }: Adapter): Editing {
  if (live === undefined && capabilities.canEdit !== true) return 'none'
  return withLine === undefined ? 'whole' : 'lines'
}

/**
 * `unasked` is the same reply rendered without its questions. A call that is in both asks nothing; the others ask, and those of
 * `unasked` that are left over take their places in order. One that nothing is left for says nothing but the question.
 */
export function markQuestions(
  calls: readonly RenderedCall[],
  unasked: readonly RenderedCall[],
  question: Pick<CallQuestion, 'asks' | 'isPlaceholder'> & { readonly editing: Editing },
): readonly RenderedCall[] {
  const left = unasked.map(({ call }) => ({ call, written: serializeCall(call) }))
  const isAsking = calls.map(({ call }) => {
    const same = left.findIndex((each) => each.written === serializeCall(call))
    if (same >= 0) left.splice(same, 1)
    return same < 0
  })
  return calls.map((rendered, at) => {
    if (isAsking[at] !== true) return rendered
    const { editing, isPlaceholder = false } = question
    const otherwise = left.shift()?.call ?? null
    const hasWords = otherwise !== null && !isPlaceholder
    return {
      ...rendered,
      question: {
        asks: listAskedActions(rendered.call, question.asks),
        otherwise,
        ...(isPlaceholder ? { isPlaceholder } : {}),
        isEditable: editing === 'lines' || (editing === 'whole' && !hasWords),
      },
    }
  })
}

/** Each question names its action by the end of its id; where none is found the call is taken to ask them all. */
function listAskedActions(call: JsonObject, asks: readonly string[]): readonly string[] {
  const words = serializeCall(call)
  const named = asks.filter((id) => words.includes(id.slice(-6)))
  return named.length === 0 ? asks : named
}

/** Both were made by the same render, so that their keys are in the same order. */
function serializeCall(call: JsonObject): string {
  return JSON.stringify(call)
}
