// Limits of senders who are not admitted: who is admitted as the rules stand now, how much of the others is stored, and how fast
// they may send. A turn decides again by what holds then; here it is only decided what may be stored.

import type { Agent } from '../agents/define-agent.ts'
import { noStoredAccess } from '../contract/access.ts'
import { mentionRelaySchema } from '../contract/capabilities.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import {
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type KnownPart,
  type NormalizedMessage,
  type Part,
  type Sender,
  verifiedSender,
} from '../contract/index.ts'
import type { ReceiveResult } from '../contract/results.ts'
import { readCallerAccess } from '../db/caller-access.ts'
import type { Db } from '../db/client.ts'
import { isAdmittedPerson } from '../db/known-people.ts'
import { hasRecordChanges } from '../db/records.ts'
import type { UnprovenSenderCharge, UnprovenSenderKind } from '../db/unproven-senders.ts'
import { chargeUnprovenSender } from '../db/unproven-senders.ts'
import type { AccessContext, AccessDecision, AccessPolicy } from '../identity/access-policy.ts'
import { type AttestationVerifier, type TrustedIssuers, verifyForwardedEvidence } from '../identity/trust.ts'
import { LruMap } from '../lib/index.ts'
import type { Log } from '../lib/log.ts'
import { createRateLimiter, type RateLimiter } from '../lib/rate-limiter.ts'
import { answersEachRequest, createAccessContext, isAdmittedByRule } from '../turns/admit.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { ReceiveServices } from './receive-services.ts'
import { routeToAgent } from './route-to-agent.ts'
import { isLargeOrHasFiles, omitLargeRaw, trimStrangerMessage } from './stored-copy.ts'

/** `refusal`: nothing proves who sent it, so no turn is needed to refuse it. */
export type JudgedMessage = InboundMessage & { readonly refusal?: string }

export type Judged =
  | {
      readonly kind: 'judged'
      readonly events: readonly (JudgedMessage | IgnoredEvent)[]
      readonly isUnproven: boolean
    }
  | Spent

export type Spent = Omit<Extract<ReceiveResult, { kind: 'spent' }>, 'trace'>

/** When a sender may try again after the disk was low. */
const roomSeconds = 600

/** What is light and has no file, on a connection where a platform verifies people, is stored as it is: a turn decides about it. */
export function needsSenderJudgement(at: GatewayConnection, events: readonly InboundEvent[], bytes: number): boolean {
  if (isOpenToAnyone(at)) return true
  for (const event of events) if (event.kind === 'message' && isLargeOrHasFiles(event, bytes)) return true
  return false
}

export async function trimAndChargeUnadmittedSenders(
  deps: ReceiveServices,
  at: GatewayConnection,
  events: readonly InboundEvent[],
  bytes: number,
): Promise<Judged> {
  const judged: SenderStanding[] = []
  for (const event of events)
    judged.push(
      event.kind === 'message'
        ? await classifyMessageSender(deps, at, event, bytes)
        : classifyIgnoredEventSender(at, event),
    )
  const kind = commonUnprovenKind(judged)
  const small = judged.map(({ event }) => event)
  const storedBytes = kind === undefined ? 0 : JSON.stringify(small).length
  const messages = judged.filter(({ unprovenKind }) => unprovenKind !== undefined).length
  const spent =
    kind === undefined ? undefined : await chargeUnprovenMessages(deps, at, { kind, messages, bytes, storedBytes })
  if (spent !== undefined) return spent
  for (const { event, unprovenKind } of judged)
    if (unprovenKind === undefined && event.kind === 'message' && event.pendingBlob !== undefined) {
      const { bytes: original, id, mime } = event.pendingBlob
      await at.rawBlobs?.keep(original, { id, mime })
    }
  return { kind: 'judged', events: small, isUnproven: kind === 'unproven' }
}

