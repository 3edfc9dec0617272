// Hops 3-4: a signed URL in a message becomes the stored file it stands for, or the message is not taken. The URL goes no further.
import type { InboundEvent, InboundMessage, Part } from '../../contract/index.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'
import { type FilePart, isFilePart, storedPart } from './file-part.ts'

export type Claimed =
  | { readonly kind: 'claimed'; readonly arrivals: readonly InboundEvent[] }
  /** `code`: a `SignedUrlCode`. */
  | { readonly kind: 'refused'; readonly of: InboundMessage; readonly code: string; readonly remedy: string }

type UrlPart = FilePart & { readonly bytes_ref: { readonly kind: 'url' } }

/** An unverified sender owns nothing. */
const nobody = ''

export function hasFiles(arrived: InboundEvent): arrived is InboundMessage {
  return arrived.kind === 'message' && arrived.message.parts.some(isFilePart)
}

/** All of an inbound event or nothing. */
export async function claimFiles(
  deps: Pick<GatewayDeps, 'attachments'>,
  { adapter }: Pick<GatewayConnection, 'adapter'>,
  arrivals: readonly InboundEvent[],
): Promise<Claimed> {
  const takesUrls = adapter.capabilities.takesFileUrls === 'own'
  const claimed: InboundEvent[] = []
  for (const arrived of arrivals) {
    if (!hasFiles(arrived)) {
      claimed.push(arrived)
      continue
    }
    const parts: Part[] = []
    for (const given of arrived.message.parts) {
      const part = withoutClaims(given)
      const outcome =
        takesUrls && isUrlPart(part) ? await claimOne(deps, arrived, part) : { kind: 'kept' as const, part }
      if (outcome.kind === 'refused') return { ...outcome, of: arrived }
      parts.push(outcome.part)
    }
    claimed.push({ ...arrived, message: { ...arrived.message, parts } })
  }
  return { kind: 'claimed', arrivals: claimed }
}

async function claimOne({ attachments }: Pick<GatewayDeps, 'attachments'>, arrived: InboundMessage, part: UrlPart) {
  const owner = { principal: arrived.subject ?? nobody, threadId: arrived.message.thread_id }
  const outcome = await attachments.claim(part.bytes_ref.url, owner)
  return outcome.kind === 'refused' ? outcome : { kind: 'kept' as const, part: storedPart(part, outcome.descriptor) }
}

/** Which stored file a part stands for is found here and never believed: a name of one is no right to it. */
function withoutClaims(part: Part): Part {
  if (!isFilePart(part) || part.attachment === undefined) return part
  const { attachment: _claimed, ...rest } = part
  return rest
}

function isUrlPart(part: Part): part is UrlPart {
  return isFilePart(part) && part.bytes_ref.kind === 'url'
}
