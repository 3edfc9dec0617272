// Accepts inbound events: each becomes a stored row, deduplicated and queued in its conversation. Only then is it acknowledged.

import { recipientOrderKey } from '../contract/delivery.ts'
import type { Bounce, OnceClaim } from '../contract/inbound-event.ts'
import {
  type Connection,
  type IgnoredEvent,
  type InboundMessage,
  isKnownPart,
  type KnownPart,
  type NormalizedMessage,
  type Part,
} from '../contract/index.ts'
import type { AcceptResult } from '../contract/results.ts'
import type { TaskClaim } from '../contract/tasks.ts'
import type { InboxOutcome } from '../db/inbox.ts'
import type { DraftRouting, DraftTask, InboxDraft } from '../db/inbox-row.ts'
import type { RecordChanges } from '../db/records.ts'
import { platformNamedThreadKey, senderNamedThreadKey } from '../db/thread-names.ts'
import { cleanText } from '../lib/clean-text.ts'
import { isGatewayError } from '../lib/errors.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { safeHtml } from '../markdown/index.ts'
import { escapeGatewayCommandThreadNames, parseChatCommand, toGatewayCommandThread } from './chat-command.ts'
import type { Committer } from './group-commit.ts'
import { redactRaw } from './stored-copy.ts'

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const bounceCode = /^[\w.:-]{1,80}$/

export type AcceptDeps = { readonly committer: Committer; readonly newId: () => string }
export type AcceptContext = {
  readonly connection: Connection
  /** What rows call the connection. */
  readonly connectionKey: string
  readonly horizonMs: number
  readonly traceId: string
  /** Commands that go beside their conversation instead of waiting in it. */
  readonly controlNames: ReadonlySet<string>
}

/** Whom a message is for where several agents answer. */
export type Route = Pick<DraftRouting, 'isSticky' | 'isAddressed' | 'agents'> & {
  readonly agent: string
  /** It wants an answer of its own and this is why. */
  readonly mustReplyIndividually?: string
}

/**
 * Stores what arrived together, all of it or nothing. Resolves only when it is safe to answer the transport with
 * success.
 */
export async function acceptDrafts(
  deps: Pick<AcceptDeps, 'committer'>,
  given: readonly InboxDraft[],
): Promise<readonly AcceptResult[]> {
  const drafts = given.length > 1 ? useFirstDraftIdAsEventId(given) : given
  try {
    return (await commitDrafts(deps, drafts)).map(toAcceptResult)
  } catch (error) {
    if (!isGatewayError(error, 'storage_refused_row')) throw error
    // The database cannot hold this content. Keep the receipt without it: nothing authenticated vanishes.
    return (await commitWithoutRefusedContent(deps, drafts)).map(toAcceptResult)
  }
}

/** What came together shares the proofs that count once: none of it is the replay of another. */
function useFirstDraftIdAsEventId(drafts: readonly InboxDraft[]): readonly InboxDraft[] {
  const [first, ...others] = drafts
  const withFirstDraftIdAsEventId = (draft: InboxDraft): InboxDraft =>
    draft.once && first ? { ...draft, eventId: first.id } : draft
  return first === undefined ? drafts : [first, ...others.map(withFirstDraftIdAsEventId)]
}

/** All that it changes, or nothing: the operator who asks for it is there to be told. */
export async function acceptDraftOrThrow(
  deps: Pick<AcceptDeps, 'committer'>,
  draft: InboxDraft,
): Promise<AcceptResult> {
  const [outcome] = await commitDrafts(deps, [draft])
  return toAcceptResult(outcome ?? { kind: 'again' })
}

/** The database does not say whose content it is: each is tried without its own, so that the others keep theirs if they can. */
async function commitWithoutRefusedContent(
  deps: Pick<AcceptDeps, 'committer'>,
  drafts: readonly InboxDraft[],
): Promise<readonly InboxOutcome[]> {
  for (let guilty = 0; drafts.length > 1 && guilty < drafts.length; guilty += 1) {
    try {
      return await commitDrafts(
        deps,
        drafts.map((draft, index) => (index === guilty ? omitDraftContent(draft) : draft)),
      )
    } catch (error) {
      if (!isGatewayError(error, 'storage_refused_row')) throw error
    }
  }
  return commitDrafts(deps, drafts.map(omitDraftContent))
}

