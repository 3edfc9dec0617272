// Neighbours of one role as one message, for providers that refuse two in a row.
import { type Envelope, envelopeSchemaId } from '../../contract/index.ts'
import { normalizeMessages } from './normalize.ts'

export function coalesceSameRole(messages: readonly unknown[]): readonly Envelope[] {
  const joined: Envelope[] = []
  for (const message of normalizeMessages(messages)) {
    const last = joined.at(-1)
    if (last === undefined || last.role !== message.role) joined.push(message)
    else joined[joined.length - 1] = joinEnvelopes(last, message)
  }
  return joined
}

function joinEnvelopes(left: Envelope, right: Envelope): Envelope {
  const parts = [...envelopeParts(left), ...envelopeParts(right)]
  const texts = parts.map((part) => part.content).filter((content) => typeof content === 'string' && content !== '')
  return {
    schema: envelopeSchemaId,
    version: 1,
    type: 'multimodal_part',
    role: left.role,
    content: texts.join('\n\n'),
    payload: { parts },
    metadata: left.metadata,
  }
}

/** A message that was joined before gives its parts, so that none is nested in another. */
function envelopeParts(message: Envelope): readonly Envelope[] {
  const parts = message.payload['parts']
  if (message.type !== 'multimodal_part' || !Array.isArray(parts)) return [message]
  return parts.every(isEnvelopePart) ? normalizeMessages(parts) : [message]
}

function isEnvelopePart(part: unknown): boolean {
  return typeof part === 'object' && part !== null && 'schema' in part
}
