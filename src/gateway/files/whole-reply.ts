// All of a reply that is too long to be sent message by message: kept as a file, and given as one or behind a link.
import { errorLogFields } from '../../contract/index.ts'
import type { WholeReply } from '../../outbox/cut-reply.ts'
import type { GatewayDeps } from '../deps.ts'
import type { ReadyTurn } from '../prepare-turn.ts'
import { replyFacts } from '../turn-facts.ts'
import { deriveAttachmentId } from './attachment-id.ts'
import { storedPart } from './file-part.ts'

/** People come back to an answer later than to a file that they were just handed. */
const linkSeconds = 7 * 24 * 60 * 60
const name = 'answer.md'
const mime = 'text/markdown'

/**
 * Undefined where it cannot be kept: the beginning is sent all the same, and says so. The same words of the same turn are the same
 * file, however often the turn is tried.
 */
export async function keepWholeReply(
  deps: Pick<GatewayDeps, 'attachments' | 'hash' | 'log'>,
  ready: ReadyTurn,
  text: string,
  place: number,
): Promise<WholeReply | undefined> {
  const { at, turn } = ready
  const { wholeReply } = at.adapter.capabilities
  const { principal } = turn
  if (wholeReply === undefined || principal === null) return undefined
  try {
    const stored = await deps.attachments.store({
      id: await deriveAttachmentId(deps.hash, ['whole', turn.id, place, text]),
      body: new Blob([text]).stream(),
      declaredMime: mime,
      name,
      owner: { principal, threadId: replyFacts(ready).threadId },
      origin: { receivedVia: 'agent', nativeId: null },
    })
    if (stored.kind !== 'stored') return undefined
    const { descriptor } = stored
    await deps.attachments.use([descriptor.id], { inboxId: null, sessionId: turn.sessionId || null })
    if (wholeReply === 'link')
      return {
        url: (await deps.attachments.handle(descriptor, { principal, kind: 'person', seconds: linkSeconds })).url,
      }
    const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest: descriptor.sha256 } as const
    return { file: storedPart({ kind: 'file', bytes_ref, mime, name }, descriptor) }
  } catch (error) {
    deps.log.warn('reply_file_failed', {
      connection: at.key,
      trace: turn.traceId,
      ...errorLogFields(error, 'internal'),
    })
    return undefined
  }
}
