// Hop 7, before the agent runs: the files of the turn's messages are opened at their platform once and kept. Only here, where
// every member is admitted: a stranger's message never causes a download.

import type { AgentContext } from '../agents/context.ts'
import {
  GatewayError,
  isGatewayError,
  type Json,
  type JsonObject,
  type KnownPart,
  type OpenedFile,
  type Part,
} from '../contract/index.ts'
import type { StoredMessage } from '../db/turn-rows.ts'
import type { IncomingFile, SignedUrlCode, StoreOutcome } from '../files/attachment.ts'
import type { GatewayDeps } from './deps.ts'
import {
  deriveAttachmentId,
  type FilePart,
  inlineBody,
  isFilePart,
  listAttachmentIds,
  missingPart,
  noLongerThere,
  storedPart,
} from './file-part.ts'
import type { Absorbed } from './plan-turn.ts'
import type { ReadyTurn } from './prepare-turn.ts'

const atOnce = 3

/** The same entries with files that are kept, or with words about why not. */
export async function bringFiles(scene: FetchContext, entries: readonly Absorbed[]): Promise<readonly Absorbed[]> {
  const tasks = entries.flatMap(({ message }, entry) =>
    message.parts.flatMap((part, index) => (needsBringing(part) ? [{ entry, index, part }] : [])),
  )
  const brought = new Map<string, KnownPart>()
  await inParallel(atOnce, tasks, async ({ entry, index, part }) => {
    const of = entries[entry]
    if (of !== undefined) brought.set(`${entry}:${index}`, await fetchFileOnce(scene, of, index, part))
  })
  const whole = entries.map((each, entry) => {
    const parts = each.message.parts.map((part, index) => brought.get(`${entry}:${index}`) ?? part)
    return tasks.length === 0 ? each : { ...each, message: { ...each.message, parts } }
  })
  await inUse(scene, whole)
  return whole
}

function needsBringing(part: Part): part is FilePart {
  return isFilePart(part) && part.attachment === undefined
}

/**
 * A step without effect: finished, it is not done again by a later try or in a replay; broken off, it is, and finds by its id
 * what it had stored.
 */
async function fetchFileOnce(scene: FetchContext, entry: Absorbed, index: number, part: FilePart): Promise<KnownPart> {
  const { deps, step } = scene
  // An edit may have put another file in its place; it is another one then.
  const id = await deriveAttachmentId(deps.hash, ['in', deps.tenant, entry.row.id, index, part.bytes_ref as Json])
  const bring = (): Promise<Json> => bringFile(scene, { id, message: entry.message, part }) as Promise<Json>
  // The journal gives back the part that was put into it.
  return (await step('parley/file', bring, { effect: false, args: id })) as KnownPart
}

/** From now on they live as long as the message and the session that refer to them. */
async function inUse({ deps, ready }: FetchContext, entries: readonly Absorbed[]): Promise<void> {
  for (const { row, message } of entries) {
    const ids = listAttachmentIds(message.parts)
    const by = { inboxId: row.id, sessionId: ready.turn.sessionId || null }
    if (ids.length > 0) await deps.attachments.use(ids, by)
  }
}

async function inParallel<T>(limit: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
}

// One file into the store: found where an earlier try left it, else opened at its platform, a few times where that fails.

export type FetchContext = {
  readonly deps: GatewayDeps
  readonly ready: Pick<ReadyTurn, 'at' | 'turn'>
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

async function bringFile(scene: FetchContext, wanted: Wanted): Promise<KnownPart> {
  const { deps, signal } = scene
  const { part } = wanted
  const [known] = await deps.attachments.find([wanted.id])
  if (known !== undefined) return known.status === 'ready' ? storedPart(part, known) : missingPart(part, noLongerThere)
  if (part.kind === 'file' && (part.size ?? 0) > deps.attachments.maxBytes)
    return missingPart(part, unstorable.SU_TOO_LARGE ?? '')
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const brought = await tryToBring(scene, wanted)
    if (brought !== undefined) return brought
    if (tries < maxTries) await sleepOrAbort(deps.turnPolicy.retryFirstMs * 4 ** (tries - 1), signal)
  }
  return missingPart(part, 'not received, the channel did not answer')
}

/** Undefined: worth another try. */
async function tryToBring(scene: FetchContext, wanted: Wanted): Promise<KnownPart | undefined> {
  const { deps, ready, signal } = scene
  const { part } = wanted
  const opened = await openPlatformFile(scene, part)
  signal.throwIfAborted()
  switch (opened.kind) {
    case 'retry':
      return undefined
    case 'refused':
      return missingPart(part, refusedBy[opened.reason])
    case 'opened': {
      const { body, mime, name } = opened
      const declaredMime = part.mime ?? mime
      const shownName = part.name ?? name
      const { thread_id: threadId, received_via: receivedVia, id: nativeId } = wanted.message
      const stored = await storeFetchedFile(scene, {
        id: wanted.id,
        body,
        ...(declaredMime === undefined ? {} : { declaredMime }),
        ...(shownName === undefined ? {} : { name: shownName }),
        owner: { principal: ready.turn.principal ?? '', threadId },
        origin: { receivedVia, nativeId },
      })
      await deps.failpoint?.('after:store_file')
      if (stored === undefined) return undefined
      if (stored.kind === 'nowhere') return missingPart(part, 'not received, this gateway keeps no files')
      if (stored.kind === 'stored') return storedPart(part, stored.descriptor)
      return missingPart(part, unstorable[stored.code] ?? 'not received')
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
      return { kind: 'opened', body: inlineBody(ref.data_base64) }
    case 'channel': {
      if (openFile === undefined) return { kind: 'refused', reason: 'not_allowed' }
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(fileTimeoutMs)])
      // What an adapter throws may name what it asked for and with what; the person hears only that it failed.
      return openFile(ref.ref as JsonObject, inTime).catch(() => ({ kind: 'retry', reason: 'open_threw' }))
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
    const cancelSleep = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', cancelSleep)
      resolve()
    }, ms)
    signal.addEventListener('abort', cancelSleep, { once: true })
    if (signal.aborted) cancelSleep()
  })
}
