// Files of a turn: downloaded from the platform before the agent runs, stored, and given to the agent with signed URLs.
import type { AgentContext } from '../agents/context.ts'
import type { SourcedFile } from '../contract/channel.ts'
import type { InboundEvent, InboundMessage, KnownPart, NormalizedMessage, OpenedFile, Part } from '../contract/index.ts'
import type { HistoricalMessage } from '../contract/message.ts'
import { containFiles, type FilePart, isFilePart } from '../contract/parts.ts'
import type { AgentFiles } from '../contract/remote-agent.ts'
import type { StoredMessage } from '../db/turn-rows.ts'
import type {
  AttachmentDescriptor,
  AttachmentService,
  IncomingFile,
  SignedUrlCode,
  StoreOutcome,
} from '../files/attachment.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import {
  base64ToStream,
  deriveAttachmentId,
  isMessageWithFiles,
  listAttachmentIds,
  missingFileTextPart,
  noLongerThere,
  toStoredPart,
} from './file-part.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { Absorbed } from './plan-turn.ts'
import type { TurnServices } from './services.ts'
import type { TurnContext } from './turn-context.ts'

/** Files of the messages are fetched; messages and history get a handle in every part that stands for a file. */
export async function fetchFilesAndAddHandles(
  context: FetchContext & { readonly ready: Pick<TurnContext, 'members'> },
  files: TurnFiles,
  history: readonly HistoricalMessage[],
): Promise<{ readonly members: readonly NormalizedMessage[]; readonly history: readonly HistoricalMessage[] }> {
  const { members } = context.ready
  if (containFiles(members.map(({ message }) => message)))
    members.splice(0, members.length, ...(await fetchTurnFiles(context, members)))
  const heard = members.map(({ message }) => ({ ...message, raw: null }))
  return { members: await withFileHandles(files, heard), history: await withFileHandles(files, history) }
}

async function withFileHandles<Message extends { readonly parts: readonly Part[] }>(
  files: TurnFiles,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  return Promise.all(
    messages.map(async (message) =>
      containFiles([message]) ? { ...message, parts: await files.handed(message.parts) } : message,
    ),
  )
}

// An agent gets a fresh handle in every part that stands for a file, and the bytes if it runs in this process.

