// Envelopes to and from the rows providers know. A projection of the boundary: it is never stored.
import type { Envelope, Fields } from '../../contract/index.ts'
import { normalizeMessage } from './normalize.ts'

export type ProviderMessage = {
  readonly role: string
  readonly content: Envelope['content']
  readonly metadata?: Fields
}

export function toProviderMessage(message: unknown): ProviderMessage {
  const { type, role, content, payload, metadata } = normalizeMessage(message)
  const isPlain = type === 'text' && Object.keys(payload).length === 0 && Object.keys(metadata).length === 0
  return isPlain ? { role, content } : { role, content, metadata: { ...payload, ...metadata, type } }
}

export function toProviderMessages(messages: readonly unknown[]): readonly ProviderMessage[] {
  return messages.map(toProviderMessage)
}

/** The way back: what the projection folded into metadata becomes type and payload again. */
export function fromProviderMessage(message: ProviderMessage): Envelope {
  return normalizeMessage(message)
}
