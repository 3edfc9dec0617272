// The token of our own handles: one object, one reader, one tenant, for reading, for a short while.
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { sha256Hex } from '../../lib/index.ts'
import type { AttachmentDescriptor } from '../descriptor.ts'
import type { HandleReader } from '../desk.ts'
import type { SignedUrlCode } from '../signed-url-code.ts'
import type { SigningKeys } from '../signing-keys.ts'

export type HandleTokenDeps = { readonly keys: SigningKeys; readonly tenant: string; readonly now: () => number }

export type HandleClaims = {
  readonly attachmentId: string
  readonly reader: HandleReader['kind']
  /** Whether the token was made for this principal. */
  readonly isFor: (principal: string) => Promise<boolean>
}

export type HandleVerification = { readonly claims: HandleClaims } | { readonly code: SignedUrlCode }

const algorithm = 'HS256'
const scope = 'download'
const maxKeyIdLength = 64

export async function signHandle(
  { keys, tenant, now }: HandleTokenDeps,
  { id, bucket, path }: AttachmentDescriptor,
  { kind, principal }: HandleReader,
  seconds: number,
): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
  const key = await keys.current()
  const issuedAt = Math.floor(now() / 1000)
  const jti = crypto.randomUUID()
  const claims = { url: `${bucket}/${path}`, scope, for: `${kind}:${await hashReader(jti, principal)}` }
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid: key.id })
    .setSubject(id)
    .setAudience(downloadAudience(tenant))
    .setJti(jti)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + seconds)
    .sign(key.secret)
  return { token, expiresAtMs: (issuedAt + seconds) * 1000 }
}

/** Whatever is wrong before the signature holds has one answer: a stranger learns nothing by varying a guess. */
export async function verifyHandle(
  { keys, tenant, now }: HandleTokenDeps,
  token: string,
  object: string,
): Promise<HandleVerification> {
  try {
    const { payload } = await jwtVerify(token, async ({ kid }) => findSigningKey(keys, kid), {
      algorithms: [algorithm],
      audience: downloadAudience(tenant),
      requiredClaims: ['exp', 'iat', 'sub', 'jti', 'url', 'for', 'scope'],
      currentDate: new Date(now()),
      clockTolerance: 0,
    })
    return readHandleClaims(payload, object)
  } catch (error) {
    // Both are judged after the signature.
    if (error instanceof errors.JWTExpired) return { code: 'SU_EXPIRED' }
    if (error instanceof errors.JWTClaimValidationFailed) return { code: 'SU_TOKEN_MISMATCH' }
    if (error instanceof errors.JOSEError) return { code: 'SU_TOKEN_MALFORMED' }
    throw error
  }
}

async function findSigningKey(keys: SigningKeys, kid: string | undefined): Promise<Uint8Array> {
  const key = kid === undefined || kid.length > maxKeyIdLength ? undefined : await keys.find(kid)
  if (key === undefined) throw new errors.JWSSignatureVerificationFailed()
  return key.secret
}

function readHandleClaims(payload: JWTPayload, object: string): HandleVerification {
  const { sub = '', jti = '', url, scope: given, for: reader } = payload
  if (given !== scope) return { code: 'SU_SCOPE' }
  const [kind, mark] = String(reader).split(':')
  if (url !== object || (kind !== 'person' && kind !== 'agent')) return { code: 'SU_TOKEN_MISMATCH' }
  const isHandleReader = async (principal: string) => (await hashReader(jti, principal)) === mark
  return { claims: { attachmentId: sub, reader: kind, isFor: isHandleReader } }
}

/** URLs travel: the reader stands in them as a mark that is different every time, not by name. */
async function hashReader(jti: string, principal: string): Promise<string> {
  return (await sha256Hex(`${jti}\n${principal}`)).slice(0, 32)
}

function downloadAudience(tenant: string): string {
  return `parley:${tenant}:attachment-download`
}