export type TurnFilesContext = {
  readonly attachments: AttachmentService
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

/** What the turn was shown may be used, whichever participant sent it: its messages, also those that join it, and `history`. */
export function openTurnFiles(
  { attachments }: { readonly attachments: AttachmentService },
  { members, turn }: Pick<TurnContext, 'members' | 'turn'>,
  threadId: string,
  history: readonly HistoricalMessage[],
): TurnFiles {
  const context = { attachments, principal: turn.principal ?? '', threadId }
  const isFileInTurnMessages = (id: string): boolean =>
    [...members.map(({ message }) => message), ...history].some(({ parts }) => listAttachmentIds(parts).includes(id))
  const findTurnFile = async (id: string): Promise<AttachmentDescriptor | undefined> => {
    const [found] = await context.attachments.find([id])
    return found?.status === 'ready' && (isFileInTurnMessages(id) || isFileOfPrincipalAndThread(context, found))
      ? found
      : undefined
  }
  const openTurnFile = async (id: string): Promise<SourcedFile | undefined> => {
    const descriptor = await findTurnFile(id)
    const body = descriptor === undefined ? undefined : await context.attachments.open(descriptor)
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
    handed: (parts) => addFileHandleUrls(context, parts),
  }
}

function isFileOfPrincipalAndThread(
  { principal, threadId }: TurnFilesContext,
  { owner }: AttachmentDescriptor,
): boolean {
  return owner.principal === principal && (owner.threadId === null || owner.threadId === threadId)
}

async function addFileHandleUrls(context: TurnFilesContext, parts: readonly Part[]): Promise<Part[]> {
  const ids = listAttachmentIds(parts)
  const found = ids.length === 0 ? [] : await context.attachments.find(ids)
  const byId = new Map(found.map((descriptor) => [descriptor.id, descriptor]))
  return Promise.all(parts.map((part) => (isFilePart(part) ? addFileHandleUrl(context, part, byId) : part)))
}

async function addFileHandleUrl(
  { attachments, principal }: TurnFilesContext,
  part: FilePart,
  byId: ReadonlyMap<string, AttachmentDescriptor>,
): Promise<Part> {
  const descriptor = byId.get(part.attachment?.id ?? '')
  if (descriptor?.status !== 'ready') return missingFileTextPart(part, noLongerThere)
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

// A signed URL in an inbound message becomes the stored file it stands for, or the message is not taken. The URL goes no further.

export type Claimed =
  | { readonly kind: 'claimed'; readonly events: readonly InboundEvent[] }
  /** `code`: a `SignedUrlCode`. */
  | { readonly kind: 'refused'; readonly of: InboundMessage; readonly code: string; readonly remedy: string }

type UrlPart = FilePart & { readonly bytes_ref: { readonly kind: 'url' } }

/** An unverified sender owns nothing. */
const unknownPrincipal = ''

/** All of an inbound event or nothing. */
export async function claimFilesOfEvents(
  deps: { readonly attachments: AttachmentService },
  { adapter }: Pick<GatewayConnection, 'adapter'>,
  events: readonly InboundEvent[],
): Promise<Claimed> {
  const takesUrls = adapter.capabilities.takesFileUrls === 'own'
  const claimed: InboundEvent[] = []
  for (const event of events) {
    if (!isMessageWithFiles(event)) {
      claimed.push(event)
      continue
    }
    const parts: Part[] = []
    for (const given of event.message.parts) {
      const part = dropSenderGivenAttachment(given)
      const outcome =
        takesUrls && isUrlPart(part) ? await claimFile(deps, event, part) : { kind: 'kept' as const, part }
      if (outcome.kind === 'refused') return { ...outcome, of: event }
      parts.push(outcome.part)
    }
    claimed.push({ ...event, message: { ...event.message, parts } })
  }
  return { kind: 'claimed', events: claimed }
}

async function claimFile(
  { attachments }: { readonly attachments: AttachmentService },
  event: InboundMessage,
  part: UrlPart,
) {
  const owner = { principal: event.subject ?? unknownPrincipal, threadId: event.message.thread_id }
  const outcome = await attachments.claim(part.bytes_ref.url, owner)
  return outcome.kind === 'refused' ? outcome : { kind: 'kept' as const, part: toStoredPart(part, outcome.descriptor) }
}

/** Which stored file a part stands for is found here and never believed: a name of one is no right to it. */
function dropSenderGivenAttachment(part: Part): Part {
  if (!isFilePart(part) || part.attachment === undefined) return part
  const { attachment: _claimed, ...rest } = part
  return rest
}

function isUrlPart(part: Part): part is UrlPart {
  return isFilePart(part) && part.bytes_ref.kind === 'url'
}

// Files of the turn's messages are downloaded from their platform once and kept. Only here, where every member is admitted: a
// stranger's message never causes a download.

const atOnce = 3

/** The same entries with files that are kept, or with words about why not. */
export async function fetchTurnFiles(
  context: FetchContext,
  entries: readonly Absorbed[],
): Promise<readonly Absorbed[]> {
  const tasks = entries.flatMap(({ message }, entry) =>
    message.parts.flatMap((part, index) => (needsFetching(part) ? [{ entry, index, part }] : [])),
  )
  const fetched = new Map<string, KnownPart>()
  await runInParallel(atOnce, tasks, async ({ entry, index, part }) => {
    const of = entries[entry]
    if (of !== undefined) fetched.set(`${entry}:${index}`, await fetchFileOnce(context, of, index, part))
  })
  const whole = entries.map((each, entry) => {
    const parts = each.message.parts.map((part, index) => fetched.get(`${entry}:${index}`) ?? part)
    return tasks.length === 0 ? each : { ...each, message: { ...each.message, parts } }
  })
  await markFilesInUse(context, whole)
  return whole
}

function needsFetching(part: Part): part is FilePart {
  return isFilePart(part) && part.attachment === undefined
}

/**
 * A step without effect: finished, it is not done again by a later try or in a replay; broken off, it is, and finds by its id
 * what it had stored.
 */
async function fetchFileOnce(
  context: FetchContext,
  entry: Absorbed,
  index: number,
  part: FilePart,
): Promise<KnownPart> {
  const { deps, step } = context
  // An edit may have put another file in its place; it is another one then.
  const id = await deriveAttachmentId(deps.hash, ['in', deps.tenant, entry.row.id, index, part.bytes_ref as Json])
  const fetchFilePart = (): Promise<Json> => fetchFile(context, { id, message: entry.message, part }) as Promise<Json>
  // The journal gives back the part that was put into it.
  return (await step('parley/file', fetchFilePart, { effect: false, args: id })) as KnownPart
}

/** From now on they live as long as the message and the session that refer to them. */
async function markFilesInUse({ deps, ready }: FetchContext, entries: readonly Absorbed[]): Promise<void> {
  for (const { row, message } of entries) {
    const ids = listAttachmentIds(message.parts)
    const by = { inboxId: row.id, sessionId: ready.turn.sessionId || null }
    if (ids.length > 0) await deps.attachments.use(ids, by)
  }
}

async function runInParallel<T>(limit: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const workThroughItems = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, workThroughItems))
}

// A file is found where an earlier try left it, else opened at its platform, a few times where that fails.

type FetchContext = {
  readonly deps: TurnServices
  readonly ready: Pick<TurnContext, 'at' | 'turn'>
  readonly step: AgentContext['step']
  /** Ends the bringing: lease lost, deadline, or the run was stopped. */
  readonly signal: AbortSignal
}

