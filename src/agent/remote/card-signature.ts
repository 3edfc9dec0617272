// Whether a card was signed by whom the operator trusts: JWS (RFC 7515) over JCS (RFC 8785) of the card without its signatures.
import { base64url, createLocalJWKSet, flattenedVerify, type JSONWebKeySet, type JWK } from 'jose'
import type { Fields } from '../../contract/index.ts'
import { isPlainObject } from '../fields.ts'
import { canonicalJson } from '../tools/canonical-json.ts'

export type CardTrust = {
  /** Public keys, each with its `kid`. */
  readonly keys?: readonly JWK[]
  /** Origins from which a signature may have its keys fetched (`jku`); without them none is. */
  readonly keyOrigins?: readonly string[]
}

export type KeySetReader = (url: string) => Promise<Fields | undefined>

const algorithms = ['EdDSA', 'Ed25519', 'ES256', 'ES384', 'PS256', 'RS256']
const maxSignatures = 8

export async function isSignedBy(card: Fields, trust: CardTrust, readKeys: KeySetReader): Promise<boolean> {
  const { signatures, ...unsigned } = card
  const payloads = canonicalReadings(unsigned).map((text) => base64url.encode(text))
  for (const signature of Array.isArray(signatures) ? signatures.slice(0, maxSignatures) : []) {
    const keys = await signatureKeys(signature, trust, readKeys)
    for (const payload of keys === undefined ? [] : payloads) {
      if (await verifyCardSignature(signature, payload, keys)) return true
    }
  }
  return false
}

/**
 * The section on signing can be read in two ways, and both are in use: the card as it stands, and the card without whatever is
 * empty. A card without empty members is the same in both.
 */
function canonicalReadings(card: Fields): readonly string[] {
  const readings = [canonicalJson(card), canonicalJson(dropEmptyValues(card) ?? {})]
  return [...new Set(readings)]
}

function dropEmptyValues(value: unknown): unknown {
  if (value === null || value === '') return undefined
  if (Array.isArray(value)) {
    const kept = value.map(dropEmptyValues).filter((item) => item !== undefined)
    return kept.length === 0 ? undefined : kept
  }
  if (!isPlainObject(value)) return value
  const kept = Object.entries(value).map(([key, item]) => [key, dropEmptyValues(item)] as const)
  const full = kept.filter(([, item]) => item !== undefined)
  return full.length === 0 ? undefined : Object.fromEntries(full)
}

async function signatureKeys(
  signature: unknown,
  { keys = [], keyOrigins = [] }: CardTrust,
  readKeys: KeySetReader,
): Promise<readonly JWK[] | undefined> {
  const header = protectedHeader(signature)
  if (header === undefined || typeof header['kid'] !== 'string') return undefined
  const pinned = keys.filter(({ kid }) => kid === header['kid'])
  if (pinned.length > 0) return pinned
  const { jku } = header
  const isAllowed = typeof jku === 'string' && URL.canParse(jku) && keyOrigins.includes(new URL(jku).origin)
  const set = isAllowed ? await readKeys(jku) : undefined
  const listed: unknown = set?.['keys']
  return Array.isArray(listed)
    ? listed.filter((key): key is JWK => isPlainObject(key) && key['kid'] === header['kid'])
    : undefined
}

function protectedHeader(signature: unknown): Fields | undefined {
  if (!isPlainObject(signature) || typeof signature['protected'] !== 'string') return undefined
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(base64url.decode(signature['protected'])))
    return isPlainObject(header) ? header : undefined
  } catch {
    return undefined
  }
}

async function verifyCardSignature(
  signature: unknown,
  payload: string,
  keys: readonly JWK[] | undefined,
): Promise<boolean> {
  if (!isPlainObject(signature) || keys === undefined || keys.length === 0) return false
  const { protected: head, signature: value } = signature
  if (typeof head !== 'string' || typeof value !== 'string') return false
  const set: JSONWebKeySet = { keys: keys.map((key) => ({ ...key })) }
  try {
    await flattenedVerify({ payload, protected: head, signature: value }, createLocalJWKSet(set), { algorithms })
    return true
  } catch {
    return false
  }
}