/** Undefined: it is within the day's share, or strangers are not counted there. */
export async function chargeUnprovenMessages(
  deps: { readonly db: Db; readonly room?: () => Promise<'low' | 'full' | undefined>; readonly log: Log },
  at: GatewayConnection,
  { bytes, ...share }: Pick<UnprovenSenderCharge, 'kind' | 'messages' | 'storedBytes'> & { readonly bytes: number },
): Promise<Spent | undefined> {
  if (!isOpenToAnyone(at)) return undefined
  const { kind } = share
  const isUnproven = kind === 'unproven'
  if ((await deps.room?.()) !== undefined)
    return { kind: 'spent', reason: 'disk_low', isUnproven, retryAfterSeconds: roomSeconds }
  const charge = { connection: at.key, receivedBytes: bytes, ...share }
  const charged = await chargeUnprovenSender(deps.db, charge, at.strangers)
  if (charged.kind === 'within') return undefined
  if (charged.isFirst) deps.log.warn('strangers_spent', { connection: at.key, reason: kind })
  return { kind: 'spent', reason: 'strangers_spent', isUnproven, retryAfterSeconds: charged.secondsLeft }
}

export function isOpenToAnyone({ adapter }: Pick<GatewayConnection, 'adapter'>): boolean {
  return adapter.capabilities.isOpenToAnyone === true
}

/** How much the parts of a message weigh, where the request that brought them is not at hand. */
export function countMessageBytes(messages: readonly InboundMessage[]): number {
  return messages.reduce(
    (sum, { message }) => sum + message.parts.reduce((each, part) => each + measurePartBytes(part), 0),
    0,
  )
}

function measurePartBytes(part: Part): number {
  // Whatever kind it is: only the fields that can be long are measured.
  const {
    content,
    bytes_ref: ref,
    args,
  } = part as Partial<Extract<KnownPart, { kind: 'file' }>> & {
    readonly content?: unknown
    readonly args?: unknown
  }
  const inline = ref?.kind === 'inline' ? ref.data_base64.length : 0
  return 64 + inline + (typeof content === 'string' ? content.length : 0) + (JSON.stringify(args)?.length ?? 0)
}

/** `stranger`: who is not admitted, and is kept small; undefined: admitted, or not asked. */
type SenderStanding = {
  readonly event: JudgedMessage | IgnoredEvent
  readonly unprovenKind?: UnprovenSenderKind | undefined
  /** It counts in no sender's share. */
  readonly isExempt?: boolean
}

async function classifyMessageSender(
  deps: ReceiveServices,
  at: GatewayConnection,
  given: InboundMessage,
  bytes: number,
): Promise<SenderStanding> {
  const event = given.forwarded === undefined ? given : await addVerifiedForwardedEvidence(deps, given)
  const { sender } = event.message
  const context = senderAccessContext(deps, at, event)
  const first = await deps.access.decide(sender, context)
  const kind = unprovenSenderKind(first)
  if (kind === 'unproven') return trimOrRefuseUnprovenMessage(at, event, first)
  const isAsked =
    isLargeOrHasFiles(event, bytes) || event.pendingBlob !== undefined || (kind !== undefined && isOpenToAnyone(at))
  if (!isAsked) return { event: event }
  const stored = await readCallerAccess(deps.db, sender, at.key)
  const decided = unprovenSenderKind(await deps.access.decide(sender, { ...context, stored }))
  return decided === undefined ? { event: event } : { event: trimStrangerMessage(event), unprovenKind: decided }
}

/** A request that waits hears of its end from a turn; where no request waits it ends at once. */
function trimOrRefuseUnprovenMessage(
  at: GatewayConnection,
  event: InboundMessage,
  decision: AccessDecision,
): SenderStanding {
  const small = trimStrangerMessage(event)
  if (!isOpenToAnyone(at) || answersEachRequest(at) || decision.kind !== 'refused')
    return { event: small, unprovenKind: 'unproven' }
  const dropped = event.message.sender.dropped_evidence?.[0]
  const refusal = decision.reason === 'no_evidence' ? (dropped ?? decision.reason) : decision.reason
  return { event: { ...small, refusal }, unprovenKind: 'unproven' }
}

