// The transcript codec: message parts <-> stored envelope <-> history turn.

import { type Envelope, envelopeSchemaId, envelopeVersion } from '../contract/gateway-events.ts'
import { isKnownPart, type KnownPart, type Part, type Sender, textOf, textPart } from '../contract/index.ts'
import type { HistoricalMessage } from '../contract/message.ts'
import type { StoredMessage } from '../db/turn-rows.ts'

export type TurnFacts = { readonly runId: string; readonly latencyMs?: number }

/** A user's line. The sender goes into metadata, reduced to what history may show. */
export function userEnvelope(message: StoredMessage, facts: TurnFacts): Envelope {
  const metadata = {
    run_id: facts.runId,
    stage: 'intent',
    message_id: message.id,
    sender: omitSenderProofs(message.sender),
    ...senderHandle(message.sender),
    ...attachmentMetadata(message.parts, 'user'),
  }
  return createEnvelope('user', message.parts, metadata, message.received_at)
}

/** A line of ambient context, said in the room and not to the agent: no run is about it. */
export function ambientMessageEnvelope(
  message: Pick<StoredMessage, 'id' | 'sender' | 'parts' | 'received_at'>,
): Envelope {
  const metadata = { message_id: message.id, sender: omitSenderProofs(message.sender), ambient: true }
  return createEnvelope('user', message.parts, metadata, message.received_at)
}

/** The line an edit or a delete leaves behind: the original stays, the amendment says what it became. */
export function amendmentEnvelope(
  message: StoredMessage,
  facts: TurnFacts & { readonly amends: string; readonly event: string },
): Envelope {
  const line = userEnvelope(message, facts)
  const metadata: Envelope['metadata'] = { ...line.metadata, amends: facts.amends, event: facts.event }
  if (facts.event !== 'delete') return { ...line, metadata }
  const { attachments: _files, user_message_attachments: _file, ...left } = metadata
  return { ...line, content: '', type: 'text', payload: {}, metadata: left }
}

export function assistantEnvelope(
  agent: string,
  parts: readonly Part[],
  facts: TurnFacts & { readonly at: string },
): Envelope {
  const metadata = {
    run_id: facts.runId,
    stage: 'reply',
    message_id: `reply-${facts.runId}`,
    ...(facts.latencyMs === undefined ? {} : { latency_ms: facts.latencyMs }),
    sender: { address: agent, auth_method: 'none', verified: false },
    ...attachmentMetadata(parts, 'assistant'),
  }
  return createEnvelope('assistant', parts, metadata, facts.at)
}

/** A person who spoke, and what a reply may call them. */
export type Participant = Pick<Sender, 'address' | 'verified'> & { readonly handle?: string }

/** Who spoke, by a stored line. */
export function readParticipant({ role, metadata }: Envelope): Participant | undefined {
  // Written by this codec; a line of another writer names no sender.
  const sender = metadata['sender'] as Sender | undefined
  // The author of ambient context did not speak with the agent.
  if (role !== 'user' || typeof sender?.address !== 'string' || metadata['ambient'] === true) return undefined
  const { handle } = metadata
  return {
    address: sender.address,
    verified: sender.verified === true,
    ...(typeof handle === 'string' ? { handle } : {}),
  }
}

export function senderToParticipant({ sender }: Pick<StoredMessage, 'sender'>): Participant {
  return { address: sender.address, verified: sender.verified, ...senderHandle(sender) }
}

/** Beside the sender and not in it: history shows no profile. */
function senderHandle({ profile }: Sender): { readonly handle?: string } {
  return profile?.username === undefined ? {} : { handle: profile.username }
}

export function toHistoricalMessage(stored: Envelope): HistoricalMessage | undefined {
  const role = stored.role === 'user' || stored.role === 'assistant' ? stored.role : undefined
  // The codec wrote these fields; a line of another writer without them cannot be attributed.
  const sender = stored.metadata['sender'] as Sender | undefined
  if (role === undefined || sender === undefined || stored.metadata['deleted'] === true) return undefined
  // A newer release wrote this line beside us: left out rather than misread.
  if (stored.version > envelopeVersion) return undefined
  const parts = (stored.payload['parts'] as Part[] | undefined) ?? [
    { kind: 'text', mime: 'text/plain', content: stored.content },
    ...readLegacyFiles(stored.metadata),
  ]
  const id = stored.metadata['message_id']
  return {
    ...(typeof id === 'string' ? { id } : {}),
    role,
    sender,
    parts,
    timestamp: stored.created_at ?? '',
    ...(stored.metadata['ambient'] === true ? { ambient: true } : {}),
  }
}

