// Admission: each waiting message on its own goes from evidence to access decision to principal.

import type { Agent } from '../agents/define-agent.ts'
import { noStoredAccess, type OpenPairing, type StoredGrant } from '../contract/access.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import { type NormalizedMessage, textOf } from '../contract/index.ts'
import { senderDomainOrSpace } from '../contract/sender.ts'
import { countCallerTurnsBeforeMessage, recordVisitAndDetectLoop } from '../db/call-chains.ts'
import type { Db } from '../db/client.ts'
import type { PairingAsk } from '../db/pairings.ts'
import { checkFreePairingSlot } from '../db/pairings.ts'
import { type AccessBasis, type HeldLane, noAccessBasis, type WaitingMessage } from '../db/turn-rows.ts'
import {
  type AccessContext,
  type AccessDecision,
  type AccessPolicy,
  listRoleGrants,
  strongestRole,
} from '../identity/access-policy.ts'
import { exceedsHopLimit, isCallerLoop } from '../identity/call-chain.ts'
import { accessDeniedNotice } from '../identity/pairing.ts'
import { isTokenForOtherAgent, type PrincipalResolver } from '../identity/principals.ts'
import { findReasonNotToReply, isAgentAddressed, isGroupRoom, isUnansweredReason } from '../identity/reply-policy.ts'
import { parseChatCommand } from '../inbound/chat-command.ts'
import { beginsWithAgentName } from '../inbound/route-to-agent.ts'
import type { Fields } from '../lib/json-value.ts'
import type { Log } from '../lib/log.ts'
import type { AmbientRecall } from '../sessions/ambient-context.ts'
import { controlNames } from './chat-commands.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import { runUntilAborted } from './leases.ts'
import type { Admission, AmbientDecision } from './plan-turn.ts'

type AdmissionDeps = {
  readonly agents: ReadonlyMap<string, Agent>
  readonly db: Db
  readonly access: AccessPolicy
  readonly principals: PrincipalResolver
  readonly host: () => Promise<string>
}
type Addressed = Pick<NormalizedMessage, 'recipient' | 'received_at'>
export type AdmissionServices = AdmissionDeps & { readonly log: Log }
/** Without `conversationId` a decision is only looked at: none begins to wait by it. */
type Waiting = Pick<HeldLane, 'messages' | 'agent' | 'takesPart'> & { readonly conversationId?: string }

/** In one conversation a stranger is told once an hour at most, and only so many strangers are told at all. */
const maxNotified = 20
/** What one stranger may have waiting for a pairing. */
const maxHeld = 20

export async function admitWaitingMessages(
  deps: AdmissionServices,
  at: GatewayConnection,
  lane: Waiting,
): Promise<ReadonlyMap<string, Admission>> {
  const decided = new Map<string, Admission>()
  const held = new Map<string, number>()
  let { takesPart } = lane
  for (const row of lane.messages) {
    const allowed = await admitOrHold(deps, at, held.size === 0 ? row : addNewlyHeldCounts(row, held), lane)
    const { principal } = allowed.kind === 'admitted' ? allowed : { principal: undefined }
    const notAnswered = principal === undefined ? undefined : refuseUnaddressed(deps, at, row, { takesPart, principal })
    const admission = notAnswered ?? allowed
    decided.set(row.id, admission)
    takesPart ||= admission.kind === 'admitted' && row.event === 'new'
    const id = admission.kind === 'held' ? admission.pairing?.id : undefined
    if (id !== undefined) held.set(id, (held.get(id) ?? 0) + 1)
  }
  return decided
}

/** Those that are about to be held count as well: a stranger who writes fast may not keep more than one who writes slowly. */
function addNewlyHeldCounts(row: WaitingMessage, held: ReadonlyMap<string, number>): WaitingMessage {
  const pairings = row.access.pairings.map((each) => ({ ...each, held: each.held + (held.get(each.id) ?? 0) }))
  return { ...row, access: { ...row.access, pairings } }
}

