// Ends a turn: with its reply, with silence, dead with an apology, or released back to its lane.
import { addApprovalAsksToReply, removeQuestions } from '../agents/approvals/approval-messages.ts'
import { readPendingAction } from '../agents/approvals/pending-action.ts'
import type { Agent } from '../agents/define-agent.ts'
import { apologyReply, normalizeAgentReply } from '../agents/reply.ts'
import type { QueuedCall } from '../contract/delivery.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import { isKnownPart, type NormalizedResponse, type Part, parseAddress, textPart } from '../contract/index.ts'
import { isPauseEndSignal } from '../db/transcripts.ts'
import type { ReleaseCause, TurnEnd, WaitingSignal } from '../db/turn-rows.ts'
import type { AttachmentService } from '../files/attachment.ts'
import { defuseMentions, type MentionTreatment, mayMentionHuman, type WrittenName } from '../identity/mentions.ts'
import { resendOmittedContentNotice } from '../identity/pairing.ts'
import { isGatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import { say } from '../locales/say.ts'
import { type Outgoing, renderCalls } from '../outbound/render.ts'
import { storeWholeReply } from '../outbound/reply-files.ts'
import { backoffMs } from '../outbound/settle.ts'
import {
  amendmentEnvelope,
  assistantEnvelope,
  type Participant,
  senderToParticipant,
  userEnvelope,
} from '../sessions/transcript.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import { listAppendedEvents, naturalEnd, taskStateAfterRun } from './run-end.ts'
import type { RunResult } from './run-turn.ts'
import type { RenderServices, TurnServices } from './services.ts'
import { getRunId, replyFields, type TurnContext } from './turn-context.ts'
import type { TurnPolicy } from './turn-policy.ts'

type Line = TurnEnd['envelopes'][number]

/** Rendering happens here, before the commit: one outbox row is one vendor call. */
export async function buildAnsweredTurnEnd(
  deps: TurnServices,
  turn: TurnContext,
  result: RunResult,
  latencyMs: number,
): Promise<TurnEnd> {
  const ready = turn.joined.size === 0 ? turn : addJoinedMessages(turn)
  const reply = composeReplyOfRun(ready, result)
  const outgoing: Outgoing[] = result.extras.map((extra) => ({ reply: extra, purpose: 'message' }))
  if (reply !== undefined) outgoing.push({ reply, purpose: 'reply' })
  const context = { agents: deps.agents, at: ready.at, members: ready.members, earlier: result.participants }
  const toSay: Outgoing[] = []
  const envelopes: Line[] = toTranscriptLines(ready)
  for (const envelope of result.lines) envelopes.push({ inboxId: null, envelope })
  const facts = { runId: getRunId(ready), latencyMs, at: new Date(deps.now()).toISOString() }
  for (const each of outgoing) {
    // What is stored is what was said; only what leaves is made safe.
    const unasked = result.actions.length === 0 ? {} : addReplyWithoutQuestions(context, each.reply, result.actions)
    toSay.push({ ...applyMentionPolicy(context, each.reply), purpose: each.purpose, ...unasked })
    const envelope = assistantEnvelope(getAnsweringAddress(ready), each.reply.parts, facts)
    envelopes.push({ inboxId: null, envelope })
  }
  if (reply === undefined) toSay.push(...unansweredLiveMessageNotice(ready))
  const calls = await renderOutgoing(
    deps,
    ready.live === undefined ? ready : stopRepeatingLiveMessageWithQuestion(ready, result),
    toSay,
  )
  const isReplied = calls.some((call) => call.primary)
  // Where calls are appended to a log of ours they are delivered by being written down.
  const isAppending = ready.at.adapter.capabilities.appends === true
  const isAnswered = isReplied && isAppending && calls.every((call) => !call.primary || call.isAppended === true)
  // Without a task, and without a log of ours that tells of its end, no one asks for it.
  const taskState = ready.turn.taskId === null && !isAppending ? null : taskStateAfterRun(reply, result.run.status)
  // What a command came to is no end of what it is about.
  const endedState = ready.turn.kind === 'control' ? null : taskState
  const events = isAppending ? listAppendedEvents(calls, endedState) : []
  return {
    ...createEmptyEnd(ready),
    ...(isAnswered ? answered : isReplied ? replied : { ...silent, leadReason: result.silentBecause ?? 'silent' }),
    response: reply ?? null,
    envelopes,
    calls,
    timers: result.timers,
    run: result.run,
    events: [...result.events, ...events],
    taskState,
    actions: result.actions,
    requests: result.requests,
    resolved: result.resolved,
    ...(result.sharedState === undefined ? {} : { sharedState: result.sharedState }),
  }
}

/** What joined an earlier try and was not asked for again ends with the turn as well. */
function addJoinedMessages(ready: TurnContext): TurnContext {
  return { ...ready, members: [...ready.members, ...[...ready.joined.values()].flat()], joined: new Map() }
}

const replied = { state: 'replied', leadState: null, leadReason: null } as const
const answered = { state: 'answered', leadState: 'answered', leadReason: null } as const
const silent = { state: 'silent', leadState: 'refused', leadReason: 'silent' } as const

/** The reply of the run, with what is said beside it in the same answer. */
function composeReplyOfRun(
  ready: TurnContext,
  { reply: returned, run, actions }: RunResult,
): NormalizedResponse | undefined {
  const { shown = '' } = ready
  let reply = returned
  const note = reply?.parts.at(-1)
  const isStopped = run.status === 'cancelled' || run.status === 'interrupted'
  // A person who stops an answer wants no more of it, and keeps what they have read.
  if (isStopped && reply !== undefined && note !== undefined && shown.trim() !== '')
    reply = { ...reply, parts: [textPart(shown, 'text/markdown'), note] }
  // A sender who was let in meanwhile learns what of their words and files was not kept until then.
  const leftOut = ready.members.flatMap(({ row }) => row.message.left_out ?? [])
  const words = leftOut.length === 0 ? undefined : resendOmittedContentNotice(leftOut)
  if (words !== undefined)
    reply =
      reply === undefined
        ? normalizeAgentReply(words, replyFields(ready))
        : { ...reply, parts: [...reply.parts, textPart(words)] }
  if (reply === undefined || actions.length === 0) return reply
  const asked = actions.map(({ action }) => readPendingAction(action))
  return addApprovalAsksToReply(reply, asked)
}

/** A question is changed by the person who answers it, and must not come back after that. */
function stopRepeatingLiveMessageWithQuestion(ready: TurnContext, { actions, requests }: RunResult): TurnContext {
  if (ready.live === undefined || (actions.length === 0 && requests.length === 0)) return ready
  const { clientId, text } = ready.live
  return { ...ready, live: { clientId, text } }
}

/** Decided questions are not asked: what else the reply says is kept ready. */
function addReplyWithoutQuestions(
  context: MentionContext,
  reply: Outgoing['reply'],
  actions: RunResult['actions'],
): Pick<Outgoing, 'unasked'> {
  const unasked = removeQuestions(
    reply,
    actions.map(({ action }) => readPendingAction(action)),
    context.at.adapter.capabilities.commandForm,
  )
  return unasked === undefined
    ? {}
    : { unasked: { ...unasked, reply: applyMentionPolicy(context, unasked.reply).reply } }
}

/** What was shown while it grew, and is no answer after all, stays as it is and grows no more. */
function unansweredLiveMessageNotice(ready: TurnContext): readonly Outgoing[] {
  if (ready.live === undefined) return []
  const reply = normalizeAgentReply(ready.live.text || say('run.unanswered'), replyFields(ready))
  return reply === undefined ? [] : [{ reply, purpose: 'notice' }]
}

/** A dead turn commits its apology together with its state. */
export async function buildDeadTurnEnd(deps: RenderServices, given: TurnContext, reason: string): Promise<TurnEnd> {
  const ready = given.joined.size === 0 ? given : addJoinedMessages(given)
  const reply = apologyReply(replyFields(ready), reason, ready.turn.id, ready.steps().account())
  const calls = await apologyCalls(deps, ready, reply)
  const at = new Date(deps.now()).toISOString()
  const said: Envelope = {
    ...assistantEnvelope(getAnsweringAddress(ready), reply.parts, { runId: getRunId(ready), at }),
    type: 'error',
  }
  return {
    ...createEmptyEnd(ready),
    state: 'dead',
    reason,
    response: reply,
    leadState: 'dead',
    leadReason: reason,
    envelopes: [...toTranscriptLines(ready), { inboxId: null, envelope: said }],
    calls,
    run: { ...naturalEnd, status: 'failed', stopReason: reason },
    events: [
      { key: `${ready.lane.epoch}:dead`, event: { type: 'failed', metadata: { error: reason } } },
      ...listAppendedEvents(calls, 'failed'),
    ],
    taskState: 'failed',
    resolved:
      ready.signal !== null && isPauseEndSignal(ready.signal)
        ? failedPauseResolution(ready, ready.signal, reason)
        : null,
  }
}

/** What waited for this turn is over with it: no run will come back for its input. */
function failedPauseResolution(ready: TurnContext, { payload }: WaitingSignal, error: string): TurnEnd['resolved'] {
  return { id: String(payload['id']), result: null, error, metadata: { turn: ready.turn.id } }
}

/** An edit or delete of what was already taken: recorded in the transcript, answered by nothing. */
export function buildAmendmentTurnEnd(ready: TurnContext): TurnEnd {
  const edit = ready.edit
  const original = edit?.original ?? null
  if (edit === null || original === null)
    return { ...createEmptyEnd(ready), leadState: 'merged', leadReason: 'amendment' }
  const facts = { runId: getRunId(ready), amends: edit.editOf ?? '', event: edit.event }
  return {
    ...createEmptyEnd(ready),
    leadId: edit.id,
    leadState: 'merged',
    leadReason: 'amendment',
    envelopes: [{ inboxId: edit.id, envelope: amendmentEnvelope(edit.message, facts) }],
    erased: edit.event === 'delete' ? [original.id] : [],
  }
}

export type FailureStep =
  | { readonly kind: 'abandon' }
  | { readonly kind: 'release'; readonly delayMs: number; readonly cause: ReleaseCause; readonly code: string }
  | { readonly kind: 'split'; readonly delayMs: number; readonly code: string }
  | { readonly kind: 'dead'; readonly reason: string }

/** What an exception means for its turn. */
export function decideAfterFailure(
  deps: { readonly turnPolicy: TurnPolicy; readonly random: () => number },
  ready: TurnContext,
  error: unknown,
): FailureStep {
  const policy = deps.turnPolicy
  const code = isGatewayError(error) ? error.code : 'agent_failed'
  if (code === 'lease_lost') return { kind: 'abandon' }
  if (code === 'stopping') return { kind: 'release', delayMs: 0, cause: 'stopping', code }
  // Our own database failed in the middle: not the agent's fault, and no answer for the person.
  if (code === 'storage_unavailable') return { kind: 'release', delayMs: 500, cause: 'stopping', code }
  // Every later try would meet the same end.
  if (code === 'tool_outcome_unknown' || ready.steps().isFinal(error))
    return { kind: 'dead', reason: 'tool_outcome_unknown' }
  if (code === 'turn_deadline' && (ready.steps().hasEffect() || ready.turn.isHung === true))
    return { kind: 'dead', reason: code }
  // What the agent returned would be the same again: it is not run, and paid, once more for it. What was erased does not come back.
  if (code === 'reply_invalid' || code === 'reply_too_long' || code === 'content_erased')
    return { kind: 'dead', reason: code }
  const delayMs = backoffMs(ready.turn.failures + 1, { firstMs: policy.retryFirstMs, maxMs: 60_000 }, deps.random)
  if (code === 'provider_unavailable') {
    return (ready.turn.outageMs ?? 0) > policy.maxOutageMs
      ? { kind: 'dead', reason: code }
      : { kind: 'release', delayMs: outageDelayMs(ready, error, delayMs), cause: 'outage', code }
  }
  if (ready.members.length > 1 && !ready.steps().hasEffect()) return { kind: 'split', delayMs: 0, code }
  if (ready.turn.failures + 1 >= policy.maxFailures) return { kind: 'dead', reason: code }
  return { kind: 'release', delayMs, cause: 'failed', code }
}

const maxOutageDelayMs = 60_000
const maxAskedDelayMs = 10 * 60_000

/** The longer it is away, the less often it is asked; when it said itself when to come back, not before, within reason. */
function outageDelayMs({ turn }: TurnContext, error: unknown, firstMs: number): number {
  const asked = isGatewayError(error) ? Number(error.details['retryAfterSeconds'] ?? 0) * 1000 : 0
  const grown = Math.min((turn.outageMs ?? 0) / 2, maxOutageDelayMs)
  return Math.round(Math.max(firstMs, grown, Math.min(asked, maxAskedDelayMs)))
}

function toTranscriptLines(ready: TurnContext): Line[] {
  const runId = getRunId(ready)
  const lines: Line[] = []
  for (const { row, message, edits } of ready.members) {
    lines.push({ inboxId: row.id, envelope: userEnvelope(message, { runId }) })
    for (const edit of edits) {
      const envelope = amendmentEnvelope(edit.message, { runId, amends: row.messageId, event: 'edit' })
      lines.push({ inboxId: edit.id, envelope })
    }
  }
  return lines
}

export function createEmptyEnd(ready: TurnContext): TurnEnd {
  return {
    turnId: ready.turn.id,
    // Only an access challenge has none.
    sessionId: ready.turn.sessionId || null,
    state: 'silent',
    reason: null,
    response: null,
    leadId: ready.members.at(-1)?.row.id ?? null,
    leadState: null,
    leadReason: null,
    envelopes: [],
    erased: [],
    calls: [],
    timers: [],
    run: naturalEnd,
    events: [],
    actions: [],
    requests: [],
    resolved: null,
    pairing: null,
    ground: null,
    hasLive: ready.live !== undefined,
    taskState: null,
  }
}

export function renderOutgoing(
  deps: {
    readonly attachments: AttachmentService
    readonly newId: IdSource
    readonly hash: (text: string) => Promise<string>
    readonly log: Log
  },
  ready: TurnContext,
  outgoing: readonly Outgoing[],
): Promise<readonly QueuedCall[]> {
  const { lane, at, turn } = ready
  const context = {
    adapter: at.adapter,
    newId: deps.newId,
    origin: turn.id,
    orderKey: lane.conversationId,
    to: lane.replyTo,
    live: ready.live,
    maxParts: at.replyParts,
    keepWhole: (text: string, index: number) => storeWholeReply(deps, ready, text, index),
  }
  return renderCalls(context, outgoing)
}

/** An apology that cannot be rendered must not keep the turn from ending. */
async function apologyCalls(
  deps: {
    readonly attachments: AttachmentService
    readonly newId: IdSource
    readonly hash: (text: string) => Promise<string>
    readonly log: Log
  },
  ready: TurnContext,
  reply: Outgoing['reply'],
): Promise<readonly QueuedCall[]> {
  try {
    return await renderOutgoing(deps, ready, [{ reply, purpose: 'apology' }])
  } catch (error) {
    if (!isGatewayError(error)) throw error
    return []
  }
}

function getAnsweringAddress(ready: TurnContext): string {
  return ready.members.at(-1)?.message.recipient ?? `@${ready.lane.agent}@${ready.at.connection.domain}`
}

// Whom a reply may notify by mentioning them: decided once, before rendering, for every channel alike.

type MentionContext = {
  readonly agents: ReadonlyMap<string, Agent>
  readonly at: GatewayConnection
  readonly members: TurnContext['members']
  /** Who wrote in the conversation before them. */
  readonly earlier: readonly Participant[]
}

type Mentionable = {
  readonly reply: NormalizedResponse
  /** Names as they are written in it, in small letters, that may reach whom they name. */
  readonly mayNotify: ReadonlySet<string>
}

function applyMentionPolicy(context: MentionContext, reply: NormalizedResponse): Mentionable {
  // Where a name notifies no person the words are left alone.
  const hasNames = reply.parts.some((part) => isKnownPart(part) && part.kind === 'text' && part.content.includes('@'))
  if (!hasNames || context.at.adapter.capabilities.notifiesByName === false) return { reply, mayNotify: new Set() }
  const isCovered = context.at.adapter.capabilities.coversNames === true
  const fateOf = createMentionClassifier(context)
  const mayNotify = new Set<string>()
  const parts = reply.parts.map((part): Part => {
    if (!isKnownPart(part) || part.kind !== 'text') return part
    const { text, live } = defuseMentions(part.content, fateOf)
    for (const name of live) mayNotify.add(name)
    return isCovered || text === part.content ? part : { ...part, content: text }
  })
  return { reply: { ...reply, parts }, mayNotify }
}

function createMentionClassifier({
  agents,
  at,
  members,
  earlier,
}: MentionContext): (name: WrittenName) => MentionTreatment {
  const { domain: ours } = at.connection
  const participants = [...earlier, ...members.map((member) => senderToParticipant(member.message))]
  const names = participants.flatMap((participant) => listParticipantNames(participant, ours))
  const wakesAgents = at.adapter.capabilities.mentionRelay.kind !== 'none'
  return ({ local, domain }) => {
    const isOurs = domain === undefined || parseAddress(`${local}@${domain}`)?.domain === ours
    // Where the platform relays nothing, an agent's name does not reach that agent; people still write it to address that agent.
    if (isOurs && agents.has(local.toLowerCase())) return wakesAgents ? 'live' : 'leave'
    const address = `@${local}@${domain ?? ours}`.toLowerCase()
    return mayMentionHuman(at.mentionHumans, names, address) ? 'live' : 'defuse'
  }
}

/** A name that is merely claimed would let a reply notify its real owner. */
function listParticipantNames({ address, verified, handle }: Participant, ours: string): readonly string[] {
  if (!verified) return []
  return [address, ...(handle === undefined ? [] : [`@${handle}@${ours}`])].map((name) => name.toLowerCase())
}
