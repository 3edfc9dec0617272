// The trigger of a turn: a message came, a timer fired, what a paused run waited for is there; or it is the gateway's own to
// answer and no agent runs.

import type { EndedPause, PauseDecision } from '../agents/approvals/pauses.ts'
import { actionHash } from '../agents/approvals/pending-action.ts'
import { toSubmittedAnswer } from '../agents/client-tools.ts'
import type { Signal } from '../agents/define-agent.ts'
import type { NormalizedMessage } from '../contract/index.ts'
import type { Db } from '../db/client.ts'
import type { StoredAction } from '../db/pending-actions.ts'
import { loadPendingAction } from '../db/pending-actions.ts'
import type { ToolRequestLine } from '../db/tool-requests.ts'
import { answerToolRequest, findToolRequestByCall, loadToolRequest } from '../db/tool-requests.ts'
import { isApprovalEndSignal, isPauseEndSignal, pauseSignals } from '../db/transcripts.ts'
import type { WaitingSignal } from '../db/turn-rows.ts'
import { listTurnMessages } from '../db/turns.ts'
import { GatewayError } from '../lib/errors.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { Log } from '../lib/log.ts'
import { type Sentence, say } from '../locales/say.ts'
import { type ReplyFacts, type Rerun, readStoredRerun } from './pauses.ts'
import { addressMessagesToAgent, splitMembersAndJoined } from './prepare-turn.ts'
import { type TurnChain, takeChainFromPayload } from './remote-agents.ts'
import type { TurnContext } from './turn-context.ts'

export type TurnTrigger =
  | {
      readonly kind: 'agent'
      /** Null: messages. */
      readonly signal: Signal | null
      /** The wait this turn ends, and where its answer belongs. */
      readonly ends: string | null
      readonly reply: Partial<ReplyFacts>
      /** Where the turn stood that left this for later. */
      readonly chain: TurnChain | undefined
      /** It runs again as it began, with what was decided meanwhile. */
      readonly rerun?: Rerun | undefined
    }
  | { readonly kind: 'gateway'; readonly says: Sentence | undefined }

/** Messages, and nothing that waited for them. */
export const messagesCame: TurnTrigger = { kind: 'agent', signal: null, ends: null, reply: {}, chain: undefined }

export async function resolveTrigger(
  deps: { readonly db: Db; readonly log: Log },
  ready: TurnContext,
): Promise<TurnTrigger> {
  const { signal } = ready
  if (signal !== null) {
    if (!isPauseEndSignal(signal)) {
      const { chain, rest } = takeChainFromPayload(signal.payload)
      return { kind: 'agent', signal: { ...signal, payload: rest }, ends: null, reply: {}, chain }
    }
    return toTurnTrigger(await resolvePauseEndSignal(deps, ready, signal))
  }
  const channel = ready.members.at(-1)?.message.channel
  if (channel?.tool_result === undefined) return messagesCame
  const answered = await answerReportedToolRequest(deps, ready, channel.tool_result)
  if ('refusal' in answered) return { kind: 'gateway', says: answered.refusal }
  const result = { kind: pauseSignals.runtimeTool, name: 'submitted', payload: { id: answered.id } }
  const resumed = toTurnTrigger(await resolvePauseEndSignal(deps, ready, result))
  // The client that sent the result waits for the answer: it goes there.
  return resumed.kind === 'agent' ? { ...resumed, reply: {} } : resumed
}

/** What a signal woke the conversation for may be gone, and with it the reason to run. */
function toTurnTrigger(resumed: Resumed | undefined): TurnTrigger {
  if (resumed === undefined) return { kind: 'gateway', says: undefined }
  const { signal, id: ends, reply, chain, rerun } = resumed
  return { kind: 'agent', signal, ends, reply, chain, rerun }
}

/** The turn as it was when the run began: the messages it is about, and those that joined it on the way. */
export async function restoreMessagesOfRerun(
  deps: { readonly db: Db },
  ready: TurnContext,
  { beginning }: Rerun,
): Promise<TurnContext> {
  if (!beginning.hasMessages) return { ...ready, isRerun: true }
  const rows = await listTurnMessages(deps.db, ready.lane, beginning.turn)
  if (rows.length === 0 || rows.some(({ message }) => message === null))
    throw new GatewayError('content_erased', '[gateway] what this run was about was erased; it does not go on')
  return { ...ready, ...splitMembersAndJoined(addressMessagesToAgent(ready.at, ready.lane.agent, rows)), isRerun: true }
}

// Resumes a paused run: the signal that ended its wait is read back, what was decided is checked once more, and the run goes on
// from there.

/** The signal as the agent is given it, and where its answer belongs. */
async function resolvePauseEndSignal(
  deps: { readonly db: Db; readonly log: Log },
  ready: TurnContext,
  signal: Pick<WaitingSignal, 'kind' | 'name'> & { readonly payload: JsonObject },
): Promise<Resumed | undefined> {
  const id = String(signal.payload['id'] ?? '')
  const found = isApprovalEndSignal(signal)
    ? await findEndedApproval(deps, ready, id)
    : await findEndedToolRequest(deps, ready, id)
  if (found === undefined) return undefined
  const { pause, stored } = found
  const kind = pause.kind === 'approval' ? pauseSignals.approval : pauseSignals.runtimeTool
  const rerun = pause.kind === 'approval' ? readStoredRerun(stored, pause) : undefined
  return {
    id,
    signal:
      rerun === undefined
        ? { kind, name: signal.name, payload: pauseEndPayload(pause), pause }
        : rerun.beginning.signal,
    rerun,
    reply: { threadId: String(stored['thread_id'] ?? ''), inReplyTo: String(stored['in_reply_to'] ?? '') },
    chain: takeChainFromPayload(stored).chain,
  }
}

