// Addresses that others write into their documents: which of them may be asked or kept, and what they have in common.
import { checkTarget, isPublicAddress } from '../../../src/lib/index.ts'

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
