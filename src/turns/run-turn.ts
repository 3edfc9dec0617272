// Runs the agent of a prepared turn with its context, to a reply, a pause or an error that says when to try again.

import type { Agent, AgentContext, AgentReply, ClientToolReport } from '../agents/define-agent.ts'
import { approvalQuestionReply, normalizeAgentReply, type ReplyFacts, stoppedReply } from '../agents/reply.ts'
import { createJournaledSteps, type Steps } from '../agents/steps.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import type { NormalizedResponse } from '../contract/index.ts'
import { containFiles } from '../contract/parts.ts'
import type { Db } from '../db/client.ts'
import { appendRunEvents, readRunUpdates } from '../db/runs.ts'
import type { TranscriptStore } from '../db/transcripts.ts'
import type { NewPendingAction, NewRunEvent, NewTimer, NewToolRequest, PauseResult, RunEnd } from '../db/turn-rows.ts'
import type { AccessPolicy } from '../identity/access-policy.ts'
import type { PrincipalResolver } from '../identity/principals.ts'
import { unknownAgent } from '../inbound/route-to-agent.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { Json } from '../lib/json-value.ts'
import { say } from '../locales/say.ts'
import { storeFilesOfReplies } from '../outbound/reply-files.ts'
import { type Participant, readParticipant, toHistoricalMessage } from '../sessions/transcript.ts'
import { resolveSpeaker } from './admit.ts'
import { createTurnAgentCalls } from './agent-calls.ts'
import { unknownAgentReply } from './chat-commands.ts'
import { createTimedFetch, type Lease, openTurnSignal, runUntilAborted, turnDeadlineMs } from './leases.ts'
import { createTurnPauses, type Rerun, type TurnPauses } from './pauses.ts'
import { mergeMessages } from './plan-turn.ts'
import { startsNewSession } from './prepare-turn.ts'
import {
  addChainToPayload,
  agentChainOfTurn,
  cancelRemoteTasks,
  createLeasedFetch,
  createRemoteAgentCaller,
  type TurnChain,
} from './remote-agents.ts'
import { trackUnfinishedResultWrites } from './result-keeper.ts'
import { runCommand } from './run-chat-command.ts'
import { openRunControl, type RunControl } from './run-control.ts'
import { addAgentCallUsage, naturalEnd, runEndFromLoopResult, runEndFromStopCause, toPausedEnd } from './run-end.ts'
import { notifyRunEvent, notifyToolRequestResumed, type TurnErrors } from './run-log.ts'
import type { TurnServices } from './services.ts'
import { createTurnState } from './shared-state.ts'
import { fetchAncestors, fillInReferencedMessages } from './thread-ancestors.ts'
import { messagesCame, resolveTrigger, restoreMessagesOfRerun, type TurnTrigger } from './trigger.ts'
import { getRunId, isNewlyOpenedTurn, replyFields, type TurnContext } from './turn-context.ts'
import { fetchFilesAndAddHandles, fetchTurnFiles, openTurnFiles, type TurnFiles } from './turn-files.ts'
import type { TurnPolicy } from './turn-policy.ts'

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
export type RunDeps = {
  readonly lease: Lease
  readonly isStopping: () => boolean
  /** Shows words while the reply grows. */
  readonly show: (delta: string) => void
  /** Made for the first error of the try. */
  readonly errors: () => TurnErrors
}

export async function runAgent(deps: TurnServices, ready: TurnContext, parts: RunDeps): Promise<RunResult> {
  if (ready.turn.kind === 'control') return { ...nothing, reply: await runCommand(deps, ready), run: naturalEnd }
  const agent = deps.agents.get(ready.lane.agent)
  if (agent === undefined)
    throw new GatewayError('agent_unknown', `[gateway] no agent "${ready.lane.agent}" is configured`)
  const lead = ready.members.at(-1)
  if (lead?.row.mustReplyIndividually === unknownAgent)
    return {
      ...nothing,
      reply: normalizeAgentReply(unknownAgentReply(deps, ready.at), replyFields(ready)),
      run: naturalEnd,
    }
  if (lead !== undefined && startsNewSession(deps, lead.message)) {
    return { ...nothing, reply: normalizeAgentReply(say('session.started'), replyFields(ready)), run: naturalEnd }
  }
  const isPlain = ready.signal === null && lead?.message.channel?.tool_result === undefined
  const trigger = isPlain ? messagesCame : await resolveTrigger(deps, ready)
  if (trigger.kind === 'gateway')
    return { ...nothing, reply: normalizeAgentReply(trigger.says, replyFields(ready)), run: naturalEnd }
  const { rerun } = trigger
  if (rerun !== undefined) {
    const again = await restoreMessagesOfRerun(deps, ready, rerun)
    return runAgentWithRunControl(deps, again, { ...parts, agent, trigger, rerun })
  }
  if (trigger.signal !== null) notifyToolRequestResumed(deps, ready, trigger.signal)
  const beginning = { turn: ready.turn.id, hasMessages: ready.members.length > 0, signal: trigger.signal }
  return runAgentWithRunControl(deps, ready, { ...parts, agent, trigger, rerun: { beginning, decided: [] } })
}

