// Runs the agent of a prepared turn with its context, to a reply, a pause or an error that says when to try again.

import type { Agent, AgentContext, AgentReply } from '../agents/define-agent.ts'
import { askingReply, completeReply, type ReplyFacts, stoppedReply } from '../agents/reply.ts'
import { createSteps, type Steps } from '../agents/steps.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import type { NormalizedResponse } from '../contract/index.ts'
import type { StoreWithRetry } from '../contract/store-result.ts'
import type { Db } from '../db/client.ts'
import { appendRunEvents, readRunUpdates } from '../db/runs.ts'
import type { TranscriptStore } from '../db/transcripts.ts'
import type { NewPendingAction, NewRunEvent, NewTimer, NewToolRequest, PauseResult, RunEnd } from '../db/turn-rows.ts'
import type { AttachmentService } from '../files/attachment.ts'
import type { AccessPolicy } from '../identity/access-policy.ts'
import type { PrincipalResolver } from '../identity/resolve-principal.ts'
import { unknownAgent } from '../inbound/route-to-agent.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { Json } from '../lib/json-value.ts'
import { say } from '../locales/say.ts'
import { keepReplyFiles, type ReplyFileContext } from '../outbound/reply-files.ts'
import { type Participant, readParticipant, toHistoricalMessage } from '../sessions/transcript.ts'
import { resolveSpeaker } from './admit.ts'
import { createTurnAgentCalls } from './agent-calls.ts'
import { unknownAgentReply } from './chat-commands.ts'
import { isFilePart } from './file-part.ts'
import type { Lease } from './leases.ts'
import { createPauses, type TurnPauses } from './pauses.ts'
import { mergeMessages } from './plan-turn.ts'
import { isRotation, type ReadyTurn } from './prepare-turn.ts'
import { createRemoteAgentCaller, createTurnChain, leasedFetch, type TurnChain } from './remote-agents.ts'
import type { Rerun } from './rerun.ts'
import { trackResults } from './result-keeper.ts'
import { runCommand } from './run-chat-command.ts'
import { isFirstTry, openRunControl, type RunControl, recallRemotes } from './run-control.ts'
import { naturalEnd, pausedEnd, runEndFromStopCause, withUsage } from './run-end.ts'
import { notifyResumed, type TurnErrors } from './run-log.ts'
import { createTurnState, type Made, takenFrom } from './run-output.ts'
import type { TurnServices } from './services.ts'
import { fetchAncestors, fetchReferencedMessages } from './thread-ancestors.ts'
import { begunAgain, resolveTrigger, type TurnTrigger } from './trigger.ts'
import { openTurnFiles } from './turn-files.ts'
import { getRunId, replyFields } from './turn-labels.ts'
import type { TurnPolicy } from './turn-policy.ts'
import { createTimedFetch, openTurnSignal, runUntilAborted, turnDeadlineMs } from './turn-signal.ts'

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
  /** The state it shares with a program, to be kept; undefined: as before. */
  readonly sharedState?: Json | undefined
  /** Those who wrote before this turn, as far as the agent was shown. */
  readonly participants: readonly Participant[]
  /** Why nothing ran, and nothing is said. */
  readonly silentBecause?: string
}

const nothing = {
  extras: [],
  timers: [],
  lines: [],
  events: [],
  actions: [],
  requests: [],
  resolved: null,
  participants: [],
} as const

/** What a run is given beside its turn. */
export type RunMeans = {
  readonly lease: Lease
  readonly isStopping: () => boolean
  /** Shows words while the reply grows. */
  readonly show: (delta: string) => void
  readonly errors: TurnErrors
}

export async function runAgent(deps: TurnServices, ready: ReadyTurn, parts: RunMeans): Promise<RunResult> {
  if (ready.turn.kind === 'control') return { ...nothing, reply: await runCommand(deps, ready), run: naturalEnd }
  const agent = deps.agents.get(ready.lane.agent)
  if (agent === undefined)
    throw new GatewayError('agent_unknown', `[gateway] no agent "${ready.lane.agent}" is configured`)
  const lead = ready.members.at(-1)
  if (lead?.row.mustReplyIndividually === unknownAgent)
    return { ...nothing, reply: completeReply(unknownAgentReply(deps, ready.at), replyFields(ready)), run: naturalEnd }
  if (lead !== undefined && isRotation(deps, lead.message)) {
    return { ...nothing, reply: completeReply(say('session.started'), replyFields(ready)), run: naturalEnd }
  }
  const trigger = await resolveTrigger(deps, ready)
  if (trigger.kind === 'gateway')
    return { ...nothing, reply: completeReply(trigger.says, replyFields(ready)), run: naturalEnd }
  // Asked for when it is needed: the message a reply answers may have joined the turn on the way.
  const facts = () => ({ ...replyFields(ready), ...trigger.reply })
  const { rerun } = trigger
  if (rerun !== undefined) {
    const again = await begunAgain(deps, ready, rerun)
    return runControlled(deps, again, { ...parts, agent, facts, trigger, rerun })
  }
  if (trigger.signal !== null) notifyResumed(deps, ready, trigger.signal)
  const beginning = { turn: ready.turn.id, hasMessages: ready.members.length > 0, signal: trigger.signal }
  return runControlled(deps, ready, { ...parts, agent, facts, trigger, rerun: { beginning, decided: [] } })
}

