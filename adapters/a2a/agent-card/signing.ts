// Signatures of agent cards (A2A specification section 8.4): a JWS over the canonical form of the card without its signatures; and
// the keys for them.
import { calculateJwkThumbprint, exportJWK, FlattenedSign, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import { type ChannelKeys, GatewayError, type JsonObject } from '../../../src/contract/index.ts'
import { canonicalJson, isPlainObject } from '../../../src/lib/index.ts'
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
export async function makeCardKey(): Promise<string> {
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
  ownKeys: ChannelKeys | undefined,
): OwnCardKeys {
  const known = new Map<string, Promise<CardKey>>()
  const readCachedKey = (text: string): Promise<CardKey> => {
    const key = known.get(text) ?? readCardKey(text)
    known.set(text, key)
    // A load that failed is tried again by the next caller.
    key.catch(() => known.delete(text))
    return key
  }
  const readSigningKey = async () => {
    if (signing === false) return undefined
    const configured = signing?.key.reveal()
    return configured === undefined
      ? ownKeys?.ring('card', makeCardKey, formerKeysMs)
      : { signing: configured, all: [configured] }
  }
  return {
    async signing() {
      const ring = await readSigningKey()
      return ring === undefined ? undefined : readCachedKey(ring.signing)
    },
    all: async () => Promise.all(((await readSigningKey())?.all ?? []).map(readCachedKey)),
  }
}

export function keysPath({ path }: Pick<A2aSettings, 'path'>): string {
  return `${path}/.well-known/jwks.json`
}
