// What a signed URL in a message refers to, if its sender owns that. The URL is read and never fetched.
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { AttachmentStore } from '../../db/attachments.ts'
import type { AttachmentOwner } from '../descriptor.ts'
import type { ClaimOutcome } from '../desk.ts'
import { type HandleTokenDeps, verifyHandle } from '../handles/handle-token.ts'
import { rejectFile } from '../refusals.ts'
import { parseSignedUrl, type SignedUrl } from './parse-signed-url.ts'
import type { SignedUrlOrigin } from './url-place.ts'

export type ClaimDeps = HandleTokenDeps & {
  readonly attachments: Pick<AttachmentStore, 'byAddress'>
  readonly places: readonly SignedUrlOrigin[]
}

export async function claimObject(deps: ClaimDeps, raw: string, by: AttachmentOwner): Promise<ClaimOutcome> {
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
  const reading = await verifyHandle(deps, token, `${bucket}/${path}`)
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