type Start = RunDeps & {
  readonly agent: Agent
  readonly trigger: Extract<TurnTrigger, { kind: 'agent' }>
  /** How it would be run again, should an agent that it asks need a decision. */
  readonly rerun: Rerun
}

/** What a run leaves behind while it goes on. */
type Made = {
  readonly lines: Envelope[]
  readonly extras: NormalizedResponse[]
  readonly timers: NewTimer[]
  readonly used: RunEnd['usage'][]
  run: RunEnd | undefined
  clientTools?: ClientToolReport
}

/** One try of a run, as its parts share it. What few runs need is made when it is asked for. */
type Run = Omit<Start, 'rerun'> & {
  readonly steps: () => Steps
  /** Asked for when it is needed: the message a reply answers may have joined the turn on the way. */
  readonly facts: () => ReplyFacts
  /** Ends it whatever its agent does. */
  readonly signal: AbortSignal
  readonly control: RunControl
  readonly chain: TurnChain
  readonly made: Made
  /** Of a run that waits for nothing none are made. */
  readonly pauses: () => TurnPauses
  openedPauses?: TurnPauses
}

const noPauses = { actions: [], requests: [], timers: [], resolved: null } as const

async function runAgentWithRunControl(
  deps: TurnServices,
  ready: TurnContext,
  { rerun, ...start }: Start,
): Promise<RunResult> {
  const { lease, trigger } = start
  const control = openRunControl(deps, ready)
  const { signal, end } = openTurnSignal(lease.signal, turnDeadlineMs(deps.turnPolicy, ready.turn))
  const lead = ready.members.at(-1)?.message
  const replyFieldsOfTrigger = () => ({ ...replyFields(ready), ...trigger.reply })
  // A later question is answered where the run began.
  const beganWith = replyFieldsOfTrigger()
  let chain: TurnChain | undefined
  let opened: RunSteps | undefined
  let isOver = false
  const run: Run = {
    ...start,
    errors() {
      const errors = start.errors()
      // They take their place in what the run says of itself.
      errors.emit ??= control.recorder().emit
      return errors
    },
    steps() {
      if (opened === undefined) {
        opened = openRunSteps(deps, ready, run)
        // Of an agent that goes on after its turn has ended no step begins.
        if (isOver) void opened.steps.close()
      }
      return opened.steps
    },
    facts: replyFieldsOfTrigger,
    signal,
    control,
    get chain() {
      chain ??= agentChainOfTurn(lead, trigger.chain)
      return chain
    },
    made: { lines: [], extras: [], timers: [], used: [], run: undefined },
    pauses() {
      const { ends } = trigger
      const began = { ...beganWith, runId: getRunId(ready), ends, chain: run.chain, rerun }
      run.openedPauses ??= createTurnPauses(deps, ready, { ...began, isRerun: ready.isRerun === true })
      return run.openedPauses
    },
  }
  try {
    // What this run ends is settled with it, whatever it asks for itself.
    if (trigger.ends !== null) run.pauses()
    if (!isNewlyOpenedTurn(ready)) await throwIfRunStopped(deps, ready, run)
    try {
      return await runAgentOfTurn(deps, ready, run)
    } finally {
      isOver = true
      await opened?.steps.close()
    }
  } catch (error) {
    const cause = control.cause()
    if (cause === undefined || isErrorOfGatewayItself(error)) {
      await storeEventsOfFailedRun(deps, ready, control)
      throw error
    }
    // Its answer is not wanted any more, so that it gave none is no failure.
    const reply = normalizeAgentReply(stoppedReply(cause), replyFieldsOfTrigger())
    const { resolved } = run.openedPauses?.collect() ?? noPauses
    return { ...nothing, reply, resolved, run: runEndFromStopCause(cause), events: await control.takeEvents() }
  } finally {
    // The turn may end at its deadline while a step's result waits for the database: that is stored first.
    await opened?.settled()
    end()
    control.end()
  }
}

