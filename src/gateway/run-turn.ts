// Hop 7: a ready turn runs its agent and comes to an end, or to a reason why not yet.
import type { Agent, AgentContext, AgentReply, Signal } from '../agent/agent.ts'
import { completeReply } from '../agent/reply.ts'
import { createStep } from '../agent/steps.ts'
import { type Envelope, GatewayError, isGatewayError, type NormalizedResponse } from '../contract/index.ts'
import { historyTurn } from '../sessions/codec.ts'
import type { Lease } from '../sessions/lease-keeper.ts'
import { mergeMessages } from '../sessions/merge.ts'
import { endsPause } from '../sessions/signal-store.ts'
import type {
  NewPendingAction,
  NewRunEvent,
  NewTimer,
  NewToolRequest,
  PauseResult,
  RunEnd,
} from '../sessions/turn-store.ts'
import { decideByCommand, isDecision } from './commands/approvals.ts'
import type { GatewayDeps } from './deps.ts'
import { createPauses } from './pauses.ts'
import { isRotation, type ReadyTurn } from './prepare-turn.ts'
import { resumedSignal } from './resume-pause.ts'

/** What the agent came to: its answer, what it wants said before, and when it wants to be woken. */
export type RunResult = {
  readonly reply: NormalizedResponse | undefined
  readonly extras: readonly NormalizedResponse[]
  readonly timers: readonly NewTimer[]
  /** Transcript lines between what was heard and what is said. */
  readonly lines: readonly Envelope[]
  readonly run: RunEnd
  readonly events: readonly NewRunEvent[]
  readonly actions: readonly NewPendingAction[]
  readonly requests: readonly NewToolRequest[]
  readonly resolved: PauseResult | null
}

const nothing = { extras: [], timers: [], lines: [], events: [], actions: [], requests: [], resolved: null } as const
const naturalEnd: RunEnd = { status: 'completed', stopReason: 'natural', usage: {}, budgets: {}, summary: {} }

export async function runAgent(
  deps: GatewayDeps,
  ready: ReadyTurn,
  lease: Lease,
  isStopping: () => boolean,
): Promise<RunResult> {
  const agent = deps.agents.get(ready.lane.agent)
  if (agent === undefined)
    throw new GatewayError('agent_unknown', `[gateway] no agent "${ready.lane.agent}" is configured`)
  const lead = ready.members.at(-1)
  const resumed =
    ready.signal !== null && endsPause(ready.signal) ? await resumedSignal(deps, ready, ready.signal) : null
  // What a signal woke the conversation for is gone, and with it the reason to run.
  if (resumed === undefined) return { ...nothing, reply: undefined, run: naturalEnd }
  const facts = { ...replyFacts(ready), ...resumed?.reply }
  if (lead !== undefined && isRotation(deps, lead.message)) {
    const reply = completeReply('Started a new session. What came before is no longer in my memory.', facts)
    return { ...nothing, reply, run: naturalEnd }
  }
  const command = lead?.message.channel?.command
  if (isDecision(command)) {
    const { tenant, conversationId } = ready.lane
    const scene = { actions: deps.pendingActions, tenant, conversationId, turnId: ready.turn.id }
    const text = await decideByCommand({ ...scene, principal: ready.turn.principal ?? '' }, command)
    deps.bells.turns.ring()
    return { ...nothing, reply: completeReply(text, facts), run: naturalEnd }
  }
  return runReady(deps, ready, { lease, isStopping, agent, facts, woken: resumed?.signal ?? ready.signal })
}

type Run = {
  readonly lease: Lease
  readonly isStopping: () => boolean
  readonly agent: Agent
  readonly facts: ReturnType<typeof replyFacts>
  readonly woken: Signal | null
}

async function runReady(deps: GatewayDeps, ready: ReadyTurn, run: Run): Promise<RunResult> {
  const { lease, agent, facts, woken } = run
  const { historyHead, historyTail } = deps.turnPolicy
  const transcript = await deps.transcripts.window(ready.turn.sessionId, historyHead, historyTail)
  const history = transcript.map(historyTurn).filter((turn) => turn !== undefined)
  const lines: Envelope[] = []
  const extras: NormalizedResponse[] = []
  const timers: NewTimer[] = []
  const pauses = createPauses(deps, ready, { ...facts, runId: runIdOf(ready) })
  const signal = AbortSignal.any([lease.signal, AbortSignal.timeout(deps.turnPolicy.deadlineMs)])
  const context: AgentContext = {
    agent: agent.slug,
    principal: ready.turn.principal ?? '',
    evidence: ready.members.at(-1)?.message.sender.identities ?? [],
    history,
    transcript,
    sessionId: ready.turn.sessionId,
    members: ready.members.map((member) => ({ ...member.message, raw: null })),
    runId: runIdOf(ready),
    attempt: ready.turn.attempt,
    signal,
    step: createStep(stepDeps(deps, ready, lease, run.isStopping, signal)),
    schedule: (name, dueInMs, payload) => void timers.push({ id: deps.newId(), name, kind: 'timer', dueInMs, payload }),
    send(reply) {
      const extra = completeReply(reply, facts)
      if (extra !== undefined) extras.push(extra)
    },
    show: () => {},
    record: (added) => void lines.push(...added),
    pause: pauses.pause,
  }
  const work = (): Promise<AgentReply> | AgentReply =>
    woken === null ? agent.run(mergeMessages(context.members, [...history]), context) : agent.onSignal?.(woken, context)
  const reply = completeReply(await untilAborted(signal, work), facts)
  const waits = pauses.collect()
  const ended = { reply, extras, lines, run: pausedEnd(waits) ?? naturalEnd }
  return { ...nothing, ...waits, ...ended, timers: [...timers, ...waits.timers] }
}

function pausedEnd({ actions, requests }: Pick<RunResult, 'actions' | 'requests'>): RunEnd | undefined {
  if (actions.length === 0 && requests.length === 0) return undefined
  const status = actions.length > 0 ? 'approval_required' : 'runtime_tool_pending'
  return { ...naturalEnd, status, stopReason: status }
}

export function replyFacts(ready: ReadyTurn): { threadId: string; inReplyTo: string; agent: string } {
  const lead = ready.members.at(-1)?.message
  return {
    threadId: lead?.thread_id ?? ready.lane.conversationId,
    inReplyTo: lead?.id ?? ready.turn.id,
    agent: ready.lane.agent,
  }
}

export function runIdOf(ready: ReadyTurn): string {
  return ready.turn.runId ?? ready.turn.id
}

function stepDeps(
  deps: GatewayDeps,
  ready: ReadyTurn,
  lease: Lease,
  isStopping: () => boolean,
  signal: AbortSignal,
): Parameters<typeof createStep>[0] {
  const { lane, turn } = ready
  return {
    journal: deps.journal,
    turn: { conversationId: lane.conversationId, epoch: lane.epoch, turnId: turn.id, parentTurn: turn.parentTurn },
    assertHeld: lease.assertHeld,
    isStopping,
    signal,
    fetch: deps.fenceFetch(lease.isHeld),
    hash: deps.hash,
    ...(deps.failpoint === undefined ? {} : { failpoint: deps.failpoint }),
  }
}

/** An agent that ignores its signal must not keep its lane: the turn ends without it. */
function untilAborted(signal: AbortSignal, work: () => Promise<AgentReply> | AgentReply): Promise<AgentReply> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortReason(signal))
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    Promise.resolve()
      .then(work)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function abortReason(signal: AbortSignal): unknown {
  const { reason } = signal
  return isGatewayError(reason)
    ? reason
    : new GatewayError('turn_deadline', '[agent] the turn took longer than its deadline')
}
