// Signed URLs of our own: one object, one reader, one tenant, for reading, for a short while.
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { AttachmentStore } from '../db/attachments.ts'
import type { SigningKeys } from '../db/signing-keys.ts'
import { sha256Hex } from '../lib/index.ts'
import {
  type AttachmentDescriptor,
  type AttachmentOwner,
  type ClaimOutcome,
  type HandleReader,
  type RedeemOutcome,
  rejectFile,
  type SignedUrlCode,
} from './attachment.ts'
import { parseOwnRequestUrl, parseSignedUrl, type SignedUrl, type SignedUrlOrigin } from './parse-signed-url.ts'

type HandleTokenDeps = { readonly keys: SigningKeys; readonly tenant: string; readonly now: () => number }

type HandleClaims = {
  readonly attachmentId: string
  readonly reader: HandleReader['kind']
  /** Whether the token was made for this principal. */
  readonly isFor: (principal: string) => Promise<boolean>
}

export type HandleVerification = { readonly claims: HandleClaims } | { readonly code: SignedUrlCode }

const algorithm = 'HS256'
const scope = 'download'
const maxKeyIdLength = 64

export async function signDownloadToken(
  { keys, tenant, now }: HandleTokenDeps,
  { id, bucket, path }: AttachmentDescriptor,
  { kind, principal }: HandleReader,
  seconds: number,
): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
  const key = await keys.current()
  const issuedAt = Math.floor(now() / 1000)
  const jti = crypto.randomUUID()
  const claims = { url: `${bucket}/${path}`, scope, for: `${kind}:${await hashPrincipalWithTokenId(jti, principal)}` }
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
async function verifyDownloadToken(
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
    return readDownloadClaims(payload, object)
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

function readDownloadClaims(payload: JWTPayload, object: string): HandleVerification {
  const { sub = '', jti = '', url, scope: given, for: reader } = payload
  if (given !== scope) return { code: 'SU_SCOPE' }
  const [kind, mark] = String(reader).split(':')
  if (url !== object || (kind !== 'person' && kind !== 'agent')) return { code: 'SU_TOKEN_MISMATCH' }
  const isDownloadReader = async (principal: string) => (await hashPrincipalWithTokenId(jti, principal)) === mark
  return { claims: { attachmentId: sub, reader: kind, isFor: isDownloadReader } }
}

/** URLs travel: the reader stands in them as a mark that is different every time, not by name. */
async function hashPrincipalWithTokenId(jti: string, principal: string): Promise<string> {
  return (await sha256Hex(`${jti}\n${principal}`)).slice(0, 32)
}

function downloadAudience(tenant: string): string {
  return `parley:${tenant}:attachment-download`
}

// The token is judged before anything is looked up, the row after it.

export type RedeemDeps = HandleTokenDeps & { readonly attachments: Pick<AttachmentStore, 'byId'> }

export const handlePath = '/storage/v1/object/sign'
const endpoint = handlePath.slice(1).split('/')

/** `rawUrl` as the listener got it: a path with its query, or the whole URL. */
export async function verifyDownloadUrl(deps: RedeemDeps, rawUrl: string): Promise<RedeemOutcome> {
  const read = parseOwnRequestUrl(rawUrl)
  if (!read.ok) return rejectFile(read.code)
  const { segments, query } = read.url
  const isHandle = segments.length > endpoint.length + 1 && endpoint.every((each, index) => segments[index] === each)
  if (!isHandle) return rejectFile('SU_FORM')
  const tokens = query.filter(([name]) => name === 'token').map(([, value]) => value)
  if (tokens.length > 1) return rejectFile('SU_DUP_PARAM')
  const object = segments.slice(endpoint.length).join('/')
  const reading = await verifyDownloadToken(deps, tokens[0] ?? '', object)
  if ('code' in reading) return rejectFile(reading.code)
  return checkDownloadReader(await deps.attachments.byId(reading.claims.attachmentId), reading.claims, object)
}

async function checkDownloadReader(
  descriptor: AttachmentDescriptor | undefined,
  { reader, isFor }: HandleClaims,
  object: string,
): Promise<RedeemOutcome> {
  if (descriptor === undefined || `${descriptor.bucket}/${descriptor.path}` !== object)
    return rejectFile('SU_UNKNOWN_OBJECT')
  if (descriptor.status !== 'ready') return rejectFile('SU_BLOCKED')
  if (reader === 'person' && !(await isFor(descriptor.owner.principal))) return rejectFile('SU_OWNER')
  return { kind: 'redeemed', descriptor }
}

// A signed URL in a message refers to a file if its sender owns that. The URL is read and never fetched.

export type ClaimDeps = HandleTokenDeps & {
  readonly attachments: Pick<AttachmentStore, 'byAddress'>
  readonly places: readonly SignedUrlOrigin[]
}

export async function findOwnedFileBySignedUrl(
  deps: ClaimDeps,
  raw: string,
  by: AttachmentOwner,
): Promise<ClaimOutcome> {
  const parsed = parseSignedUrl(raw, deps.places)
  if (parsed.kind === 'refused') return parsed
  if (await isTokenForged(deps, parsed)) return rejectFile('SU_TOKEN_MALFORMED')
  const { store, bucket, path } = parsed
  const found = await deps.attachments.byAddress({ store, bucket, path })
  // An expired URL still says which object was meant; without a record of ours it says nothing any more.
  if (found.length === 0) return rejectFile(isSignedUrlExpired(parsed, deps.now()) ? 'SU_EXPIRED' : 'SU_UNKNOWN_OBJECT')
  const owned = found.filter((descriptor) => isSameOwner(descriptor.owner, by))
  if (owned.length === 0) return rejectFile('SU_OWNER')
  const ready = owned.filter(({ status }) => status === 'ready')
  const descriptor = ready.find(({ id }) => id === readTokenAttachmentId(parsed)) ?? ready[0]
  return descriptor === undefined ? rejectFile('SU_BLOCKED') : { kind: 'claimed', descriptor }
}

function isSameOwner(owner: AttachmentOwner, by: AttachmentOwner): boolean {
  const isSameThread = owner.threadId === null || by.threadId === null || owner.threadId === by.threadId
  return owner.principal === by.principal && isSameThread
}

/** Only our own tokens can be checked. A key that is long retired proves nothing either way; the record decides then. */
async function isTokenForged(deps: ClaimDeps, { form, token, bucket, path }: SignedUrl): Promise<boolean> {
  if (form !== 'own' || token === null) return false
  const keyId = readTokenKeyId(token)
  if (keyId === undefined) return true
  if ((await deps.keys.find(keyId)) === undefined) return false
  const reading = await verifyDownloadToken(deps, token, `${bucket}/${path}`)
  return 'code' in reading && reading.code !== 'SU_EXPIRED'
}

function readTokenKeyId(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return kid !== undefined && kid.length <= 64 ? kid : undefined
  } catch {
    return undefined
  }
}

/** One person may have sent the same bytes twice; our own handles name the descriptor that was meant. */
function readTokenAttachmentId({ form, token }: SignedUrl): string | undefined {
  return form === 'own' && token !== null ? decodeJwt(token).sub : undefined
}

function isSignedUrlExpired({ expiresAtMs }: SignedUrl, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs
}