/** Noise leaves no row. What changes our records and says whom it is from is the channel's own to judge. */
function classifyIgnoredEventSender(at: GatewayConnection, given: IgnoredEvent): SenderStanding {
  if (!isOpenToAnyone(at)) return { event: given }
  const event = omitLargeRaw(given)
  const isChange = given.bounce !== undefined || hasRecordChanges(given)
  if (given.isNoise && !isChange) return { event, isExempt: true }
  if (!isChange) return { event, unprovenKind: given.subject === undefined ? 'unproven' : 'unknown' }
  return given.subject === undefined ? { event, unprovenKind: 'report' } : { event, isExempt: true }
}

/** Undefined: one of the senders is admitted, or none is counted. */
function commonUnprovenKind(judged: readonly SenderStanding[]): UnprovenSenderKind | undefined {
  const counted = judged.filter(({ isExempt }) => isExempt !== true).map(({ unprovenKind }) => unprovenKind)
  if (counted.includes(undefined)) return undefined
  return (['unknown', 'unproven', 'report'] as const).find((kind) => counted.includes(kind))
}

function unprovenSenderKind(decision: AccessDecision): UnprovenSenderKind | undefined {
  if (decision.kind === 'admitted') return undefined
  return decision.evidence === undefined ? 'unproven' : 'unknown'
}

/** Of several agents the one it seems to be for: the statement that stores it may find another in its thread. */
function senderAccessContext(
  deps: { readonly agents: ReadonlyMap<string, Agent> },
  at: GatewayConnection,
  event: InboundMessage,
): AccessContext {
  const { agent } = at.isShared ? routeToAgent(deps, at, event) : event
  return createAccessContext(deps, at, { message: event.message, agent, stored: noStoredAccess })
}

// How many messages strangers may send at once, to a connection and each. Counted by this process and in memory: with several
// replicas each takes as many. People who are known are looked up only once the count is reached, so that a quiet connection pays
// nothing for it, and are let through whatever strangers do.

export type SenderLimits = {
  /** Undefined: it is taken. Else the seconds after which it may come again. */
  ask(at: GatewayConnection, events: readonly InboundEvent[]): Promise<number | undefined>
}

/** A sender found to be known stays so for a while; one found unknown is not looked up again with every message. */
const knownMs = 60_000
const unknownMs = 10_000
const maxRemembered = 10_000

type LimitDeps = {
  readonly agents: ReadonlyMap<string, Agent>
  readonly db: Db
  readonly access: AccessPolicy
  readonly monotonicMs: () => number
  readonly log: Log
}
type Known = { readonly isKnown: boolean; readonly until: number }
type State = {
  readonly all: RateLimiter | undefined
  readonly each: RateLimiter | undefined
  readonly known: Map<string, Known>
  reportedAt: number
}

export function createSenderLimits(deps: LimitDeps): SenderLimits {
  const states = new WeakMap<GatewayConnection, State>()
  const getConnectionState = (at: GatewayConnection): State => {
    const { messages, messagesPerSender } = at.strangers
    const createLimiterFor = (limit: typeof messages): RateLimiter | undefined =>
      limit && createRateLimiter(deps.monotonicMs, limit)
    const state = states.get(at) ?? {
      all: createLimiterFor(messages),
      each: createLimiterFor(messagesPerSender),
      known: new LruMap(maxRemembered),
      reportedAt: Number.NEGATIVE_INFINITY,
    }
    states.set(at, state)
    return state
  }
  return {
    async ask(at, events) {
      if (at.strangers.messages === undefined && at.strangers.messagesPerSender === undefined) return undefined
      const message = firstNewMessage(events)
      if (message === undefined) return undefined
      const state = getConnectionState(at)
      const { subject } = message
      if (subject !== undefined && findRememberedSender(deps, state, subject)?.isKnown === true) return undefined
      // Counted apart: a flood of forgeries keeps out no newcomer who is proven.
      const group = subject === undefined ? 'unproven' : 'proven'
      const seconds = state.all?.ask(group) ?? (subject === undefined ? undefined : state.each?.ask(subject))
      if (seconds === undefined) {
        state.all?.take(group)
        if (subject !== undefined) state.each?.take(subject)
        return undefined
      }
      if (await isKnownSender(deps, at, state, message)) return undefined
      if (deps.monotonicMs() - state.reportedAt > knownMs) {
        state.reportedAt = deps.monotonicMs()
        deps.log.warn('sender_limit_reached', { connection: at.key, reason: tooManyMessages })
      }
      return seconds
    },
  }
}

