// Signatures of agent cards (A2A specification section 8.4): a JWS over the canonical form of the card without its signatures; and
// the keys for them.
import {
  base64url,
  calculateJwkThumbprint,
  createLocalJWKSet,
  exportJWK,
  FlattenedSign,
  flattenedVerify,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  SignJWT,
} from 'jose'
import type { ChannelDeps } from '../../../src/contract/index.ts'
import {
  canonicalJson,
  type Fields,
  GatewayError,
  isPlainObject,
  type JsonObject,
  stableStringify,
} from '../../../src/lib/index.ts'
import type { A2aSettings } from '../config.ts'

const algorithm = 'ES256'

type CardKey = {
  readonly kid: string
  /** The public key, as a JWK. */
  readonly publicJwk: JsonObject
  /** With its signature beside what is there already. `jku`: where the key can be read. */
  sign(card: JsonObject, jku: string): Promise<JsonObject>
  /** A JWT with these claims. */
  token(claims: JsonObject, jku: string): Promise<string>
}

/** A new one, as a private JWK. */
export async function makePrivateCardKeyJson(): Promise<string> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return JSON.stringify(await exportJWK(privateKey))
}

export async function readCardKey(text: string): Promise<CardKey> {
  const jwk = parseJwk(text)
  const kid = await calculateJwkThumbprint(jwk)
  const key = await importJWK(jwk, algorithm)
  const { kty, crv, x, y } = jwk
  return {
    kid,
    publicJwk: { kty: kty ?? '', crv: crv ?? '', x: x ?? '', y: y ?? '', kid, alg: algorithm, use: 'sig' },
    async sign(card, jku) {
      const payload = new TextEncoder().encode(cardSigningText(card))
      const header = { alg: algorithm, typ: 'JOSE', kid, jku }
      const { protected: protectedHeader = '', signature } = await new FlattenedSign(payload)
        .setProtectedHeader(header)
        .sign(key)
      return { ...card, signatures: [{ protected: protectedHeader, signature }] }
    },
    async token(claims, jku) {
      return new SignJWT(claims).setProtectedHeader({ alg: algorithm, typ: 'JWT', kid, jku }).sign(key)
    },
  }
}

function parseJwk(text: string): JWK {
  const throwBadKey = (): never => {
    throw new GatewayError('config_invalid', '[a2a] signing.key must be a private JWK on the curve P-256')
  }
  try {
    const jwk: unknown = JSON.parse(text)
    if (!isPlainObject(jwk) || jwk['kty'] !== 'EC' || jwk['crv'] !== 'P-256' || typeof jwk['d'] !== 'string')
      return throwBadKey()
    return jwk as JWK
  } catch {
    return throwBadKey()
  }
}

/** Members of a card and of what stands in it that are there even when they are empty: REQUIRED, or `optional` and set. */
const kept = new Set([
  'name',
  'description',
  'supportedInterfaces',
  'version',
  'capabilities',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
  'documentationUrl',
  'iconUrl',
  'streaming',
  'pushNotifications',
  'extendedAgentCard',
  'url',
  'protocolBinding',
  'protocolVersion',
  'organization',
  'id',
  'tags',
  'scheme',
  'location',
  'openIdConnectUrl',
  'flows',
  'authorizationUrl',
  'tokenUrl',
  'scopes',
  'deviceAuthorizationUrl',
])

/** What a signature is over: without `signatures`, without what is empty and need not be there, in one spelling. */
export function cardSigningText({ signatures: _signatures, ...card }: JsonObject): string {
  return canonicalJson(dropEmptyMembers(card))
}

function dropEmptyMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropEmptyMembers)
  if (!isPlainObject(value)) return value
  const entries = Object.entries(value).flatMap(([name, item]) => {
    // Of what is in a free object nothing is known, so nothing is left out of it.
    const inner = name === 'params' || name === 'header' ? item : dropEmptyMembers(item)
    return kept.has(name) || !isEmptyMember(inner) ? [[name, inner] as const] : []
  })
  return Object.fromEntries(entries)
}

/** An object that is there says so by being there: a message of the proto has no default. */
function isEmptyMember(value: unknown): boolean {
  return (
    value === '' || value === false || value === 0 || value === null || (Array.isArray(value) && value.length === 0)
  )
}

// Keys are as configured, else generated at first use and kept.

/** Undefined: nothing is signed here. */
export type OwnKey = () => Promise<CardKey | undefined>

export type OwnCardKeys = {
  readonly signing: OwnKey
  /** The public keys for verifiers, with those that were replaced lately. */
  readonly all: () => Promise<readonly CardKey[]>
}

/** Longer than verifiers cache our keys, and than a notification waits to be checked. */
const formerKeysMs = 48 * 60 * 60 * 1000

export function createCardKeys(
  { signing }: Pick<A2aSettings, 'signing'>,
  ownKeys: ChannelDeps['ownKeys'],
): OwnCardKeys {
  const known = new Map<string, Promise<CardKey>>()
  const readCachedKey = (text: string): Promise<CardKey> => {
    const key = known.get(text) ?? readCardKey(text)
    known.set(text, key)
    // A load that failed is tried again by the next caller.
    key.catch(() => known.delete(text))
    return key
  }
  const readSigningKeyRing = async () => {
    if (signing === false) return undefined
    const configured = signing?.key.reveal()
    return configured === undefined
      ? ownKeys?.ring('card', makePrivateCardKeyJson, formerKeysMs)
      : { signing: configured, all: [configured] }
  }
  return {
    async signing() {
      const ring = await readSigningKeyRing()
      return ring === undefined ? undefined : readCachedKey(ring.signing)
    },
    all: async () => Promise.all(((await readSigningKeyRing())?.all ?? []).map(readCachedKey)),
  }
}

export function cardKeysPath({ path }: Pick<A2aSettings, 'path'>): string {
  return `${path}/.well-known/jwks.json`
}

// Signatures of others are checked by keys the operator trusts: JWS (RFC 7515) over JCS (RFC 8785) of the card without its signatures.

/** A public key as JSON (RFC 7517). */
export type PublicJwk = { readonly kty?: string; readonly kid?: string; readonly [member: string]: unknown }

export type CardTrust = {
  /** Public keys, each with its `kid`. */
  readonly keys?: readonly PublicJwk[]
  /** Origins from which a signature may have its keys fetched (`jku`); without them none is. */
  readonly keyOrigins?: readonly string[]
}

export type KeySetReader = (url: string) => Promise<Fields | undefined>

const algorithms = ['EdDSA', 'Ed25519', 'ES256', 'ES384', 'PS256', 'RS256']
const maxSignatures = 8

export async function hasTrustedCardSignature(
  card: Fields,
  trust: CardTrust,
  readKeys: KeySetReader,
): Promise<boolean> {
  const { signatures, ...unsigned } = card
  const payloads = canonicalCardTexts(unsigned).map((text) => base64url.encode(text))
  for (const signature of Array.isArray(signatures) ? signatures.slice(0, maxSignatures) : []) {
    const keys = await trustedSignatureKeys(signature, trust, readKeys)
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
function canonicalCardTexts(card: Fields): readonly string[] {
  const readings = [stableStringify(card), stableStringify(dropEmptyValues(card) ?? {})]
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

async function trustedSignatureKeys(
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
  keys: readonly PublicJwk[] | undefined,
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
