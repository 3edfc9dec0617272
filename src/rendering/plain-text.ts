// A reply as one plain text: every status reads differently, and nothing internal is shown (hop 8).
import { isKnownPart, type KnownPart, type NormalizedResponse, type Part } from '../contract/index.ts'
import { shownText } from './shown-text.ts'

type Status = NormalizedResponse['status']

/** Said after the agent's own words, so that a reader sees that this is not a plain answer. */
const labels: Readonly<Record<Status, string>> = {
  completed: '',
  input_required: '[Waiting for your reply]',
  refused: '[Refused]',
  failed: '[Not completed]',
  cancelled: '[Cancelled]',
}

/** Said where the agent left no words. */
const sentences: Readonly<Record<Status, string>> = {
  completed: 'Done.',
  input_required: 'More information is needed to go on. Please reply with details.',
  refused: 'This request was refused.',
  failed: 'Something went wrong and the request was not completed. Please try again later.',
  cancelled: 'The request was cancelled.',
}

// Error messages may quote internals; a code of this form cannot.
const safeCode = /^[a-z0-9][a-z0-9_.:-]{0,63}$/

export function plainText(reply: NormalizedResponse): string {
  const text = partsText(reply.parts)
  const body = text === '' ? sentences[reply.status] : [text, labelOf(reply)].filter(Boolean).join('\n\n')
  const code = reply.status === 'failed' || reply.status === 'refused' ? reply.error?.code : undefined
  return code !== undefined && safeCode.test(code) ? `${body} (${code})` : body
}

/** A question that a policy part asks says itself what it waits for. */
function labelOf({ status, parts }: NormalizedResponse): string {
  const isAsked = status === 'input_required' && parts.some((part) => part.kind === 'policy')
  return isAsked ? '' : labels[status]
}

/** Parts in reading order; tool calls are internal and leave no trace. */
export function partsText(parts: readonly Part[]): string {
  const pieces = parts.map((part) => (isKnownPart(part) ? knownPartText(part) : placeholder(part.kind)))
  return pieces
    .map(shownText)
    .filter((piece) => piece.trim() !== '')
    .join('\n\n')
}

function knownPartText(part: KnownPart): string {
  switch (part.kind) {
    case 'text':
      return part.mime === 'text/html' ? withoutTags(part.content) : part.content
    case 'link':
      return linkText(part.url, part.title)
    case 'file':
      return `[file${suffix(part.name ?? part.mime)}]`
    case 'artifact':
      return `[artifact${suffix(part.name ?? part.artifact_type ?? part.mime)}]`
    case 'policy':
      return part.policy.message
    case 'tool_call':
      return ''
    default:
      return part satisfies never
  }
}

function linkText(url: string, title: string | undefined): string {
  const isShown = /^(?:https?|mailto):/i.test(url)
  if (!isShown) return title ?? '[link]'
  return title === undefined || title === url ? url : `${oneLine(title)} (${url})`
}

function placeholder(kind: unknown): string {
  return `[unsupported content: ${oneLine(String(kind)).slice(0, 64)}]`
}

function suffix(name: string | undefined): string {
  return name === undefined ? '' : `: ${oneLine(name).slice(0, 256)}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', amp: '&' }

/** Reads HTML for its words only; the result is plain text and is never put back into markup. */
function withoutTags(html: string): string {
  return html
    .replace(/<(?:br|\/p|\/div|\/li|\/h[1-6])\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, '')
    .replace(/&(lt|gt|quot|apos|nbsp|amp);/g, (whole, name: string) => entities[name] ?? whole)
}
