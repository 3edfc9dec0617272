// A request as its signature sees it, and what a signature claims about it.
import type { RawRequest } from '../../../src/contract/index.ts'

export type SignedRequest = {
  readonly method: string
  /** Our public scheme and authority: a signature for another server's address is none for ours. */
  readonly scheme: string
  readonly authority: string
  readonly path: string
  /** With its question mark; empty where there is none. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
}

export type Algorithm = 'rsa-v1_5-sha256' | 'rsa-pss-sha512' | 'ecdsa-p256-sha256' | 'ed25519'

export type SignatureClaim = {
  readonly keyId: string
  /** Undefined: whichever the key is made for. */
  readonly algorithm: Algorithm | undefined
  readonly signature: Uint8Array<ArrayBuffer>
  /** What may have been signed; more than one where servers differ about it. */
  readonly texts: readonly string[]
}

export const longestKeyId = 2048
const fieldName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/

export function toSignedRequest({ headers }: RawRequest, origin: string, method = 'POST'): SignedRequest {
  const { protocol, host } = new URL(origin)
  const target = headers[':path'] ?? '/'
  const at = target.indexOf('?')
  return {
    method,
    scheme: protocol.slice(0, -1),
    authority: host,
    path: at < 0 ? target : target.slice(0, at),
    query: at < 0 ? '' : target.slice(at),
    headers,
  }
}

/** Whether it asks for something and brings no body that could be signed. */
export function isQuestion({ method }: SignedRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Undefined: there is no such header. What stands for the request itself (`:path`) is no header. */
export function signedHeader({ headers, authority }: SignedRequest, name: string): string | undefined {
  if (!fieldName.test(name) || !Object.hasOwn(headers, name)) return name === 'host' ? authority : undefined
  const value = headers[name]?.trim()
  return name === 'host' ? normalizeHost(value, authority) : value
}

/** As it was written, if it is ours. Behind a proxy it may be another: then our public one counts. */
function normalizeHost(given: string | undefined, authority: string): string {
  const isOurs = given?.toLowerCase().replace(/:(?:443|80)$/, '') === authority
  return isOurs && given !== undefined ? given : authority
}