type Start = RunMeans & {
  readonly agent: Agent
  readonly facts: () => ReplyFacts
  readonly trigger: Extract<TurnTrigger, { kind: 'agent' }>
  /** How it would be run again, should an agent that it asks need a decision. */
  readonly rerun: Rerun
}

type Running = Start & {
  /** Ends it whatever its agent does. */
  readonly signal: AbortSignal
  readonly control: RunControl
  readonly pauses: RunPauses
  readonly chain: TurnChain
  readonly store: StoreWithRetry
}

/** Of a run that waits for nothing none are made. */
type RunPauses = {
  readonly opened: () => TurnPauses | undefined
  readonly open: () => TurnPauses
}

const noPauses = { actions: [], requests: [], timers: [], resolved: null } as const

async function runControlled(deps: TurnServices, ready: ReadyTurn, start: Start): Promise<RunResult> {
  const control = openRunControl(deps, ready)
  start.errors.writeTo(control.recorder.emit)
  const chain = createTurnChain(ready, start.trigger.chain)
  // A later question is answered where the run began.
  const beganWith = start.facts()
  let opened: TurnPauses | undefined
  const open = (): TurnPauses => {
    opened ??= createPauses(deps, ready, {
      ...beganWith,
      runId: getRunId(ready),
      ends: start.trigger.ends,
      chain,
      rerun: start.rerun,
      isRerun: ready.isRerun === true,
    })
    return opened
  }
  // What this run ends is settled with it, whatever it asks for itself.
  if (start.trigger.ends !== null) open()
  const pauses: RunPauses = { open, opened: () => opened }
  const { signal, end } = openTurnSignal(start.lease.signal, turnDeadlineMs(deps.turnPolicy, ready.turn))
  const { store, settled } = trackResults(deps.results.store)
  try {
    await stopIfAsked(deps, ready, { ...start, control, chain })
    return await runUnder(deps, ready, { ...start, control, pauses, chain, signal, store })
  } catch (error) {
    const cause = control.cause()
    if (cause === undefined || isSpines(error)) {
      await keepEvents(deps, ready, control)
      throw error
    }
    // Its answer is not wanted any more, so that it gave none is no failure.
    const reply = completeReply(stoppedReply(cause), start.facts())
    const { resolved } = opened?.collect() ?? noPauses
    return { ...nothing, reply, resolved, run: runEndFromStopCause(cause), events: await control.recorder.rest() }
  } finally {
    // The turn may end at its deadline while a step's result waits for the database: that is stored first.
    await settled()
    end()
    control.end()
  }
}

async function runUnder(deps: TurnServices, ready: ReadyTurn, running: Running): Promise<RunResult> {
  const steps = createSteps(stepDeps(deps, ready, running))
  try {
    return await runWith(deps, ready, running, steps)
  } finally {
    await steps.close()
  }
}

