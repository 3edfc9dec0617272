// Signatures of cards (A2A specification section 8.4): a JWS over the canonical form of the card without its signatures.
import { calculateJwkThumbprint, exportJWK, FlattenedSign, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import { GatewayError, type JsonObject } from '../../../src/contract/index.ts'
import { canonicalJson } from '../../../src/lib/index.ts'
import { isPlainObject } from '../wire/fields.ts'

const algorithm = 'ES256'

export type CardKey = {
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