/** What is kept of an inbound event; `content` tells apart what has no delivery id of its own. */
export type KeptEventFacts = Pick<IgnoredEvent, 'reason' | 'deliveryId' | 'raw' | 'renamed' | 'bounce' | 'once'> &
  RecordChanges & {
    readonly state: 'ignored' | 'dead'
    readonly content: string
    /** Who had proven to be its sender, if that was known before it could not be read. */
    readonly subject: string | null
    /** What tells inbound events apart besides their content, where the delivery id is the sender's choice. */
    readonly key?: string
  }

/** An inbound event that asks for nothing, or that could not be read, kept so that it can be found and replayed. */
export function createRejectedEventDraft(
  deps: Pick<AcceptDeps, 'newId'>,
  rejected: KeptEventFacts,
  context: AcceptContext,
): InboxDraft {
  return {
    ...inboxDraftDefaults(deps, context),
    kind: 'rejected_event',
    state: rejected.state,
    reason: rejected.reason,
    subject: rejected.subject ?? undefined,
    dedupe: rejectedEventDedupeKey(rejected.key ?? rejected.deliveryId),
    content: cleanText(rejected.content),
    deliveryId: cleanText(rejected.deliveryId).slice(0, 512),
    // The names of a thread that got another one: the statement gives its conversations that name too.
    candidates: rejected.renamed === undefined ? [] : [rejected.renamed.from, rejected.renamed.to],
    raw: rejected.raw === null ? undefined : redactRaw(rejected.raw),
    bounce: rejected.bounce === undefined ? undefined : cleanBounce(rejected.bounce),
    recordWrites: undefinedIfEmpty(rejected.recordWrites),
    protocolReplies: undefinedIfEmpty(rejected.protocolReplies)?.map((send) => ({
      ...send,
      id: deps.newId(),
      orderKey: recipientOrderKey(send.orderKey),
    })),
    cancelPending: rejected.cancelPending && recipientOrderKey(rejected.cancelPending.orderKeyPrefix),
    isAccountDeleted: rejected.isAccountDeleted || undefined,
    once: limitOneTimeClaims(rejected.once),
    bytes: JSON.stringify([rejected.raw, rejected.recordWrites, rejected.protocolReplies]).length,
  }
}

/** What another replica claimed in the same instant is stored; asked once more, it says under which id. */
async function commitDrafts(
  { committer }: Pick<AcceptDeps, 'committer'>,
  drafts: readonly InboxDraft[],
): Promise<readonly InboxOutcome[]> {
  const outcomes = await committer.commit(drafts)
  const unclear: InboxDraft[] = []
  for (const [index, draft] of drafts.entries()) if (outcomes[index]?.kind === 'again') unclear.push(draft)
  if (unclear.length === 0) return outcomes
  const known = [...(await committer.commit(unclear))]
  return outcomes.map((outcome) => (outcome.kind === 'again' ? (known.shift() ?? outcome) : outcome))
}

function toAcceptResult(outcome: InboxOutcome): AcceptResult {
  switch (outcome.kind) {
    case 'accepted':
      return {
        kind: 'accepted',
        inboxId: outcome.inboxId,
        flagged: outcome.flagged,
        ...(outcome.taskId === undefined ? {} : { taskId: outcome.taskId }),
        ...(outcome.task === undefined ? {} : { task: outcome.task }),
      }
    case 'duplicate':
      return { kind: 'duplicate', inboxId: outcome.inboxId, ...(outcome.isReplay === true ? { isReplay: true } : {}) }
    case 'stale':
      return { kind: 'stale', inboxId: outcome.inboxId }
    case 'busy':
      return { kind: 'refused', reason: 'conversation_busy' }
    case 'shut':
      return { kind: 'refused', reason: outcome.reason }
    case 'again':
      return { kind: 'duplicate', inboxId: '' }
  }
}