export type Wanted = { readonly id: string; readonly message: StoredMessage; readonly part: FilePart }

const maxTries = 4
const fileTimeoutMs = 120_000

const refusedBy: Readonly<Record<Extract<OpenedFile, { kind: 'refused' }>['reason'], string>> = {
  gone: 'not received, it is gone',
  too_large: 'not received, too large for this channel',
  not_allowed: 'not received, the channel does not give it out',
  login_page: 'not received, the channel does not give it out',
}

const unstorable: Readonly<Partial<Record<SignedUrlCode, string>>> = {
  SU_TOO_LARGE: 'not received, too large',
  SU_MIME: 'not received, its bytes are not what its type says',
  SU_EMPTY: 'not received, it is empty',
}

async function fetchFile(context: FetchContext, wanted: Wanted): Promise<KnownPart> {
  const { deps, signal } = context
  const { part } = wanted
  const [known] = await deps.attachments.find([wanted.id])
  if (known !== undefined)
    return known.status === 'ready' ? toStoredPart(part, known) : missingFileTextPart(part, noLongerThere)
  if (part.kind === 'file' && (part.size ?? 0) > deps.attachments.maxBytes)
    return missingFileTextPart(part, unstorable.SU_TOO_LARGE ?? '')
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const fetched = await tryFetchFile(context, wanted)
    if (fetched !== undefined) return fetched
    if (tries < maxTries) await sleepOrAbort(deps.turnPolicy.retryFirstMs * 4 ** (tries - 1), signal)
  }
  return missingFileTextPart(part, 'not received, the channel did not answer')
}

/** Undefined: worth another try. */
async function tryFetchFile(context: FetchContext, wanted: Wanted): Promise<KnownPart | undefined> {
  const { deps, ready, signal } = context
  const { part } = wanted
  const opened = await openPlatformFile(context, part)
  signal.throwIfAborted()
  switch (opened.kind) {
    case 'retry':
      return undefined
    case 'refused':
      return missingFileTextPart(part, refusedBy[opened.reason])
    case 'opened': {
      const { body, mime, name } = opened
      const declaredMime = part.mime ?? mime
      const shownName = part.name ?? name
      const { thread_id: threadId, received_via: receivedVia, id: nativeId } = wanted.message
      const stored = await storeFetchedFile(context, {
        id: wanted.id,
        body,
        ...(declaredMime === undefined ? {} : { declaredMime }),
        ...(shownName === undefined ? {} : { name: shownName }),
        owner: { principal: ready.turn.principal ?? '', threadId },
        origin: { receivedVia, nativeId },
      })
      await deps.failpoint?.('after:store_file')
      if (stored === undefined) return undefined
      if (stored.kind === 'nowhere') return missingFileTextPart(part, 'not received, this gateway keeps no files')
      if (stored.kind === 'stored') return toStoredPart(part, stored.descriptor)
      return missingFileTextPart(part, unstorable[stored.code] ?? 'not received')
    }
    default:
      return opened satisfies never
  }
}

async function openPlatformFile({ ready, signal }: FetchContext, part: FilePart): Promise<OpenedFile> {
  const { bytes_ref: ref } = part
  const { openFile } = ready.at.adapter
  switch (ref.kind) {
    case 'inline':
      return { kind: 'opened', body: base64ToStream(ref.data_base64) }
    case 'channel': {
      if (openFile === undefined) return { kind: 'refused', reason: 'not_allowed' }
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(fileTimeoutMs)])
      // What an adapter throws may name what it asked for and with what; the person hears only that it failed.
      return openFile(ref.ref as JsonObject, deadline).catch(() => ({ kind: 'retry', reason: 'open_threw' }))
    }
    // A foreign URL is not fetched; ours were claimed when they came in.
    case 'url':
    case 'content_addressed':
      return { kind: 'refused', reason: 'not_allowed' }
    default:
      return ref satisfies never
  }
}

type Stored = StoreOutcome | { readonly kind: 'nowhere' } | undefined

/** Undefined: the bytes broke off. A failure of our own store is not a missing file: the turn waits for the store. */
async function storeFetchedFile({ deps, signal }: FetchContext, file: IncomingFile): Promise<Stored> {
  try {
    return await deps.attachments.store(file)
  } catch (error) {
    signal.throwIfAborted()
    if (isGatewayError(error, 'config_invalid')) return { kind: 'nowhere' }
    if (!isGatewayError(error) || !error.code.startsWith('storage_')) return undefined
    throw new GatewayError('provider_unavailable', '[gateway] files cannot be stored; see the blob store', {
      retryable: true,
      cause: error,
    })
  }
}

function sleepOrAbort(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const clearTimerAndRejectSleep = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', clearTimerAndRejectSleep)
      resolve()
    }, ms)
    signal.addEventListener('abort', clearTimerAndRejectSleep, { once: true })
    if (signal.aborted) clearTimerAndRejectSleep()
  })
}
