// Lines of a thread as its sender reads them: text and files as parts, every file under a URL made for this answer.
import type { AttachmentDescriptor } from '../attachments/descriptor.ts'
import { type Fields, isKnownPart, type KnownPart, type Part } from '../contract/index.ts'
import { historyTurn } from '../sessions/codec.ts'
import type { ThreadLine } from '../sessions/thread-store.ts'
import type { ApiCaller } from './api-callers.ts'
import { isServed } from './attachments.ts'
import type { AppDeps } from './deps.ts'

type Files = AppDeps['files']
type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'binary'; readonly mimeType: string; readonly url: string }
  /** One file that cannot be had fails nothing but itself (SU-21). */
  | { readonly type: 'binary'; readonly mimeType: string; readonly unavailable: true; readonly reason: string }

export type HistoryMessage = {
  readonly id: string
  readonly role: string
  readonly content: readonly ContentPart[]
}

export async function messagesWithParts(
  files: Files,
  caller: ApiCaller,
  lines: readonly ThreadLine[],
): Promise<readonly HistoryMessage[]> {
  const turns = lines.flatMap((line) => {
    const turn = historyTurn(line.envelope)
    return turn === undefined ? [] : [{ ...turn, id: idOf(line) }]
  })
  const wanted = turns.flatMap(({ parts }) => parts.filter(isFile))
  const found = await files.desk.find(wanted.flatMap(({ attachment }) => attachment?.id ?? []))
  const known = new Map(found.map((each) => [each.id, each]))
  return Promise.all(
    turns.map(async ({ id, role, parts }) => {
      const content = await Promise.all(parts.map((part) => contentOf({ files, caller, known }, part)))
      return { id, role, content: content.flat() }
    }),
  )
}

type Shelf = {
  readonly files: Files
  readonly caller: ApiCaller
  readonly known: ReadonlyMap<string, AttachmentDescriptor>
}

async function contentOf(shelf: Shelf, part: Part): Promise<readonly ContentPart[]> {
  if (!isKnownPart(part)) return []
  switch (part.kind) {
    case 'text':
      return [{ type: 'text', text: part.content }]
    case 'link':
      return [{ type: 'text', text: part.url }]
    case 'file':
    case 'artifact':
      return [await binaryOf(shelf, part)]
    case 'tool_call':
    case 'policy':
      return []
    default:
      return part satisfies never
  }
}

async function binaryOf({ files, caller, known }: Shelf, part: FilePart): Promise<ContentPart> {
  const descriptor = known.get(part.attachment?.id ?? '') ?? (await legacyFile(files, caller, part))
  const mimeType = descriptor?.mimeType ?? part.mime ?? 'application/octet-stream'
  const unavailable = (reason: string): ContentPart => ({ type: 'binary', mimeType, unavailable: true, reason })
  if (descriptor === undefined || descriptor.status === 'deleted') return unavailable('gone')
  if (!isServed(descriptor, caller)) return unavailable('not_available')
  try {
    // One byte: a URL to an object that is not there any more would be a promise that breaks later.
    const probe = await files.desk.open(descriptor, { start: 0, end: 0 })
    if (probe === undefined) return unavailable('gone')
    await probe.cancel()
    const { url } = await files.desk.handle(descriptor, { principal: descriptor.owner.principal, kind: 'person' })
    return { type: 'binary', mimeType, url }
  } catch {
    return unavailable('not_available')
  }
}

/** Written by the original, which knew one object and no ids (SU-25): found by its place, if it is theirs. */
async function legacyFile(
  files: Files,
  caller: ApiCaller,
  { bytes_ref: ref }: FilePart,
): Promise<AttachmentDescriptor | undefined> {
  const { bucket, path } = ref.kind === 'channel' ? ref.ref : {}
  if (typeof bucket !== 'string' || typeof path !== 'string') return undefined
  return (await files.byAddress(bucket, path)).find((each) => isServed(each, caller))
}

/** The later revision (msg 13.7): text and metadata; whoever wants a file asks for its URL by bucket and path. */
export function linesWithMetadata(lines: readonly ThreadLine[]): readonly Fields[] {
  return lines.map((line) => {
    const { envelope, seq } = line
    // Who spoke and how that was proven stays in the store.
    const { sender: _sender, handle: _handle, ...metadata } = envelope.metadata
    const content = typeof envelope.content === 'string' ? envelope.content : JSON.stringify(envelope.content)
    return { id: idOf(line), seq, role: envelope.role, content, metadata, timestamp: envelope.created_at ?? null }
  })
}

function idOf({ envelope, sessionId, seq }: ThreadLine): string {
  const id = envelope.metadata['message_id']
  return typeof id === 'string' ? id : `${sessionId}-${seq}`
}

function isFile(part: Part): part is FilePart {
  return isKnownPart(part) && (part.kind === 'file' || part.kind === 'artifact')
}