/** What takes something back or changes it is never kept out: without it the first words would count. */
function firstNewMessage(events: readonly InboundEvent[]): InboundMessage | undefined {
  for (const event of events)
    if (event.kind === 'message' && (event.message.channel?.event ?? 'new') === 'new') return event
  return undefined
}

export const tooManyMessages = 'too_many_messages'

function findRememberedSender({ monotonicMs }: LimitDeps, { known }: State, subject: string): Known | undefined {
  const found = known.get(subject)
  return found !== undefined && found.until > monotonicMs() ? found : undefined
}

/** Admitted by a rule, by a grant or a pairing, or answered here before. */
async function isKnownSender(
  deps: LimitDeps,
  at: GatewayConnection,
  state: State,
  { subject, message, agent }: InboundMessage,
): Promise<boolean> {
  if (subject === undefined) return false
  const found = findRememberedSender(deps, state, subject)
  if (found !== undefined) return found.isKnown
  const isAdmitted =
    (await isAdmittedByRule(deps, at, message, agent)) ||
    (await isAdmittedPerson(deps.db, deps.db.tenant, at.key, subject))
  state.known.set(subject, { isKnown: isAdmitted, until: deps.monotonicMs() + (isAdmitted ? knownMs : unknownMs) })
  return isAdmitted
}

// Evidence that another gateway attached to a message: judged before the message is stored, because it lives for minutes.

type ForwardedDeps = {
  readonly trustedIssuers: TrustedIssuers
  readonly attestations: AttestationVerifier
  readonly now: () => number
}

/** What is believed joins what the adapter proved itself; of the rest the codes stay, for operators who ask why. */
export async function addVerifiedForwardedEvidence(
  deps: ForwardedDeps,
  event: InboundMessage,
): Promise<InboundMessage> {
  const { forwarded, relay, ...rest } = event
  if (forwarded === undefined) return event
  const { message } = rest
  const { trustedIssuers, attestations, now } = deps
  const { admitted, dropped } = await verifyForwardedEvidence(
    { issuers: () => trustedIssuers, attestations, now },
    forwarded,
    {
      audience: message.recipient,
      messageId: message.id,
    },
  )
  const sender = addAdmittedEvidence(message.sender, admitted)
  const recipient_capabilities = addMentionRelay(message, admitted.length > 0 ? relay : undefined)
  const codes = dropped.map(({ code }) => code)
  const subject = rest.subject ?? admitted[0]?.subject
  return {
    ...rest,
    message: {
      ...message,
      recipient_capabilities,
      sender: codes.length === 0 ? sender : { ...sender, dropped_evidence: codes },
    },
    ...(subject === undefined ? {} : { subject }),
  }
}

/** A gateway that is believed about people is believed about its own channel; what cannot be read changes nothing. */
function addMentionRelay(
  { recipient_capabilities: own }: NormalizedMessage,
  relay: unknown,
): NormalizedMessage['recipient_capabilities'] {
  const read = mentionRelaySchema.safeParse(relay)
  return read.success ? { ...own, mention_relay: read.data } : own
}

/** Evidence on a sender whom the adapter did not verify proves nothing, and does not come to count beside some that does. */
function addAdmittedEvidence(sender: Sender, admitted: readonly IdentityEvidence[]): Sender {
  const { identities, verified, ...shown } = sender
  const [first, ...others] = [...(verified ? identities : []), ...admitted]
  return admitted.length === 0 || first === undefined ? sender : verifiedSender([first, ...others], shown)
}
