// Pauses of a run (approvals, client tools), prepared for the commit that ends its turn.

import { approvalCode, questionText } from '../agents/approvals/approval-messages.ts'
import type { ApprovalWish, AskedApproval, EndedPause, Pauses, ToolRequestWish } from '../agents/approvals/pauses.ts'
import { actionHash, readPendingAction } from '../agents/approvals/pending-action.ts'
import {
  approversProblem,
  defaultExpiryMs,
  describeApprovers,
  fillDefaultApprovers,
  type Resolvers,
} from '../agents/approvals/terms.ts'
import { toolRequestId, toolRequestToJson } from '../agents/client-tools.ts'
import type { Signal } from '../agents/define-agent.ts'
import { expiryKinds, isPauseEndSignal } from '../db/transcripts.ts'
import type { NewPendingAction, NewTimer, NewToolRequest, PauseResult } from '../db/turn-rows.ts'
import { GatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import { type Json, type JsonObject, toStorableJson } from '../lib/index.ts'
import { addChainToPayload, type TurnChain } from './remote-agents.ts'
import type { TurnContext } from './turn-context.ts'

export type ReplyFacts = { readonly threadId: string; readonly inReplyTo: string }

/** What ends with the turn. */
export type CollectedPauses = {
  readonly actions: readonly NewPendingAction[]
  readonly requests: readonly NewToolRequest[]
  readonly timers: readonly NewTimer[]
  /** Of the wait that this turn ends. */
  readonly resolved: PauseResult | null
}

type Draft<Pause> = Omit<Pause, 'resume'> & { readonly resumeOf: (() => JsonObject) | undefined }
type PauseContext = {
  readonly deps: { readonly newId: IdSource; readonly now: () => number }
  readonly ready: TurnContext
  readonly runId: string
}

type PauseFacts = ReplyFacts & {
  readonly runId: string
  readonly ends: string | null
  readonly chain: TurnChain
  /** How the run began, and what was decided about the agents it asks. */
  readonly rerun: Rerun
  readonly isRerun: boolean
}

type Outcome = Parameters<Pauses['settle']>[0]

/** For agents that the agent of a turn asks: their questions are for the person at the top of the chain. */
export type AgentCallQuestions = {
  /** As the person would be asked; nothing waits by it yet. */
  readonly worded: (wish: ApprovalWish, agent: string) => AskedApproval
  /** What became of the question with this key; undefined: it was not asked yet. */
  readonly decided: (key: string) => DecidedQuestion | undefined
  readonly settle: (id: string, outcome: Outcome) => void
  /** Stops the whole run for this question, or for the one that was faster. Answers what all of the chain is stopped with. */
  readonly ask: (key: string, wish: ApprovalWish, asked: AskedApproval) => GatewayError
  /** Set once the run is stopped: no step begins any more. */
  readonly stopped: () => GatewayError | undefined
}

export type TurnPauses = {
  readonly pause: Pauses
  readonly collect: () => CollectedPauses
  readonly agentCalls: AgentCallQuestions
  /** The question that stopped the run, and all that is left of the turn then: the rest is made when it is run again. */
  readonly stoppedFor: () => Promise<{ readonly asked: AskedApproval; readonly waits: CollectedPauses } | undefined>
}

export function createTurnPauses(
  deps: { readonly now: () => number; readonly newId: IdSource },
  ready: TurnContext,
  { runId, threadId, inReplyTo, ends, chain, rerun, isRerun }: PauseFacts,
): TurnPauses {
  const context = { deps, ready, runId }
  const actions: Draft<NewPendingAction>[] = []
  const requests: Draft<NewToolRequest>[] = []
  let question: Promise<{ asked: AskedApproval; draft: Draft<NewPendingAction>; key: string }> | undefined
  let stop: GatewayError | undefined
  // A decision that the run does not come back to was about something else.
  let outcome: Outcome = { result: null, error: isRerun ? 'approval_changed' : null }
  const reply = { reply_to: ready.lane.replyTo, thread_id: threadId, in_reply_to: inReplyTo }
  // The agent's own part is asked for last: only then it knows where it stopped.
  const addResumePayload = <Pause>({ resumeOf, ...draft }: Draft<Pause>) => {
    return { ...draft, resume: addChainToPayload({ ...reply, agent: resumeOf?.() ?? {} }, chain) }
  }
  const resolutionOfEndedPause = () =>
    ends === null ? null : { id: ends, ...outcome, metadata: { turn: ready.turn.id } }
  const createExpiryTimers = (drafts: readonly Pick<NewPendingAction, 'id' | 'expiresInMs'>[]) =>
    drafts.map((draft) => createExpiryTimer(ready, expiryKinds.approval, draft.id, draft.expiresInMs))
  return {
    agentCalls: {
      worded: (wish, agent) => toAskedApproval(context, wish, agent),
      decided(key) {
        const found = rerun.decided.find((each) => each.key === key)
        if (found !== undefined && found.id === ends) outcome = { result: null, error: null }
        return found
      },
      settle(id, reported) {
        if (id === ends) outcome = reported
      },
      ask(key, wish, asked) {
        if (stop !== undefined) return stop
        stop = new GatewayError('stopping', '[agent] its run waits for a decision; it goes on from here after that')
        question = draftPendingAction(context, wish, asked).then((draft) => ({ asked, draft, key }))
        return stop
      },
      stopped: () => stop,
    },
    async stoppedFor() {
      if (question === undefined) return undefined
      const { asked, draft, key } = await question
      const { resumeOf: _, ...action } = draft
      const resume = addChainToPayload(addRerunToResumePayload({ ...reply, agent: {} }, rerun, key), chain)
      const waits = {
        actions: [{ ...action, resume }],
        requests: [],
        timers: createExpiryTimers([action]),
        resolved: resolutionOfEndedPause(),
      }
      return { asked, waits }
    },
    pause: {
      async approval(wish) {
        const asked = toAskedApproval(context, wish)
        actions.push(await draftPendingAction(context, wish, asked))
        return asked
      },
      async toolRequest(wish) {
        const draft = await draftToolRequest(context, wish)
        requests.push(draft)
        return draft.request
      },
      settle(reported) {
        // What it goes on after was settled by the turn before; this one is about an agent it asked.
        if (!isRerun) outcome = reported
      },
    },
    collect: () => ({
      actions: actions.map(addResumePayload),
      requests: requests.map(addResumePayload),
      timers: [
        ...createExpiryTimers(actions),
        ...requests.map((draft) => createExpiryTimer(ready, expiryKinds.runtimeTool, draft.id, draft.expiresInMs ?? 0)),
      ],
      resolved: resolutionOfEndedPause(),
    }),
  }
}

/** `askedBy`: the agent that needs it, where that is not the one the person talks with. */
function toAskedApproval({ deps, ready, runId }: PauseContext, wish: ApprovalWish, askedBy?: string): AskedApproval {
  const { lane, turn } = ready
  const { tool } = wish
  const named = tool === undefined ? {} : { tool_name: tool.name, tool_call_id: tool.callId }
  const by = resolveApprovers(ready, wish)
  const approvers = by === 'requester' || by === 'anyone' ? {} : { approvers: describeApprovers(by) }
  const action = readPendingAction({
    action_id: deps.newId(),
    kind: wish.kind ?? 'tool_call',
    summary: wish.summary,
    preview: toStorableJson(wish.preview ?? null),
    apply_input: toStorableJson(wish.apply_input),
    created_at: new Date(deps.now()).toISOString(),
    expires_at: new Date(deps.now() + (wish.expiresInMs ?? defaultExpiryMs)).toISOString(),
    agent: lane.agent,
    ...(turn.principal === null || turn.principal === '' ? {} : { creator: turn.principal }),
    metadata: {
      ...named,
      run_id: runId,
      session_id: turn.sessionId,
      ...approvers,
      ...(askedBy === undefined ? {} : { asked_by: askedBy }),
    },
  })
  return {
    action,
    code: approvalCode(action.action_id),
    question: questionText(action, ready.at.adapter.capabilities.commandForm),
  }
}

async function draftPendingAction(
  { ready, runId }: PauseContext,
  wish: ApprovalWish,
  { action }: AskedApproval,
): Promise<Draft<NewPendingAction>> {
  const { agent, conversationId: conversation } = ready.lane
  const toolName = wish.tool?.name ?? ''
  const bound = { action_id: action.action_id, tool_name: toolName, apply_input: action.apply_input }
  return {
    id: action.action_id,
    runId,
    toolName,
    toolCallId: wish.tool?.callId ?? '',
    owner: ready.turn.principal ?? '',
    kind: action.kind,
    summary: action.summary,
    action: { ...action },
    actionHash: await actionHash({ ...bound, agent, conversation, run: runId }),
    resolvers: serializeApprovers(resolveApprovers(ready, wish)),
    expiresInMs: wish.expiresInMs ?? defaultExpiryMs,
    resumeOf: wish.resume,
  }
}

/** A timer, or whatever else woke the agent, is no person who asked for it. */
function resolveApprovers({ turn, signal }: TurnContext, { by }: ApprovalWish): Resolvers {
  const problem = approversProblem(by)
  if (problem !== undefined) throw new GatewayError('agent_failed', `[agent] pause.approval: ${problem}`)
  const isAsked = signal === null || isPauseEndSignal(signal)
  return fillDefaultApprovers(by, isAsked && (turn.principal ?? '') !== '')
}

function serializeApprovers(by: Resolvers): string {
  return typeof by === 'string' ? by : JSON.stringify(by)
}

async function draftToolRequest(
  { deps, ready, runId }: PauseContext,
  wish: ToolRequestWish,
): Promise<Draft<NewToolRequest>> {
  const expiresInMs = wish.expiresInMs ?? defaultExpiryMs
  const requestId = await toolRequestId(ready.turn.id, wish.tool)
  const timeoutAt = new Date(deps.now() + expiresInMs).toISOString()
  return {
    id: deps.newId(),
    runId,
    toolName: wish.tool.name,
    toolCallId: wish.tool.callId,
    owner: ready.turn.principal ?? '',
    requestId,
    parameters: wish.parameters,
    request: toolRequestToJson(wish, { requestId, runId, timeoutAt }),
    expiresInMs,
    resumeOf: wish.resume,
  }
}

/** Fires under the id of what it ends, and only if no answer was faster. */
function createExpiryTimer({ lane, turn }: TurnContext, kind: string, id: string, dueInMs: number): NewTimer {
  const payload = { id, principal: turn.principal, turn: turn.id, reply_to: lane.replyTo }
  return { id, name: `${kind}:${id}`, kind, dueInMs, payload }
}

// A run that stopped because an agent it asked needs a decision is run again. Where a function of the chain stood cannot be stored,
// so what is stored is how the run began and what was decided: it is run again from its journal, and finds the decisions on its
// way.

/** How the run began. */
export type Beginning = {
  /** The turn whose messages it is about. */
  readonly turn: string
  readonly hasMessages: boolean
  /** Null: messages. */
  readonly signal: Signal | null
}

/** What was decided about the question with this key, the same whenever the run is run again. */
export type DecidedQuestion = Pick<Approval, 'id' | 'decision' | 'resolver' | 'reason' | 'applyInput'> & {
  readonly key: string
}

type Approval = Extract<EndedPause, { kind: 'approval' }>

export type Rerun = { readonly beginning: Beginning; readonly decided: readonly DecidedQuestion[] }

/** Beside what an agent puts there itself: no key of its own begins like this. */
const field = 'gw:rerun'

/** For what is stored with a question. */
function addRerunToResumePayload(stored: JsonObject, { beginning, decided }: Rerun, key: string): JsonObject {
  // Signals and decisions were read from rows.
  return { ...stored, [field]: toStorableJson({ beginning, decided, key }) as Json }
}

/** Undefined: the agent that the messages are for has asked, and goes on by itself. */
export function readStoredRerun(stored: JsonObject | null, pause?: Approval): Rerun | undefined {
  const found = stored?.[field]
  if (found === undefined) return undefined
  // Written above and by nothing else.
  const { beginning, decided, key } = found as unknown as Rerun & { readonly key: string }
  if (pause === undefined) return { beginning, decided }
  const { id, decision, resolver, reason, applyInput } = pause
  return { beginning, decided: [...decided, { key, id, decision, resolver, reason, applyInput }] }
}
