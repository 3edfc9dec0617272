// The parts of a message in a fixture: their kinds and shapes, without what they say or where their bytes are.
import { isKnownPart, type Json, type KnownPart, type Part } from '../../contract/index.ts'
import type { Pseudonyms } from './pseudonyms.ts'

export function anonymizeParts(names: Pseudonyms, parts: readonly Part[]): Part[] {
  return parts.map((part) => (isKnownPart(part) ? anonymizePart(names, part) : { kind: part.kind }))
}

function anonymizePart(names: Pseudonyms, part: KnownPart): Part {
  switch (part.kind) {
    case 'text':
      return { ...part, content: part.mime === 'text/html' ? cleanHtml(names, part.content) : names.text(part.content) }
    case 'file':
    case 'artifact':
      return {
        kind: part.kind,
        bytes_ref: { kind: 'url', url: 'https://example.com/file' },
        ...(part.mime === undefined ? {} : { mime: part.mime }),
        ...(part.name === undefined ? {} : { name: names.text(part.name) }),
      }
    case 'link':
      return { kind: 'link', url: 'https://example.com/' }
    case 'tool_call':
      // Arguments are JSON: they came out of the database.
      return { kind: 'tool_call', id: names.id('call', part.id), name: part.name, args: names.json(part.args as Json) }
    case 'policy':
      return { kind: 'policy', policy: { kind: part.policy.kind, message: names.text(part.policy.message) } }
  }
}

/** Tags keep their names and lose their attributes, which may hold links and addresses. */
function cleanHtml(names: Pseudonyms, html: string): string {
  return html
    .split(/(<[^>]*>)/)
    .map((bit) => (bit.startsWith('<') ? bit.replace(/^<(\/?)(\w+)[^>]*>$/, '<$1$2>') : names.text(bit)))
    .join('')
}
