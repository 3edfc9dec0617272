// Hop 8: a reply to loopback calls as data. Pure.

import { isKnownPart, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { chunkText, plainText } from '../../../src/markdown/index.ts'
import { type LoopbackCall, replyToSchema } from './wire.ts'

export function renderLoopback(
  maxTextLength: number,
  reply: NormalizedResponse,
  to: JsonObject,
): readonly { readonly call: LoopbackCall; readonly primary: boolean }[] {
  const { conversation } = replyToSchema.parse(to)
  const files = reply.parts.flatMap((part) => fileIn(part) ?? [])
  const parts = reply.parts.filter((part) => fileIn(part) === undefined)
  const isSilent = files.length > 0 && parts.length === 0 && reply.status === 'completed'
  const texts = isSilent ? [] : chunkText(plainText({ ...reply, parts }), maxTextLength)
  return [
    ...texts.map((text) => ({ call: { conversation, text }, primary: true })),
    ...files.map((file) => ({ call: { conversation, text: '', file }, primary: true })),
  ]
}

function fileIn(part: Part): LoopbackCall['file'] {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { attachment, name = 'file' } = part
  return attachment === undefined ? undefined : { attachment: attachment.id, name }
}