async function runWith(
  deps: TurnServices,
  ready: ReadyTurn,
  running: Running,
  { step, isFinished }: Pick<Steps, 'step' | 'isFinished'>,
): Promise<RunResult> {
  const { agent, control, facts, pauses, trigger, chain, signal } = running
  const remembered = await readTurnTranscript(deps, ready)
  const fetching = {
    deps,
    ready,
    step,
    // Made for those who bring something: most turns have no files.
    get signal() {
      return AbortSignal.any([signal, control.stop])
    },
  }
  const { adapter } = ready.at
  if (adapter.fetchReferenced !== undefined) {
    const silentBecause = await fetchReferencedMessages(fetching)
    if (silentBecause !== undefined) return { ...nothing, reply: undefined, run: naturalEnd, silentBecause }
  }
  const isReply = ready.members.at(-1)?.message.in_reply_to !== undefined
  const hasAncestors = isReply && adapter.fetchAncestors !== undefined
  const transcript = hasAncestors ? [...remembered, ...(await fetchAncestors(fetching, remembered))] : remembered
  const turns = transcript.map(toHistoricalMessage).filter((turn) => turn !== undefined)
  const { files, members, history, fetchFiles } = await runUntilAborted(signal, () => openTurnFiles(fetching, turns))
  const made: Made = { lines: [], extras: [], timers: [], used: [], run: undefined }
  const client = ready.members.at(-1)?.message.channel?.client_data
  // What its program sent was kept by the turn before, and may have changed since.
  const sent = ready.isRerun === true ? undefined : client
  let shared: ReturnType<typeof createTurnState> | undefined
  const openState = () => {
    const load = () => deps.transcripts.sharedState(ready.turn.sessionId)
    shared ??= createTurnState({ client: sent, load, emit: control.recorder.emit })
    return shared
  }
  if (sent !== undefined) await openState().begin()
  const onUsage = (usage: RunEnd['usage']) => void made.used.push(usage)
  let agents: AgentContext['agents'] | undefined
  let remoteCaller: AgentContext['remoteCaller'] | undefined
  const context: AgentContext = {
    ...givenContext(ready, agent),
    ...takenFrom(deps, ready, running, made),
    members,
    client,
    get state() {
      return openState().state
    },
    attachments: files,
    speakerMark: () => deps.speakerMarks(ready.turn.sessionId),
    who: await describeSpeaker(deps, ready),
    capabilities: deps.capabilities,
    history,
    transcript,
    signal,
    stop: control.stop,
    step: unlessStopped(pauses, step),
    isFinished,
    report: running.errors.report,
    toolCalled: running.errors.toolCalled,
    hear: () => control.hear(fetchFiles),
    get pause() {
      return pauses.open().pause
    },
    // Made for agents that ask others: most answer by themselves.
    get remoteCaller() {
      remoteCaller ??= createRemoteAgentCaller(deps, running.lease, { agent: agent.slug, chain, root: ready.turn.id })
      return remoteCaller
    },
    get agents() {
      agents ??= createTurnAgentCalls({ deps, ready, onUsage, chain, questions: pauses.open().agentCalls }, context)
      return agents
    },
    ...(deps.toolServers === undefined ? {} : { toolServers: deps.toolServers }),
  }
  const startAgentRun = (): Promise<AgentReply> | AgentReply =>
    trigger.signal === null
      ? agent.run(mergeMessages(context.members, [...history]), context)
      : agent.onSignal?.(trigger.signal, context)
  const participants = transcript.map(readParticipant).filter((participant) => participant !== undefined)
  const returned = await untilAsked(pauses, runUntilAborted(signal, startAgentRun))
  const stopped = await pauses.opened()?.stoppedFor()
  if (stopped !== undefined) {
    const { asked, waits } = stopped
    const sharedState = await shared?.ended()
    const question = completeReply(askingReply(asked.action, context.commandForm), facts())
    const reported = { reply: forClient(question, made.clientTools, sharedState), sharedState, participants }
    const run = pausedEnd(waits) ?? naturalEnd
    return { ...nothing, ...waits, ...reported, run, events: await control.recorder.rest() }
  }
  const said = [completeReply(returned, facts()), ...made.extras]
  const [reply, ...extras] = said.some((each) => each?.parts.some(isFilePart))
    ? await keepReplyFiles({ ...context, files, ...createReplyFileContext(deps, ready) }, said)
    : said
  const waits = pauses.opened()?.collect() ?? noPauses
  const sharedState = await shared?.ended()
  const ended = {
    reply: forClient(reply, made.clientTools, sharedState),
    sharedState,
    extras: extras.filter((extra) => extra !== undefined),
    lines: made.lines,
    run: withUsage(made.run ?? pausedEnd(waits) ?? naturalEnd, made.used),
    events: await control.recorder.rest(),
  }
  return { ...nothing, ...waits, ...ended, participants, timers: [...made.timers, ...waits.timers] }
}

/** A function may have caught what stopped it: nothing of what it does then counts, it is run again. */
function unlessStopped({ opened }: RunPauses, step: AgentContext['step']): AgentContext['step'] {
  return (name, work, options) => {
    const stopped = opened()?.agentCalls.stopped()
    return stopped === undefined ? step(name, work, options) : Promise.reject(stopped)
  }
}

/** An agent it asked needs a decision: whatever the run made of that, it ends here. */
async function untilAsked({ opened }: RunPauses, work: Promise<AgentReply>): Promise<AgentReply> {
  try {
    return await work
  } catch (error) {
    const isLost = isGatewayError(error) && lost.has(error.code)
    if (opened()?.agentCalls.stopped() === undefined || isLost) throw error
    return undefined
  }
}

/** The turn is another holder's now, its run was stopped, or nothing can be stored. */
const lost: ReadonlySet<string> = new Set(['lease_lost', 'storage_unavailable', 'run_cancelled'])