type RunSteps = { readonly steps: Steps; readonly settled: () => Promise<void> }

/** The steps of a run, with their results that are still on their way. */
function openRunSteps(
  deps: TurnServices,
  ready: TurnContext,
  { lease, isStopping, signal, control, errors }: Run,
): RunSteps {
  const { lane, turn } = ready
  const { store, settled } = trackUnfinishedResultWrites(deps.results.store)
  const steps = createJournaledSteps({
    journal: deps.journal,
    turn: {
      conversationId: lane.conversationId,
      epoch: lane.epoch,
      turnId: turn.id,
      journalTurn: ready.journalTurn,
    },
    log: ready.steps(),
    assertHeld: lease.assertHeld,
    untilHeld: lease.untilHeld,
    store,
    isStopping,
    signal,
    fetch: (onSend) =>
      createLeasedFetch(lease, createTimedFetch(deps.fenceFetch(lease.isHeld, onSend), deps.turnPolicy.fetchTimeoutMs)),
    hash: deps.hash,
    onStopped: control.onStopped,
    onThrown: (error, name) => errors().report(error, { source: 'step', name }),
    ...(deps.failpoint === undefined ? {} : { failpoint: deps.failpoint }),
  })
  return { steps, settled }
}

async function runAgentOfTurn(deps: TurnServices, ready: TurnContext, run: Run): Promise<RunResult> {
  const { agent, control, facts, made, trigger, signal } = run
  const remembered = await readTurnTranscript(deps, ready)
  const fetching = {
    deps,
    ready,
    get step() {
      return run.steps().step
    },
    // Made for those who bring something: most turns have no files.
    get signal() {
      return AbortSignal.any([signal, control.stop])
    },
  }
  const { adapter } = ready.at
  if (adapter.fetchReferenced !== undefined) {
    const silentBecause = await fillInReferencedMessages(fetching)
    if (silentBecause !== undefined) return { ...nothing, reply: undefined, run: naturalEnd, silentBecause }
  }
  const isReply = ready.members.at(-1)?.message.in_reply_to !== undefined
  const hasAncestors = isReply && adapter.fetchAncestors !== undefined
  const transcript = hasAncestors ? [...remembered, ...(await fetchAncestors(fetching, remembered))] : remembered
  const turns = transcript.map(toHistoricalMessage).filter((turn) => turn !== undefined)
  const heard = ready.members.map(({ message }) => ({ ...message, raw: null }))
  const { threadId } = replyFields(ready)
  let opened: TurnFiles | undefined
  const openTurnFilesOnce = (): TurnFiles => (opened ??= openTurnFiles(deps, ready, threadId, turns))
  const { members, history } = containFiles([...heard, ...turns])
    ? await runUntilAborted(signal, () => fetchFilesAndAddHandles(fetching, openTurnFilesOnce(), turns))
    : { members: heard, history: turns }
  // What its program sent was kept by the turn before, and may have changed since.
  const client = ready.isRerun === true ? undefined : ready.members.at(-1)?.message.channel?.client_data
  let shared: ReturnType<typeof createTurnState> | undefined
  const openSharedStateOnce = () => {
    const loadState = () => deps.transcripts.sharedState(ready.turn.sessionId)
    shared ??= createTurnState({ client, load: loadState, emit: control.recorder().emit })
    return shared
  }
  if (client !== undefined) await openSharedStateOnce().begin()
  const who = ready.speaker ?? (await resolveTurnSpeaker(deps, ready))
  const context = createAgentContext(deps, ready, run, {
    who,
    members,
    history,
    transcript,
    openFiles: openTurnFilesOnce,
    openState: openSharedStateOnce,
    fetchFiles: (entries) => fetchTurnFiles(fetching, entries),
  })
  const startAgentRun = (): Promise<AgentReply> | AgentReply =>
    trigger.signal === null
      ? agent.run(mergeMessages(context.members, [...history]), context)
      : agent.onSignal?.(trigger.signal, context)
  const participants = transcript.map(readParticipant).filter((participant) => participant !== undefined)
  let returned: AgentReply
  try {
    returned = await runUntilAborted(signal, startAgentRun)
  } catch (error) {
    // An agent it asked needs a decision: whatever the run made of that, it ends here.
    const isLost = isGatewayError(error) && lost.has(error.code)
    if (run.openedPauses?.agentCalls.stopped() === undefined || isLost) throw error
  }
  const stopped = await run.openedPauses?.stoppedFor()
  if (stopped !== undefined) {
    const { asked, waits } = stopped
    const sharedState = await shared?.ended()
    const question = normalizeAgentReply(approvalQuestionReply(asked.action, context.commandForm), facts())
    const reported = {
      reply: addClientToolsAndState(question, made.clientTools, sharedState),
      sharedState,
      participants,
    }
    const paused = toPausedEnd(waits) ?? naturalEnd
    return { ...nothing, ...waits, ...reported, run: paused, events: await control.takeEvents() }
  }
  let said: readonly (NormalizedResponse | undefined)[] = [normalizeAgentReply(returned, facts()), ...made.extras]
  if (containFiles(said)) {
    const { principal, step, emit } = context
    const { attachments, hash } = deps
    const where = { attachments, hash, turn: ready.turn, threadId: replyFields(ready).threadId }
    said = await storeFilesOfReplies({ ...where, principal, step, emit, files: openTurnFilesOnce() }, said)
  }
  const [reply, ...extras] = said
  const waits = run.openedPauses?.collect() ?? noPauses
  const sharedState = await shared?.ended()
  const runEnded = made.run ?? (run.openedPauses === undefined ? undefined : toPausedEnd(waits)) ?? naturalEnd
  const ended = {
    reply: addClientToolsAndState(reply, made.clientTools, sharedState),
    sharedState,
    extras: extras.filter((extra) => extra !== undefined),
    lines: made.lines,
    run: made.used.length === 0 ? runEnded : addAgentCallUsage(runEnded, made.used),
    events: await control.takeEvents(),
  }
  return { ...nothing, ...waits, ...ended, participants, timers: [...made.timers, ...waits.timers] }
}

