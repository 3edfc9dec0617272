// Hops 3-4: a signed URL in a message becomes the stored file it stands for, or the message is not taken. The URL goes no further.
import type { ArrivedMessage, Part } from '../../contract/index.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'
import { type FilePart, isFilePart, storedPart } from './file-part.ts'

export type ClaimedArrival =
  | { readonly kind: 'claimed'; readonly arrived: ArrivedMessage }
  /** `code` of msg 14.7. */
  | { readonly kind: 'refused'; readonly code: string; readonly remedy: string }

type UrlPart = FilePart & { readonly bytes_ref: { readonly kind: 'url' } }

/** Whoever proved nothing owns nothing. */
const nobody = ''

export async function claimFiles(
  deps: Pick<GatewayDeps, 'attachments'>,
  { adapter }: Pick<GatewayConnection, 'adapter'>,
  arrived: ArrivedMessage,
): Promise<ClaimedArrival> {
  const { parts } = arrived.message
  if (adapter.capabilities.takesFileUrls !== 'own' || !parts.some(isUrlPart)) return { kind: 'claimed', arrived }
  const owner = { principal: arrived.subject ?? nobody, threadId: arrived.message.thread_id }
  const claimed: Part[] = []
  for (const part of parts) {
    if (!isUrlPart(part)) {
      claimed.push(part)
      continue
    }
    const outcome = await deps.attachments.claim(part.bytes_ref.url, owner)
    if (outcome.kind === 'refused') return { kind: 'refused', code: outcome.code, remedy: outcome.remedy }
    claimed.push(storedPart(part, outcome.descriptor))
  }
  return { kind: 'claimed', arrived: { ...arrived, message: { ...arrived.message, parts: claimed } } }
}

function isUrlPart(part: Part): part is UrlPart {
  return isFilePart(part) && part.bytes_ref.kind === 'url'
}