/** Only so many strangers may wait at once, of one group and on the connection; beyond them nothing is kept and nothing is sent. */
export async function admitOrHold(
  deps: AdmissionServices,
  at: GatewayConnection,
  row: WaitingMessage,
  { agent, conversationId }: Pick<Waiting, 'agent' | 'conversationId'>,
): Promise<Admission> {
  const admission = await admitMessage(deps, at, row, agent)
  // Also who lost a race for the last place just now, which looks as if they had been told something.
  const isLate = admission.kind === 'refused' && admission.reason === 'not_paired' && row.access.told > 0
  const wouldWait = admission.kind === 'held' && admission.pairing === null
  if (conversationId === undefined || !(wouldWait || isLate)) return admission
  const { subject, accessRule, evidence } = admission
  const room = await checkFreePairingSlot(deps.db, {
    connection: at.key,
    agent,
    conversationId,
    inboxId: row.id,
    traceId: row.traceId,
    ...choosePairingQuota(at, subject),
  })
  if (room.kind === 'free') return admission
  if (room.isNews)
    deps.log.warn('pairings_full', { connection: at.key, trace: row.traceId, reason: room.group ?? 'connection' })
  return { subject, accessRule, evidence, kind: 'refused', reason: 'pairings_full', mustNotify: false }
}

/** Among whom a stranger waits, and how many of them may. */
export function choosePairingQuota(
  { strangers }: GatewayConnection,
  subject: string | null,
): Pick<PairingAsk, 'group' | 'perConnection' | 'perGroup'> {
  const { pairings: perConnection, pairingsPerGroup: perGroup } = strangers
  return { group: (subject === null ? undefined : senderDomainOrSpace(subject)) ?? null, perConnection, perGroup }
}

export async function admitMessage(
  deps: AdmissionDeps,
  at: GatewayConnection,
  row: WaitingMessage,
  agent: string,
): Promise<Admission> {
  const context = createAccessContext(deps, at, { message: row.message, agent, stored: row.access })
  const decision = await deps.access.decide(row.message.sender, context)
  const ground = toAccessBasis(decision)
  switch (decision.kind) {
    case 'refused':
      return refuseAdmission(at, row, ground, refusalReason(decision.reason, row))
    case 'unpaired':
      return holdForPairing(at, row, ground, decision.with === 'agent' ? agent : '*')
    case 'admitted': {
      const person = await resolvePerson(deps, at, row, { context, evidence: decision.evidence })
      if (person === undefined) return refuseAdmission(at, row, ground, 'principal_unknown')
      if (isTokenForOtherAgent(decision.evidence, agent)) return refuseAdmission(at, row, ground, 'wrong_agent')
      const isFromAgent = row.message.channel?.caller !== undefined
      const fault = isFromAgent
        ? await recordChainVisitOrRefuse(deps, row.message, { agent, inboxId: row.id })
        : undefined
      if (fault !== undefined) return refuseAdmission(at, row, ground, fault)
      return { ...ground, kind: 'admitted', principal: person.id, subject: person.id, speaker: person.speaker }
    }
  }
}

/** Whether the configuration admits a sender by name, whatever is stored about them. A public connection names no sender. */
export async function isAdmittedByRule(
  deps: Pick<AdmissionDeps, 'access' | 'agents'>,
  at: GatewayConnection,
  message: NormalizedMessage,
  agent: string,
): Promise<boolean> {
  const context = createAccessContext(deps, at, { message, agent, stored: noStoredAccess })
  const decision = await deps.access.decide(message.sender, context)
  return decision.kind === 'admitted' && decision.rule !== 'public'
}

