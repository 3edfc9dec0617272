// Flags and footers that every list has.
import { wrongUsage } from './exit.ts'

export const pageArgs = {
  limit: { type: 'string', default: '50', description: 'Lines per page, 1 to 500', valueHint: 'number' },
  before: { type: 'string', description: 'Where the page before this one ended', valueHint: 'number' },
  connection: { type: 'string', description: 'Only this one, as the books name it', valueHint: 'channel/id' },
} as const

type PageFlags = {
  readonly limit?: string | undefined
  readonly before?: string | undefined
  readonly connection?: string | undefined
}

export function buildPageQuery(
  { limit, before, connection }: PageFlags,
  more: Record<string, string | undefined>,
): string {
  const query = new URLSearchParams({ limit: requireWholeNumber('limit', limit ?? '50', 500) })
  if (before !== undefined) query.set('before', requireWholeNumber('before', before, Number.MAX_SAFE_INTEGER))
  if (connection !== undefined) query.set('connection', connection)
  for (const [name, value] of Object.entries(more)) if (value !== undefined) query.set(name, value)
  return query.toString()
}

/** `words` is the command that was typed. */
export function pageFooter(next: number | string | null, words: string): string {
  return next === null ? '' : `\n\nMore: ${words} --before ${next}`
}

/** For lists whose ids sort by time. */
export const idPageArgs = {
  limit: pageArgs.limit,
  before: { type: 'string', description: 'Where the page before this one ended', valueHint: 'id' },
} as const

export function idPageQuery(
  { limit, before }: Pick<PageFlags, 'limit' | 'before'>,
  more: Record<string, string | undefined>,
): string {
  return buildPageQuery({ limit }, { ...more, before })
}

function requireWholeNumber(flag: string, text: string, max: number): string {
  const isFine = /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= max
  if (!isFine) throw wrongUsage(`--${flag} must be a whole number from 1 to ${max}`)
  return text
}
