// Hop 8: a reply to loopback calls as data. Pure.
import type { JsonObject, NormalizedResponse } from '../../../src/contract/index.ts'
import { chunkText, plainText } from '../../../src/rendering/index.ts'
import { type LoopbackCall, replyToSchema } from './wire.ts'

export function renderLoopback(
  maxTextLength: number,
  reply: NormalizedResponse,
  to: JsonObject,
): readonly { readonly call: LoopbackCall; readonly primary: boolean }[] {
  const { conversation } = replyToSchema.parse(to)
  return chunkText(plainText(reply), maxTextLength).map((text) => ({ call: { conversation, text }, primary: true }))
}