/** Who a sender is, and with what authority they act: the execution principal and the role a grant gives it. */
async function resolvePerson(
  deps: Pick<AdmissionDeps, 'principals'>,
  { connection, adapter }: GatewayConnection,
  { message, access }: WaitingMessage,
  { context, evidence }: { readonly context: AccessContext; readonly evidence: IdentityEvidence },
): Promise<{ readonly id: string; readonly speaker: Fields } | undefined> {
  const origin = { connector: connection.id, provider: adapter.channel, workspace: connection.tenant }
  const by = { ...origin, agent: context.agent, evidence, links: access.links }
  const person = await deps.principals.resolve(message.sender, by)
  if (person === undefined) return undefined
  const caller = message.channel?.caller
  const role = strongestRole(message.sender, context)
  return {
    id: person.id,
    speaker: { ...person.principal, role, ...(caller === undefined ? {} : { caller_context: caller }) },
  }
}

/** Who acts in a run for which no sender was admitted just now. Undefined: no person. */
export async function resolveSpeaker(
  deps: Pick<AdmissionDeps, 'agents' | 'access' | 'principals'>,
  at: GatewayConnection,
  row: WaitingMessage,
  agent: string,
): Promise<Fields | undefined> {
  const context = createAccessContext(deps, at, { message: row.message, agent, stored: row.access })
  const decision = await deps.access.decide(row.message.sender, context)
  if (decision.kind !== 'admitted') return undefined
  return (await resolvePerson(deps, at, row, { context, evidence: decision.evidence }))?.speaker
}

const nameTimeoutMs = 3_000

/** What people call a sender: as the message says, else as the platform says when it is asked, else by their user name. */
export async function lookUpSenderName(
  { adapter }: Pick<GatewayConnection, 'adapter'>,
  { message, replyTo }: Pick<WaitingMessage, 'message' | 'replyTo'>,
): Promise<string | undefined> {
  const { display_name: reported, profile } = message.sender
  if (reported !== undefined || adapter.senderName === undefined) return reported ?? profile?.username
  const deadline = AbortSignal.timeout(nameTimeoutMs)
  const asked = runUntilAborted(deadline, () => adapter.senderName?.(message, replyTo, deadline))
  return (await asked.catch(() => undefined)) ?? profile?.username
}

type Authority = {
  readonly isOperator: boolean
  readonly role: StoredGrant['role']
  /** How strongly they are proven, by what admitted them. */
  readonly assurance: string | null
  readonly adminGrants: readonly StoredGrant[]
}

/** What stored grants make of the sender of a command, for this agent in this place, as of this very moment. */
export async function resolveAuthority(
  deps: Pick<AdmissionDeps, 'agents' | 'access'>,
  at: GatewayConnection,
  row: WaitingMessage,
  agent: string,
): Promise<Authority> {
  const context = createAccessContext(deps, at, { message: row.message, agent, stored: row.access })
  const { sender } = row.message
  // A command that is tried again may come from a sender who lost access meanwhile.
  const decision = await deps.access.decide(sender, context)
  if (decision.kind !== 'admitted') return { isOperator: false, adminGrants: [], role: null, assurance: null }
  const role = strongestRole(sender, context)
  return {
    isOperator: role === 'operator' || role === 'admin',
    role,
    assurance: decision.evidence.assurance,
    adminGrants: listRoleGrants(sender, context).filter((grant) => grant.role === 'admin'),
  }
}

/** What is decided about: a message, the agent it is for, and what is stored about its sender. */
export function createAccessContext(
  { agents }: { readonly agents: ReadonlyMap<string, Agent> },
  at: GatewayConnection,
  { agent, stored, message }: Pick<AccessContext, 'agent' | 'stored'> & { readonly message: Addressed },
): AccessContext {
  return {
    connection: at.key,
    agent,
    rule: at.access,
    own: agents.get(agent)?.access,
    recipient: message.recipient,
    receivedAt: message.received_at,
    stored,
  }
}

/** What the audit log keeps of evidence is how it was proven, not who. */
function toAccessBasis({ rule, evidence }: AccessDecision): AccessBasis {
  if (evidence === undefined) return { accessRule: rule, subject: null, evidence: null }
  const { subject, issuer, method, assurance } = evidence
  return { accessRule: rule, subject, evidence: { issuer, method, assurance } }
}

