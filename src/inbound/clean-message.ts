// Cleans inbound messages: HTML is reduced to a safe subset before it is stored.
import { isKnownPart, type KnownPart, type NormalizedMessage, type Part } from '../contract/index.ts'
import { safeHtml } from '../markdown/index.ts'

export function sanitizeMessage(message: NormalizedMessage): NormalizedMessage {
  return message.parts.some(isHtml) ? { ...message, parts: message.parts.map(sanitizePart) } : message
}

function sanitizePart(part: Part): Part {
  return isHtml(part) ? { ...part, content: safeHtml(part.content) } : part
}

function isHtml(part: Part): part is Extract<KnownPart, { kind: 'text' }> {
  return isKnownPart(part) && part.kind === 'text' && part.mime === 'text/html'
}
