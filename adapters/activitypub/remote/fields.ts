// Members of a document as servers write them: alone, in a list, as an object with an id, or not at all.
import { isSafeIri } from './iri.ts'

export type Fields = Readonly<Record<string, unknown>>

/** More of anything than this is never needed, and may be meant to be expensive. */
const maxItems = 32

export function isPlainObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function toList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value.slice(0, maxItems) : [value]
}

export function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The first address in it that may be asked, under any of the names that are used for it. */
export function readSafeIri(value: unknown, origins: readonly string[]): string | undefined {
  for (const each of toList(value)) {
    const found = isPlainObject(each) ? (each['id'] ?? each['href'] ?? each['url']) : each
    if (isSafeIri(found, origins)) return found
  }
  return undefined
}