type AgentInput = Pick<AgentContext, 'who' | 'members' | 'history' | 'transcript'> & {
  readonly openFiles: () => TurnFiles
  readonly openState: () => ReturnType<typeof createTurnState>
  readonly fetchFiles: Parameters<RunControl['hear']>[0]
}

/** What the agent is given with its message. What few agents use is made when it is asked for. */
function createAgentContext(
  deps: TurnServices,
  ready: TurnContext,
  run: Run,
  { openFiles, openState, fetchFiles, ...given }: AgentInput,
): AgentContext {
  const { agent, control, made, errors, signal } = run
  const { turn, at } = ready
  const lead = ready.members.at(-1)?.message
  const addUsedTokens = (usage: RunEnd['usage']) => void made.used.push(usage)
  let agents: AgentContext['agents'] | undefined
  let remoteCaller: AgentContext['remoteCaller'] | undefined
  const context: AgentContext = {
    ...given,
    agent: agent.slug,
    principal: turn.principal ?? '',
    evidence: lead?.sender.identities ?? [],
    sessionId: turn.sessionId,
    runId: getRunId(ready),
    attempt: turn.attempt,
    commandForm: at.adapter.capabilities.commandForm,
    client: lead?.channel?.client_data,
    get state() {
      return openState().state
    },
    get attachments() {
      return openFiles()
    },
    speakerMark: () => deps.speakerMarks(turn.sessionId),
    capabilities: deps.capabilities,
    signal,
    stop: control.stop,
    // A function may have caught what stopped it: nothing of what it does then counts, it is run again.
    step(name, work, options) {
      const stopped = run.openedPauses?.agentCalls.stopped()
      return stopped === undefined ? run.steps().step(name, work, options) : Promise.reject(stopped)
    },
    isFinished: (name, options) => run.steps().isFinished(name, options),
    report: (error, source) => errors().report(error, source),
    toolCalled: (facts) => errors().toolCalled(facts),
    hear: () => control.hear(fetchFiles),
    schedule(name, dueInMs, payload) {
      const carried = addChainToPayload(payload, run.chain)
      made.timers.push({ id: deps.newId(), name, kind: 'timer', dueInMs, payload: carried })
    },
    send(reply) {
      const extra = normalizeAgentReply(reply, run.facts())
      if (extra !== undefined) made.extras.push(extra)
    },
    show(delta) {
      control.recorder().show(delta)
      run.show(delta)
    },
    emit(type, metadata) {
      control.recorder().emit(type, metadata)
      notifyRunEvent(deps, ready, type, metadata)
    },
    reportClientTools(report) {
      made.clientTools = report
      control.recorder().emit('client_tools', report)
    },
    finish(result) {
      made.run = runEndFromLoopResult(result, control.cause())
    },
    record: (added) => void made.lines.push(...added),
    get pause() {
      return run.pauses().pause
    },
    get remoteCaller() {
      const position = { agent: agent.slug, chain: run.chain, root: turn.id }
      remoteCaller ??= createRemoteAgentCaller(deps, run.lease, position)
      return remoteCaller
    },
    get agents() {
      const questions = run.pauses().agentCalls
      agents ??= createTurnAgentCalls({ deps, ready, onUsage: addUsedTokens, chain: run.chain, questions }, context)
      return agents
    },
    ...(deps.toolServers === undefined ? {} : { toolServers: deps.toolServers }),
  }
  return context
}