export type Resumed = {
  readonly id: string
  /** Null: it runs again as it began, with messages. */
  readonly signal: Signal | null
  readonly rerun: Rerun | undefined
  readonly reply: ReplyFacts
  readonly chain: TurnChain | undefined
}

type Found = { readonly pause: EndedPause; readonly stored: JsonObject }

async function findEndedApproval(
  deps: { readonly db: Db; readonly log: Log },
  ready: TurnContext,
  id: string,
): Promise<Found | undefined> {
  const row = await loadPendingAction(deps.db, ready.lane.tenant, id)
  if (row === undefined) return undefined
  const stored = requireStoredResume(row.resume)
  const decision = await verifyApprovalDecision(row)
  if (decision === 'tampered') {
    const { connection, agent } = ready.lane
    deps.log.error('approval_tampered', {
      connection,
      agent,
      action: id,
      turn: ready.turn.id,
      trace: ready.turn.traceId,
    })
  }
  const { resolver, reason, sessionId } = row
  const applyInput = decision === 'accepted' ? row.applyInput : null
  const resume = stored['agent'] as JsonObject
  return { pause: { kind: 'approval', id, decision, resolver, reason, applyInput, resume, sessionId }, stored }
}

/** Decided in time counts, also when it is carried out later; what was decided about must still be what is stored. */
async function verifyApprovalDecision(row: StoredAction): Promise<PauseDecision> {
  if (row.status !== 'accepted') return row.status === 'pending' ? 'expired' : row.status
  const { id, toolName, applyInput, agent, conversationId, runId } = row
  const bound = { action_id: id, tool_name: toolName, apply_input: applyInput, agent }
  const hash = await actionHash({ ...bound, conversation: conversationId, run: runId })
  if (hash !== row.decidedHash || hash !== row.actionHash) return 'tampered'
  return row.isInTime ? 'accepted' : 'expired'
}

async function findEndedToolRequest(
  deps: { readonly db: Db },
  ready: TurnContext,
  id: string,
): Promise<Found | undefined> {
  const row = await loadToolRequest(deps.db, ready.lane.tenant, id)
  if (row === undefined) return undefined
  const stored = requireStoredResume(row.resume)
  const { status, isCancelled, result, sessionId } = row
  const resume = stored['agent'] as JsonObject
  return { pause: { kind: 'tool_request', id, status, isCancelled, result, resume, sessionId }, stored }
}

/** After its turn has ended nothing of it is left to run; only a replay gets here. */
function requireStoredResume(resume: JsonObject | null): JsonObject {
  if (resume === null)
    throw new GatewayError('content_erased', '[gateway] what this run waited for was carried out and is forgotten')
  return resume
}

/** What a plain function reads. */
export function pauseEndPayload(pause: EndedPause): JsonObject {
  if (pause.kind === 'tool_request') {
    const { id, status, isCancelled, result, resume } = pause
    return { request: id, status, cancelled: isCancelled, result, resume }
  }
  const { id, decision, resolver, reason, applyInput, resume } = pause
  const input = decision === 'accepted' ? { apply_input: applyInput } : {}
  return { action_id: id, decision, resolver, reason, resume, ...input }
}

// A message that is the result of a tool its sender ran: the turn takes the paused run on itself, so that its sender gets the
// answer.

type Reported = NonNullable<NonNullable<NormalizedMessage['channel']>['tool_result']>

/** The id of the request this turn has answered, now or before it was interrupted; or why it has not. */
async function answerReportedToolRequest(
  deps: { readonly db: Db },
  { lane, turn }: TurnContext,
  reported: Reported,
): Promise<{ readonly id: string } | { readonly refusal: Sentence }> {
  const principal = turn.principal ?? ''
  const scope = { tenant: lane.tenant, owner: principal, conversationId: lane.conversationId }
  const request = await findToolRequestByCall(deps.db, scope, reported.tool_call_id)
  if (request === undefined) return { refusal: say('tool.not_waiting') }
  const metadata = { origin: turn.id }
  const answer = toSubmittedAnswer(
    reported.error === undefined
      ? { result: parseJsonOrText(reported.content), metadata }
      : { error: reported.error.slice(0, 2000), metadata },
  )
  const answered = await answerToolRequest(deps.db, scope, request.id, { ...answer, isTakenOn: true }, principal)
  if (answered.kind === 'refused') return { refusal: say('tool.too_late') }
  if (answered.isDuplicate && readToolResultOrigin(answered.request) !== turn.id)
    return { refusal: say('tool.answered_before') }
  return { id: request.id }
}

function parseJsonOrText(content: string): Json {
  try {
    return JSON.parse(content) as Json
  } catch {
    return content
  }
}

function readToolResultOrigin({ result }: ToolRequestLine): unknown {
  const metadata = result?.['metadata']
  return typeof metadata === 'object' && metadata !== null && 'origin' in metadata ? metadata['origin'] : undefined
}