export function createMessageDraft(
  deps: Pick<AcceptDeps, 'newId'>,
  event: InboundMessage,
  context: AcceptContext,
  route?: Route,
): InboxDraft {
  const { raw, ...message } = event.message
  const { channel } = event.message
  // A deletion may quote what it takes back.
  const kept = channel?.event === 'delete' ? undefined : redactRaw(raw)
  const isControl = parseChatCommand(event.message, context.controlNames) !== undefined
  const named = escapeGatewayCommandThreadNames(event.thread)
  const thread = isControl ? toGatewayCommandThread(named) : named
  const mustReplyIndividually =
    route?.mustReplyIndividually ?? event.mustReplyIndividually ?? (isControl ? 'command' : undefined)
  return {
    ...inboxDraftDefaults(deps, context),
    agent: route?.agent ?? event.agent,
    kind: mustReplyIndividually ?? 'message',
    dedupe: dedupeKey(event),
    content: messageContentKey(event),
    recipient: message.recipient,
    subject: event.subject,
    mustReplyIndividually,
    messageId: message.id,
    deliveryId: event.deliveryId,
    event: channel?.event ?? 'new',
    editOf: channel?.target_id,
    // The message was validated against its schema, and JSON is all it holds. What a task was asked with goes where the message
    // goes, and is erased with it.
    message: {
      ...(message as unknown as JsonObject),
      ...(event.task === undefined ? {} : { task_payload: event.task.payload }),
      ...(event.omitted === undefined ? {} : { left_out: event.omitted }),
    },
    raw: kept,
    replyTo: event.replyTo,
    bytes: approximateBytes(event),
    platformAt: event.platformAt,
    candidates: thread.candidates,
    platformVerified: thread.platformVerified,
    newThreadKey: thread.newThreadKey,
    replyToken: thread.replyToken,
    isExclusive: (!isControl && event.isExclusive) || undefined,
    isControl: isControl || undefined,
    debounceMs: (!isControl && event.debounceMs) || undefined,
    routing: route && toDraftRouting(event, route),
    task: event.task && toDraftTask(event.task),
    // What a command is answered with is no part of the conversation it is about.
    aliases: isControl ? undefined : undefinedIfEmpty(thread.aliases),
    rawBlobs: undefinedIfEmpty(event.rawBlobs?.filter((ref) => uuid.test(ref))),
    recordWrites: undefinedIfEmpty(event.recordWrites),
    once: limitOneTimeClaims(event.once),
  }
}

/** A claim may outlive the receipt it stands for: a replay is then a duplicate that is counted nowhere. */
const maxClaimMs = 200 * 24 * 60 * 60 * 1000
const maxClaims = 32

function limitOneTimeClaims(once?: readonly OnceClaim[]): readonly OnceClaim[] | undefined {
  if (once === undefined || once.length === 0) return undefined
  const claims: OnceClaim[] = []
  for (const { key, forMs } of once.slice(0, maxClaims)) claims.push({ key, forMs: Math.min(forMs, maxClaimMs) })
  return claims
}

/** Nothing proves who sent it: it is in no conversation and no lane, and its row is its end. */
export function createRefusedDraft(
  deps: Pick<AcceptDeps, 'newId'>,
  event: InboundMessage,
  context: AcceptContext,
  reason: string,
): InboxDraft {
  const nowhere = { candidates: [], aliases: undefined, rawBlobs: undefined, recordWrites: undefined, once: undefined }
  const nothing = { routing: undefined, task: undefined, replyTo: undefined }
  return { ...createMessageDraft(deps, event, context), ...nowhere, ...nothing, state: 'refused', reason }
}

function toDraftTask({ known, contextId, dialect, metadata }: TaskClaim): DraftTask {
  return { known: known ?? null, contextId, dialect, metadata: metadata ?? {} }
}

/**
 * Whom a sender addressed is kept under their own name for the thread, which no other sender can imitate: a stranger neither learns nor
 * changes whom another person talks with. Where the platform confirms the thread it also counts for every participant, once
 * they are let in.
 */
function toDraftRouting({ thread, subject }: InboundMessage, { isSticky, isAddressed, agents }: Route): DraftRouting {
  const named = thread.candidates[0] ?? thread.newThreadKey
  return {
    own: subject === undefined ? null : senderNamedThreadKey(subject, named),
    thread: thread.platformVerified ? platformNamedThreadKey(named) : null,
    isSticky,
    isAddressed,
    agents,
  }
}

