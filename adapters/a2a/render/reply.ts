// Hop 8: the reply becomes the last event of its run, where clients that watch the task see it. Pure.
import type { JsonObject, NormalizedResponse } from '../../../src/contract/index.ts'
import type { A2aCall } from '../wire/objects.ts'

export function renderA2a(reply: NormalizedResponse): readonly { readonly call: A2aCall; readonly primary: boolean }[] {
  return [{ call: { event: { type: 'done', response: responseToJson(reply) } }, primary: true }]
}

/** A reply has passed its schema, so it is JSON; the round trip drops the fields that are merely undefined. */
function responseToJson(response: NormalizedResponse): JsonObject {
  return JSON.parse(JSON.stringify(response))
}