function refuseAdmission(at: GatewayConnection, row: WaitingMessage, ground: AccessBasis, reason: string): Admission {
  // Where a request waits for its answer the code is the answer.
  const hasWords = accessDeniedNotice(reason, ground.subject) !== undefined
  return {
    ...ground,
    kind: 'refused',
    reason,
    mustNotify: hasWords && !answersEachRequest(at) && mayNotifyUnadmittedSender(row),
  }
}

/** Nothing is proven because what came along to prove it was not believed: that is the reason to be told. */
function refusalReason(reason: string, { message }: WaitingMessage): string {
  return reason === 'no_evidence' ? (message.sender.dropped_evidence?.[0] ?? reason) : reason
}

function holdForPairing(at: GatewayConnection, row: WaitingMessage, ground: AccessBasis, agent: string): Admission {
  const pairing = row.access.pairings.find((each) => each.agent === agent) ?? null
  const refuseWithoutNotice = (reason: string): Admission => ({ ...ground, kind: 'refused', reason, mustNotify: false })
  // A press is no message: nothing of it is kept for later, and the press alone is answered.
  if (row.mustReplyIndividually === 'click')
    return { ...ground, kind: 'refused', reason: 'decision_not_allowed', mustNotify: ground.subject !== null }
  // A deletion is always kept: without it a message that was taken back would be answered.
  if (pairing !== null && pairing.held >= maxHeld && row.event !== 'delete') return refuseWithoutNotice('too_many_held')
  if (pairing === null && !mayNotifyUnadmittedSender(row)) return refuseWithoutNotice('not_paired')
  return { ...ground, kind: 'held', pairing, pairedWith: agent, mustNotify: needsPairingCode(at, row, pairing) }
}

function needsPairingCode(at: GatewayConnection, row: WaitingMessage, pairing: OpenPairing | null): boolean {
  return row.event === 'new' && (pairing === null || answersEachRequest(at) || mayNotifyUnadmittedSender(row))
}

/** Each request there is answered, and only the one who made it hears the answer. */
export function answersEachRequest({ adapter }: Pick<GatewayConnection, 'adapter'>): boolean {
  return adapter.endpoints.some(({ answer }) => answer === 'watch')
}

/** Said to a sender who addressed us: not into a room of which we only see ambient context, and not over and over. */
export function mayNotifyUnadmittedSender({ message, access }: Pick<WaitingMessage, 'message' | 'access'>): boolean {
  return isAddressedToAgent(message) && access.told === 0 && access.toldAll < maxNotified
}

function isAddressedToAgent({ channel }: Pick<NormalizedMessage, 'channel'>): boolean {
  return channel === undefined || channel.room_kind === 'dm' || isAgentAddressed(channel)
}

// For messages that agents send: whether their call chain may go on here. A chain is no authority; it can only take away.

type ChainDeps = {
  readonly db: Db
  /** Our own origin, as others are told it. */
  readonly host: () => Promise<string>
}

/** For whom a message waits, and which one it is. */
type ChainedMessage = { readonly agent: string; readonly inboxId: string }

/** How often one agent may come back to another in one conversation before a person speaks again. */
const maxPairTurns = 5

export type ChainRefusal = 'gw:agent_loop' | 'gw:hop_limit'

/**
 * Undefined: it may. The visit is remembered before anything runs; a message that is tried again, after a crash or alone after a
 * failed merge, stands where it stood and does not take itself for a loop.
 */
export async function recordChainVisitOrRefuse(
  { db, host: ownHost }: ChainDeps,
  { channel }: Pick<NormalizedMessage, 'channel'>,
  { agent, inboxId }: ChainedMessage,
): Promise<ChainRefusal | undefined> {
  const caller = channel?.caller
  if (caller === undefined || caller.chain_depth === 0) return undefined
  const { chain_depth: depth, chain_root: root } = caller
  if (exceedsHopLimit(depth)) return 'gw:hop_limit'
  const host = await ownHost()
  if (isCallerLoop(caller, { agent, host }, [])) return 'gw:agent_loop'
  if (await recordVisitAndDetectLoop(db, { root, agent, host, depth })) return 'gw:agent_loop'
  // A person who speaks begins a chain of their own: within one chain two agents have only each other to talk to.
  const pair = { root, agent: caller.caller_agent ?? '', host: caller.caller_host }
  return (await countCallerTurnsBeforeMessage(db, inboxId, pair)) >= maxPairTurns ? 'gw:agent_loop' : undefined
}