/** What its program is told beside the answer. */
function forClient(
  reply: NormalizedResponse | undefined,
  tools: Made['clientTools'],
  state: Json | undefined,
): NormalizedResponse | undefined {
  if (reply === undefined || (tools === undefined && state === undefined)) return reply
  return { ...reply, client: { ...(tools === undefined ? {} : { tools }), ...(state === undefined ? {} : { state }) } }
}

async function describeSpeaker(
  deps: {
    readonly agents: ReadonlyMap<string, Agent>
    readonly access: AccessPolicy
    readonly principals: PrincipalResolver
  },
  { members, at, lane, speaker }: ReadyTurn,
): Promise<AgentContext['who']> {
  if (speaker !== undefined) return speaker
  const lead = members.at(-1)
  return lead === undefined ? {} : ((await resolveSpeaker(deps, at, lead.row, lane.agent)) ?? {})
}

function givenContext(
  ready: ReadyTurn,
  agent: Agent,
): Pick<AgentContext, 'agent' | 'principal' | 'evidence' | 'sessionId' | 'runId' | 'attempt' | 'commandForm'> {
  return {
    agent: agent.slug,
    principal: ready.turn.principal ?? '',
    evidence: ready.members.at(-1)?.message.sender.identities ?? [],
    sessionId: ready.turn.sessionId,
    runId: getRunId(ready),
    attempt: ready.turn.attempt,
    commandForm: ready.at.adapter.capabilities.commandForm,
  }
}

function createReplyFileContext(
  deps: { readonly attachments: AttachmentService; readonly hash: (text: string) => Promise<string> },
  ready: ReadyTurn,
): Omit<ReplyFileContext, 'files' | 'step' | 'emit' | 'principal'> {
  const { attachments, hash } = deps
  return { attachments, hash, turn: ready.turn, threadId: replyFields(ready).threadId }
}

/** What a failed attempt did is worth knowing; that it cannot be stored changes nothing about the failure. */
async function keepEvents(
  deps: { readonly db: Db },
  { lane, turn }: ReadyTurn,
  { recorder }: RunControl,
): Promise<void> {
  const events = await recorder.rest()
  if (events.length > 0) await appendRunEvents(deps.db, lane, turn.id, turn.attempt, events).catch(() => undefined)
}

/** A run may have been stopped while no process ran it: between two tries. */
async function stopIfAsked(
  deps: TurnServices,
  ready: ReadyTurn,
  { control, chain, lease }: Pick<Running, 'control' | 'chain' | 'lease'>,
): Promise<void> {
  if (isFirstTry(ready)) return
  const [news] = await readRunUpdates(deps.db, [ready.turn.id])
  if (news === undefined || news.stoppedBy === null) return
  await recallRemotes(deps, ready, { control, chain, lease, signal: lease.signal })
  throw control.onStopped(news.stoppedBy)
}

/** Broken invariants of the gateway stay what they are, also in a run that was stopped. */
function isSpines(error: unknown): boolean {
  return (
    isGatewayError(error) && ['lease_lost', 'stopping', 'storage_unavailable', 'replay_stopped'].includes(error.code)
  )
}

function stepDeps(
  deps: TurnServices,
  ready: ReadyTurn,
  { lease, isStopping, control, signal, store, errors }: Running,
): Parameters<typeof createSteps>[0] {
  const { lane, turn } = ready
  return {
    journal: deps.journal,
    turn: {
      conversationId: lane.conversationId,
      epoch: lane.epoch,
      turnId: turn.id,
      journalTurn: ready.journalTurn,
    },
    log: ready.steps,
    assertHeld: lease.assertHeld,
    untilHeld: lease.untilHeld,
    store,
    isStopping,
    signal,
    fetch: (onSend) =>
      leasedFetch(lease, createTimedFetch(deps.fenceFetch(lease.isHeld, onSend), deps.turnPolicy.fetchTimeoutMs)),
    hash: deps.hash,
    onStopped: control.onStopped,
    onThrown: (error, name) => errors.report(error, { source: 'step', name }),
    ...(deps.failpoint === undefined ? {} : { failpoint: deps.failpoint }),
  }
}

/** What was said before, as much of it as an agent is shown, and the same in every try of its turn. */
export async function readTurnTranscript(
  deps: { readonly transcripts: TranscriptStore; readonly turnPolicy: TurnPolicy },
  { turn, at, isFirst, view }: ReadyTurn,
): Promise<readonly Envelope[]> {
  // A turn that its session begins with need not ask.
  if (isFirst === true || view === null) return []
  const { historyHead: head, historyTail: tail } = deps.turnPolicy
  const around = at.replyPolicy.ambientContext?.messages ?? 0
  return deps.transcripts.window(turn.sessionId, view ?? { head, tail, around })
}
