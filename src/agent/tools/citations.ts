// `metadata.citations`: where a result comes from, and whether the asker may see it. They explain, they never
// authorize.
import type { Fields } from '../../contract/index.ts'
import { isPlainObject, toJson, trimmedText } from '../fields.ts'
import { safePrincipal } from '../policy/principal.ts'
import { redactParameters } from './redact.ts'

const textKeys = ['source', 'source_id', 'item_id', 'fragment_id', 'source_title', 'source_url', 'excerpt']
const accessStatuses: readonly unknown[] = ['allowed', 'denied', 'partial', 'source_restricted']

export function normalizeCitations(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return []
  return value.map(normalizeCitation).filter((citation) => Object.keys(citation).length > 0)
}

function normalizeCitation(value: unknown): Fields {
  const given = toJson(value)
  if (!isPlainObject(given)) return {}
  const entries = Object.entries(given).map(([key, field]) => [key, citationField(key, field)] as const)
  return Object.fromEntries(entries.filter(([, field]) => field !== undefined))
}

function citationField(key: string, value: unknown): unknown {
  if (textKeys.includes(key) || key === 'restriction_reason') return trimmedText(citationText(value))
  if (key === 'score') return citationScore(value)
  if (key === 'access_status') return accessStatuses.includes(value) ? value : undefined
  if (key === 'principal') return isPlainObject(value) ? safePrincipal(value) : undefined
  return redactParameters({ [key]: value })[key]
}

function citationText(value: unknown): string {
  if (typeof value === 'boolean') return value ? '1' : ''
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function citationScore(value: unknown): number | undefined {
  const score = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof score === 'number' && Number.isFinite(score) ? score : undefined
}