/** The turn is another holder's now, its run was stopped, or nothing can be stored. */
const lost: ReadonlySet<string> = new Set(['lease_lost', 'storage_unavailable', 'run_cancelled'])

/** What its program is told beside the answer. */
function addClientToolsAndState(
  reply: NormalizedResponse | undefined,
  tools: Made['clientTools'],
  state: Json | undefined,
): NormalizedResponse | undefined {
  if (reply === undefined || (tools === undefined && state === undefined)) return reply
  return { ...reply, client: { ...(tools === undefined ? {} : { tools }), ...(state === undefined ? {} : { state }) } }
}

async function resolveTurnSpeaker(
  deps: {
    readonly agents: ReadonlyMap<string, Agent>
    readonly access: AccessPolicy
    readonly principals: PrincipalResolver
  },
  { members, at, lane }: TurnContext,
): Promise<AgentContext['who']> {
  const lead = members.at(-1)
  return lead === undefined ? {} : ((await resolveSpeaker(deps, at, lead.row, lane.agent)) ?? {})
}

/** What a failed attempt did is worth knowing; that it cannot be stored changes nothing about the failure. */
async function storeEventsOfFailedRun(
  deps: { readonly db: Db },
  { lane, turn }: TurnContext,
  control: RunControl,
): Promise<void> {
  const events = await control.takeEvents()
  if (events.length > 0) await appendRunEvents(deps.db, lane, turn.id, turn.attempt, events).catch(() => undefined)
}

/** A run may have been stopped while no process ran it: between two tries. */
async function throwIfRunStopped(
  deps: TurnServices,
  ready: TurnContext,
  { control, chain, lease }: Pick<Run, 'control' | 'chain' | 'lease'>,
): Promise<void> {
  const [news] = await readRunUpdates(deps.db, [ready.turn.id])
  if (news === undefined || news.stoppedBy === null) return
  await cancelRemoteTasks(deps, ready, { emit: control.recorder().emit, chain, lease, signal: lease.signal })
  throw control.onStopped(news.stoppedBy)
}

/** Broken invariants of the gateway stay what they are, also in a run that was stopped. */
function isErrorOfGatewayItself(error: unknown): boolean {
  return (
    isGatewayError(error) && ['lease_lost', 'stopping', 'storage_unavailable', 'replay_stopped'].includes(error.code)
  )
}

/** What was said before, as much of it as an agent is shown, and the same in every try of its turn. */
async function readTurnTranscript(
  deps: { readonly transcripts: TranscriptStore; readonly turnPolicy: TurnPolicy },
  { turn, at, isFirst, view }: TurnContext,
): Promise<readonly Envelope[]> {
  // A turn that its session begins with need not ask.
  if (isFirst === true || view === null) return []
  const { historyHead: head, historyTail: tail } = deps.turnPolicy
  const around = at.replyPolicy.ambientContext?.messages ?? 0
  return deps.transcripts.window(turn.sessionId, view ?? { head, tail, around })
}
