// The words of our own blocks, for the one case in which Slack does not take the blocks themselves.
import type { Json, JsonObject } from '../../../src/contract/index.ts'

/** What Slack shows of one text; it cuts what is longer. */
const maxPlainLength = 39_000

export function blocksToPlainText(blocks: readonly JsonObject[]): string {
  const words = blocks.map((block) => blockPlainText(block)).filter((text) => text.trim() !== '')
  const escaped = words.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped.slice(0, maxPlainLength).toWellFormed()
}

function blockPlainText(value: Json): string {
  if (Array.isArray(value)) return value.map((each) => blockPlainText(each)).join(isInline(value) ? '' : '\n')
  if (typeof value !== 'object' || value === null) return ''
  const { text, type, user_id: user, url } = value as JsonObject
  if (type === 'user' && typeof user === 'string') return `@${user}`
  if (typeof text === 'string') return type === 'link' && typeof url === 'string' ? `${text} (${url})` : text
  return Object.values(value)
    .map((each) => (typeof each === 'object' ? blockPlainText(each) : ''))
    .filter((each) => each !== '')
    .join('\n')
}

function isInline(values: readonly Json[]): boolean {
  return values.every(
    (each) =>
      typeof each === 'object' &&
      each !== null &&
      'type' in each &&
      ['text', 'link', 'user', 'emoji'].includes(String(each['type'])),
  )
}