function inboxDraftDefaults(
  deps: Pick<AcceptDeps, 'newId'>,
  { connection, connectionKey, horizonMs, traceId }: AcceptContext,
): Omit<InboxDraft, 'dedupe' | 'content'> {
  return {
    id: deps.newId(),
    tenant: connection.tenant,
    connection: connectionKey,
    agent: connection.agent,
    kind: 'message',
    state: 'queued',
    event: 'new',
    bytes: 0,
    horizonMs,
    traceId,
    candidates: [],
    platformVerified: true,
    newThreadKey: '',
    copies: 0,
    conversationId: deps.newId(),
  }
}

function omitDraftContent(draft: InboxDraft): InboxDraft {
  const nothing = { message: undefined, raw: undefined, replyTo: undefined, platformAt: undefined, bounce: undefined }
  const unchanged = { recordWrites: undefined, protocolReplies: undefined, cancelPending: undefined }
  const kept = { aliases: undefined, rawBlobs: undefined, isAccountDeleted: undefined }
  return { ...draft, ...nothing, ...unchanged, ...kept, state: 'dead', reason: 'unstorable' }
}

/** What is not said is not sent: an empty list is nothing said. */
function undefinedIfEmpty<Item>(list: readonly Item[] = []): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list
}

/** The reporting server chose the words: a code is kept, and a time that is one. */
function cleanBounce({ clientId, kind, reason, at }: Bounce): Bounce {
  const instant = new Date(at)
  return {
    clientId: cleanText(clientId),
    kind,
    reason: bounceCode.test(reason) ? reason : 'unspecified',
    at: (Number.isNaN(instant.getTime()) ? new Date() : instant).toISOString(),
  }
}

/** Near enough for limits, and cheaper than serializing twice. */
function approximateBytes(event: InboundMessage): number {
  let bytes = 512
  for (const part of event.message.parts) bytes += 'content' in part ? String(part.content).length : 256
  return bytes
}

// Dedupe keys: what makes two deliveries the same message, and a hash of what the message says.

/** Structured, not joined by a separator: no id can imitate another one's key. */
export function dedupeKey(event: InboundMessage): string {
  const { channel } = event.message
  return JSON.stringify([
    event.isIdForAllAgents === true ? null : event.agent,
    // An unauthenticated event never occupies an authenticated sender's key.
    event.message.sender.verified,
    event.isSenderChosenId ? (event.subject ?? null) : null,
    channel?.event ?? 'new',
    event.semanticId,
    event.version,
  ])
}

/** The claims that a platform's own id may stand for, when all one has is the id; and those of a rejected or unparsable event. */
export function listDedupeKeys(platformId: string, agents: readonly string[]): readonly string[] {
  const asMessage = agents.flatMap((agent) =>
    [true, false].map((isVerified) => JSON.stringify([agent, isVerified, null, 'new', platformId, '0'])),
  )
  return [...asMessage, rejectedEventDedupeKey(platformId), operationDedupeKey(platformId)]
}

/** Inbound events that became no message are told apart by their delivery alone. */
function rejectedEventDedupeKey(deliveryId: string): string {
  return JSON.stringify(['rejected_event', deliveryId])
}

/** What an operator asked for: no inbound event can take its place, whatever it is called. */
export function operationDedupeKey(deliveryId: string): string {
  return JSON.stringify(['operation', deliveryId])
}

/** What the message says, for telling a redelivery from another body under the same id. */
function messageContentKey(event: InboundMessage): string {
  if (event.isOnceById === true) return 'by its id'
  return JSON.stringify([event.subject ?? null, event.message.parts, event.message.channel?.command ?? null])
}

// HTML is reduced to a safe subset before it is stored.

export function sanitizeMessage(message: NormalizedMessage): NormalizedMessage {
  return message.parts.some(isHtml) ? { ...message, parts: message.parts.map(sanitizePart) } : message
}

function sanitizePart(part: Part): Part {
  return isHtml(part) ? { ...part, content: safeHtml(part.content) } : part
}

function isHtml(part: Part): part is Extract<KnownPart, { kind: 'text' }> {
  return isKnownPart(part) && part.kind === 'text' && part.mime === 'text/html'
}
