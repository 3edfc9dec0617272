// Reads members of a document as servers write them: alone, in a list, as an object with an id, or not at all; and addresses in
// them.
import { checkTarget, isPlainObject, isPublicAddress } from '../../../src/lib/index.ts'

export type Fields = Readonly<Record<string, unknown>>

/** More of anything than this is never needed, and may be meant to be expensive. */
const maxItems = 32

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

// Addresses in others' documents: which of them may be fetched or kept, and what they have in common.

const maxLength = 1024
/** What a store can index and a header can carry. */
const plain = /^[\x21-\x7e]+$/

/** Whether it is https, public by its looks and short. `origins`: those the operator wrote down may be http, and on this machine. */
export function isSafeIri(text: unknown, origins: readonly string[]): text is string {
  if (typeof text !== 'string' || text.length > maxLength || !plain.test(text)) return false
  const isWrittenDown = URL.canParse(text) && origins.includes(new URL(text).origin)
  const isPublic = (address: string): boolean => isWrittenDown || isPublicAddress(address)
  return checkTarget(text, { pins: true, origins, isPublic }).ok
}

export function isSameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin
}

/** A fragment names something inside a document. */
export function documentUrl(iri: string): string {
  return iri.split('#', 1)[0] ?? iri
}

/** As servers compare them: an answer names its address in the parser's spelling. */
export function isSameIri(one: string, other: string): boolean {
  return one === other || (URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href)
}
