// Files of a reply are stored before rendering, so that rows hold ids and never bytes, and are checked to be the agent's to send.

import type { AgentContext } from '../agents/context.ts'
import type { KnownPart, NormalizedResponse, Part } from '../contract/index.ts'
import { type FilePart, isFilePart } from '../contract/parts.ts'
import type { AttachmentService, IncomingFile, StoreOutcome } from '../files/attachment.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { Json } from '../lib/json-value.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import { say } from '../locales/say.ts'
import {
  base64ToStream,
  deriveAttachmentId,
  listAttachmentIds,
  missingFileTextPart,
  toStoredPart,
} from '../turns/file-part.ts'
import { replyFields, type TurnContext } from '../turns/turn-context.ts'
import type { TurnFiles, TurnFilesContext } from '../turns/turn-files.ts'
import type { WholeReply } from './render.ts'

/** This gateway has no place for files. */
type ReplyFileNotStored = { readonly kind: 'refused'; readonly code: undefined }

export type ReplyFileContext = TurnFilesContext & {
  readonly files: TurnFiles
  readonly step: AgentContext['step']
  readonly hash: (text: string) => Promise<string>
  readonly turn: { readonly id: string; readonly sessionId: string }
  readonly emit: AgentContext['emit']
}

/** The replies of a turn in order, each as it can be stored and sent. */
export async function storeFilesOfReplies<Reply extends NormalizedResponse | undefined>(
  context: ReplyFileContext,
  replies: readonly Reply[],
): Promise<readonly Reply[]> {
  const kept: Reply[] = []
  for (const [index, reply] of replies.entries()) {
    if (reply === undefined || !reply.parts.some(isFilePart)) kept.push(reply)
    else kept.push({ ...reply, parts: await storeReplyParts(context, reply.parts, index) })
  }
  return kept
}

async function storeReplyParts(context: ReplyFileContext, parts: readonly Part[], reply: number): Promise<Part[]> {
  const kept: Part[] = []
  for (const [index, part] of parts.entries()) {
    kept.push(isFilePart(part) ? await storeReplyPart(context, part, [reply, index]) : part)
  }
  const ids = listAttachmentIds(kept)
  const sessionId = context.turn.sessionId || null
  if (ids.length > 0) await context.attachments.use(ids, { inboxId: null, sessionId })
  return kept
}

async function storeReplyPart(context: ReplyFileContext, part: FilePart, index: readonly number[]): Promise<Part> {
  const { bytes_ref: ref, attachment } = part
  if (attachment !== undefined) {
    const descriptor = await context.files.find(attachment.id)
    return descriptor === undefined
      ? replaceRefusedFileByText(context, part, 'not_yours')
      : toStoredPart(part, descriptor)
  }
  switch (ref.kind) {
    case 'inline':
      return storeInlineFile(context, part, ref.data_base64, index)
    case 'url':
      return claimFileUrlOrMakeLink(context, part, ref.url)
    case 'content_addressed':
    case 'channel':
      return replaceRefusedFileByText(context, part, 'no_such_file')
    default:
      return ref satisfies never
  }
}

/** The same bytes at the same place of the same turn are the same file, however often the turn is tried. */
async function storeInlineFile(
  context: ReplyFileContext,
  part: FilePart,
  data: string,
  index: readonly number[],
): Promise<Part> {
  const { principal, threadId, turn } = context
  const id = await deriveAttachmentId(context.hash, ['out', turn.id, [...index], data])
  const storeInlineFileOnce = async (): Promise<Json> => {
    const stored = await storeReplyFile(context, {
      id,
      body: base64ToStream(data),
      ...(part.mime === undefined ? {} : { declaredMime: part.mime }),
      ...(part.name === undefined ? {} : { name: part.name }),
      owner: { principal, threadId },
      origin: { receivedVia: 'agent', nativeId: null },
    })
    if (stored.kind === 'stored') return toStoredPart(part, stored.descriptor) as Json
    return missingFileTextPart(
      part,
      stored.code === undefined ? say('file.unavailable') : say('file.refused', { code: stored.code }),
    ) as Json
  }
  // The journal gives back the part that was put into it.
  return (await context.step('parley/reply-file', storeInlineFileOnce, { effect: false, args: id })) as KnownPart
}

/** Of what the step comes to, only an outage may be tried again: the words of the answer are the agent's and are there. */
async function storeReplyFile(
  { attachments }: ReplyFileContext,
  file: IncomingFile,
): Promise<StoreOutcome | ReplyFileNotStored> {
  try {
    return await attachments.store(file)
  } catch (error) {
    if (isGatewayError(error, 'config_invalid')) return { kind: 'refused', code: undefined }
    if (isGatewayError(error, 'replay_stopped')) throw error
    throw new GatewayError('provider_unavailable', '[gateway] files cannot be stored; see the blob store', {
      retryable: true,
      cause: error,
    })
  }
}

/** An agent may hand back the handle it was given. Any other address is for people to follow, and nothing is fetched. */
async function claimFileUrlOrMakeLink(context: ReplyFileContext, part: FilePart, url: string): Promise<Part> {
  const { principal, threadId } = context
  const claimed = await context.attachments.claim(url, { principal, threadId })
  if (claimed.kind === 'claimed') return toStoredPart(part, claimed.descriptor)
  if (claimed.code !== 'SU_HOST') return replaceRefusedFileByText(context, part, claimed.code)
  const { name, mime } = part
  return { kind: 'link', url, ...(name === undefined ? {} : { title: name }), ...(mime === undefined ? {} : { mime }) }
}

function replaceRefusedFileByText({ emit }: ReplyFileContext, part: FilePart, reason: string): Part {
  emit('reply_file_refused', { reason })
  return missingFileTextPart(part, say('file.unavailable'))
}

// A reply that is too long to be sent message by message is stored as a file, and sent as one or behind a link.

/** People come back to an answer later than to a file that they were just handed. */
const linkSeconds = 7 * 24 * 60 * 60
const name = 'answer.md'
const mime = 'text/markdown'

/**
 * Undefined where it cannot be kept: the beginning is sent all the same, and says so. The same words of the same turn are the same
 * file, however often the turn is tried.
 */
export async function storeWholeReply(
  deps: {
    readonly attachments: AttachmentService
    readonly hash: (text: string) => Promise<string>
    readonly log: Log
  },
  ready: TurnContext,
  text: string,
  index: number,
): Promise<WholeReply | undefined> {
  const { at, turn } = ready
  const { wholeReply } = at.adapter.capabilities
  const { principal } = turn
  if (wholeReply === undefined || principal === null) return undefined
  try {
    const stored = await deps.attachments.store({
      id: await deriveAttachmentId(deps.hash, ['whole', turn.id, index, text]),
      body: new Blob([text]).stream(),
      declaredMime: mime,
      name,
      owner: { principal, threadId: replyFields(ready).threadId },
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
    return { file: toStoredPart({ kind: 'file', bytes_ref, mime, name }, descriptor) }
  } catch (error) {
    deps.log.warn('reply_file_failed', {
      connection: at.key,
      trace: turn.traceId,
      ...errorLogFields(error, 'internal'),
    })
    return undefined
  }
}