function createEnvelope(role: string, given: readonly Part[], metadata: Record<string, unknown>, at: string): Envelope {
  const parts = given.map(toStorablePart)
  const only = parts[0]
  const isPlain = parts.length === 1 && only?.kind === 'text' && 'mime' in only && only.mime === 'text/plain'
  return {
    schema: envelopeSchemaId,
    version: envelopeVersion,
    type: isPlain ? 'text' : 'multimodal_part',
    role,
    content: textOf(parts),
    payload: isPlain ? {} : { parts: [...parts] },
    metadata,
    created_at: at,
  }
}

/** History shows who spoke, never how it was proven: no proofs, no claims, no bearer material. */
function omitSenderProofs(sender: Sender): Record<string, unknown> {
  const { address, display_name, auth_method, verified, identities = [] } = sender
  return {
    address,
    ...(display_name === undefined ? {} : { display_name }),
    auth_method,
    verified,
    identities: identities.map(({ subject, issuer, method, assurance, audience, issued_at }) => ({
      subject,
      issuer,
      method,
      assurance,
      audience,
      issued_at,
      proof: { type: 'reduced' },
    })),
  }
}

// Files in the transcript refer to a stored object, and never say where its bytes can be had.

type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

/** One stored file, as a line's metadata names it. */
type StoredRef = { readonly bucket: string; readonly path: string; readonly mime_type: string }

/** Bytes, addresses and what only a channel understands stay out of the transcript: such a file is named in words. */
function toStorablePart(part: Part): Part {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return part
  const { bytes_ref, attachment } = part
  if (attachment === undefined || bytes_ref.kind !== 'content_addressed')
    return textPart(`[file${describeFilePart(part)}]`)
  const { algo, digest } = bytes_ref
  return { ...part, bytes_ref: { kind: 'content_addressed', algo, digest } }
}

/** `user_message_attachments` is a single object where there is one attachment; `attachments` holds all in any case. */
function attachmentMetadata(parts: readonly Part[], role: 'user' | 'assistant'): Record<string, unknown> {
  const attachments = parts.flatMap(readStoredFileRefs)
  const [first, second] = attachments
  if (first === undefined) return {}
  const { bucket, path, mime_type } = first
  const isAlone = role === 'user' && second === undefined
  return { attachments, ...(isAlone ? { user_message_attachments: { bucket, path, mime_type } } : {}) }
}

/** Files that a line names in its metadata alone: the older format, which names one object and no ids. */
function readLegacyFiles(metadata: Readonly<Record<string, unknown>>): readonly Part[] {
  const given = metadata['user_message_attachments']
  const refs: readonly unknown[] = Array.isArray(given) ? given : given === undefined ? [] : [given]
  return refs.filter(isStoredFileRef).map(({ bucket, path, mime_type }) => ({
    kind: 'file',
    // Its owner is not recorded: it is shown by name and cannot be opened.
    bytes_ref: { kind: 'channel', ref: { bucket, path } },
    mime: mime_type,
    name: path.split('/').at(-1) ?? path,
  }))
}

/** None or one. */
function readStoredFileRefs(part: Part): readonly (StoredRef & Readonly<Record<string, unknown>>)[] {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return []
  const { attachment, bytes_ref, mime = 'application/octet-stream', name } = part
  if (attachment === undefined) return []
  const ref = {
    ...attachment,
    mime_type: mime,
    ...(part.kind === 'file' && part.size !== undefined ? { size: part.size } : {}),
    ...(bytes_ref.kind === 'content_addressed' ? { sha256: bytes_ref.digest } : {}),
    ...(name === undefined ? {} : { name }),
  }
  return [ref]
}

function isStoredFileRef(value: unknown): value is StoredRef {
  if (typeof value !== 'object' || value === null) return false
  return ['bucket', 'path', 'mime_type'].every((key) => typeof Reflect.get(value, key) === 'string')
}

function describeFilePart({ name, mime }: FilePart): string {
  const shown = name ?? mime
  return shown === undefined ? '' : ` ${shown.slice(0, 256)}`
}
