// What comes from outside is data: HTML is reduced to a safe subset before it is stored (msg NM-18).
import { isKnownPart, type NormalizedMessage, type Part } from '../contract/index.ts'
import { safeHtml } from '../rendering/index.ts'

export function cleanMessage(message: NormalizedMessage): NormalizedMessage {
  return { ...message, parts: message.parts.map(cleanPart) }
}

function cleanPart(part: Part): Part {
  const isHtml = isKnownPart(part) && part.kind === 'text' && part.mime === 'text/html'
  return isHtml ? { ...part, content: safeHtml(part.content) } : part
}