// The reply policy in rooms: messages of admitted people that are not for the agent end here as refused, and may be kept as
// ambient context.

/** Undefined: it is for the agent. No access decision: nothing of it goes into the audit log. */
function refuseUnaddressed(
  deps: { readonly agents: ReadonlyMap<string, Agent> },
  at: GatewayConnection,
  row: WaitingMessage,
  { takesPart, principal }: { readonly takesPart: boolean; readonly principal: string },
): Admission | undefined {
  const reason =
    row.event === 'new' ? findNoReplyReasonOfNewMessage(deps, at, row, takesPart) : noReplyReasonOfEditedMessage(row)
  if (reason === undefined) return undefined
  return {
    ...noAccessBasis,
    kind: 'refused',
    reason,
    mustNotify: false,
    ambient: decideAmbientContextStorage(at, row, principal),
  }
}

/** Only words of those who may speak come here: a stranger's are not kept. */
function decideAmbientContextStorage(
  { replyPolicy }: GatewayConnection,
  { message }: WaitingMessage,
  principal: string,
): AmbientDecision {
  const { ambientContext } = replyPolicy
  if (ambientContext === null) return { memory: null }
  const { minutes, bytes: maxBytes } = ambientContext
  return { memory: { ...ambientRoomFields(message), principal, minutes, maxBytes } }
}

/** What a turn that begins is given of the ambient context. A session that begins on command leaves it behind. */
export function chooseAmbientRecall(
  { replyPolicy }: GatewayConnection,
  { message }: WaitingMessage,
  isRotation: boolean,
): { readonly recall?: AmbientRecall } {
  const { ambientContext } = replyPolicy
  if (ambientContext === null || !isGroupRoom(message.channel)) return {}
  const { messages, bytes } = ambientContext
  return { recall: { ...ambientRoomFields(message), messages: isRotation ? 0 : messages, bytes } }
}

function ambientRoomFields({
  channel,
  thread_id,
}: WaitingMessage['message']): Pick<AmbientRecall, 'room' | 'mainLine'> {
  return { room: channel?.external_conversation_id ?? thread_id, mainLine: channel?.main_line ?? null }
}

/** A message that is taken back is remembered no longer, in every agent's ambient context. */
export function deletedAmbientMessageField({ event, original }: WaitingMessage): { readonly unheard?: string } {
  return event === 'delete' && original !== null && isUnansweredReason(original.reason) ? { unheard: original.id } : {}
}

function findNoReplyReasonOfNewMessage(
  deps: { readonly agents: ReadonlyMap<string, Agent> },
  at: GatewayConnection,
  { message, mustReplyIndividually }: WaitingMessage,
  takesPart: boolean,
): string | undefined {
  const { channel, parts } = message
  const reason = findReasonNotToReply(at.replyPolicy, {
    channel,
    takesPart,
    isClaimed: () => mustReplyIndividually !== null || beginsWithAgentName(deps, at, message),
    isForAnother() {
      const words = textOf(parts).trimStart()
      return (channel?.mentions ?? []).some(({ text }) => text !== '' && words.startsWith(text))
    },
  })
  // A command for the gateway itself is answered wherever it is given.
  return reason === undefined || parseChatCommand(message, controlNames) !== undefined ? undefined : reason
}

/** An edit wakes no agent. Deleting ambient context has work to do all the same: what it said is erased. */
function noReplyReasonOfEditedMessage({ event, original }: WaitingMessage): string | undefined {
  const reason = original?.reason ?? null
  return event === 'edit' && isUnansweredReason(reason) ? reason : undefined
}
