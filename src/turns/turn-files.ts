// The files of a turn before its agent runs: brought, kept, and handed out anew with everything that was said.

import type { AgentFiles } from '../agents/context.ts'
import {
  GatewayError,
  type HistoricalMessage,
  type InboundEvent,
  type InboundMessage,
  type NormalizedMessage,
  type Part,
  type SourcedFile,
} from '../contract/index.ts'
import type { AttachmentDescriptor } from '../files/attachment.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'
import { bringFiles, type FetchContext } from './fetch-files.ts'
import { type FilePart, isFilePart, listAttachmentIds, missingPart, noLongerThere, storedPart } from './file-part.ts'
import type { Absorbed } from './plan-turn.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { replyFacts } from './turn-labels.ts'

export type OpenedTurnFiles = {
  readonly files: TurnFiles
  readonly members: readonly NormalizedMessage[]
  readonly history: readonly HistoricalMessage[]
  /** For messages that join the turn while it runs. */
  readonly bring: (entries: readonly Absorbed[]) => Promise<readonly Absorbed[]>
}

export async function openTurnFiles(
  scene: FetchContext & { readonly ready: ReadyTurn },
  history: readonly HistoricalMessage[],
): Promise<OpenedTurnFiles> {
  const { deps, ready } = scene
  const { members, turn } = ready
  const brought = await bringFiles(scene, members)
  members.splice(0, members.length, ...brought)
  const whose = { principal: turn.principal ?? '', threadId: replyFacts(ready).threadId }
  const listSaidParts = (): readonly (readonly Part[])[] =>
    [...members.map(({ message }) => message), ...history].map(getParts)
  const files = createTurnFiles({ attachments: deps.attachments, ...whose }, listSaidParts)
  return {
    files,
    members: await Promise.all(members.map(({ message }) => messageForAgent(files, { ...message, raw: null }))),
    history: await historyForAgent(files, history),
    bring: (entries) => bringFiles(scene, entries),
  }
}

async function messageForAgent(files: TurnFiles, message: NormalizedMessage): Promise<NormalizedMessage> {
  return message.parts.some(isFilePart) ? { ...message, parts: await files.handed(message.parts) } : message
}

function getParts({ parts }: { readonly parts: readonly Part[] }): readonly Part[] {
  return parts
}

// Files as an agent gets them: a fresh handle in every part that stands for one, and the bytes for agents in this process.

export type TurnFilesContext = {
  readonly attachments: GatewayDeps['attachments']
  /** Whom the turn is for, and in which thread. */
  readonly principal: string
  readonly threadId: string
}

export type TurnFiles = AgentFiles & {
  /** Parts as they go to an agent: made anew each time, never kept. */
  readonly handed: (parts: readonly Part[]) => Promise<Part[]>
  /** A file this turn may use, by its id. */
  readonly find: (id: string) => Promise<AttachmentDescriptor | undefined>
}

/** `said`: everything the turn was shown. What stands in it may be used, whichever participant sent it. */
function createTurnFiles(scene: TurnFilesContext, said: () => readonly (readonly Part[])[]): TurnFiles {
  const isFileShown = (id: string): boolean => said().some((parts) => listAttachmentIds(parts).includes(id))
  const findTurnFile = async (id: string): Promise<AttachmentDescriptor | undefined> => {
    const [found] = await scene.attachments.find([id])
    return found?.status === 'ready' && (isFileShown(id) || isOwnFile(scene, found)) ? found : undefined
  }
  const openTurnFile = async (id: string): Promise<SourcedFile | undefined> => {
    const descriptor = await findTurnFile(id)
    const body = descriptor === undefined ? undefined : await scene.attachments.open(descriptor)
    if (descriptor === undefined || body === undefined) return undefined
    const { size, mimeType, name } = descriptor
    return { body, size, mimeType, name: name ?? 'file' }
  }
  return {
    find: findTurnFile,
    open: openTurnFile,
    bytes: async (id, maxBytes) => {
      const file = await openTurnFile(id)
      return file === undefined ? undefined : readFileBytes(file, maxBytes)
    },
    handed: (parts) => withHandles(scene, parts),
  }
}

async function historyForAgent(
  files: Pick<TurnFiles, 'handed'>,
  history: readonly HistoricalMessage[],
): Promise<readonly HistoricalMessage[]> {
  return Promise.all(
    history.map(async (turn) =>
      turn.parts.some(isFilePart) ? { ...turn, parts: await files.handed(turn.parts) } : turn,
    ),
  )
}

function isOwnFile({ principal, threadId }: TurnFilesContext, { owner }: AttachmentDescriptor): boolean {
  return owner.principal === principal && (owner.threadId === null || owner.threadId === threadId)
}

async function withHandles(scene: TurnFilesContext, parts: readonly Part[]): Promise<Part[]> {
  const ids = listAttachmentIds(parts)
  const found = ids.length === 0 ? [] : await scene.attachments.find(ids)
  const byId = new Map(found.map((descriptor) => [descriptor.id, descriptor]))
  return Promise.all(parts.map((part) => (isFilePart(part) ? withHandle(scene, part, byId) : part)))
}

async function withHandle(
  { attachments, principal }: TurnFilesContext,
  part: FilePart,
  byId: ReadonlyMap<string, AttachmentDescriptor>,
): Promise<Part> {
  const descriptor = byId.get(part.attachment?.id ?? '')
  if (descriptor?.status !== 'ready') return missingPart(part, noLongerThere)
  const { url, expiresAt } = await attachments.handle(descriptor, { principal, kind: 'agent' })
  return { ...part, bytes_ref: { kind: 'url', url, expires_at: expiresAt } }
}

async function readFileBytes({ body, size }: SourcedFile, maxBytes: number): Promise<Uint8Array> {
  if (size > maxBytes) {
    await body.cancel().catch(() => undefined)
    throw new GatewayError('bad_request', `[agent] the file has ${size} bytes; ask for at most as many as you can hold`)
  }
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer())
}

// Hops 3-4: a signed URL in a message becomes the stored file it stands for, or the message is not taken. The URL goes no further.

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
