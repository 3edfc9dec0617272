// Agent calls: an agent asks another one of this gateway inside its own turn, with the same person, the same evidence, the same
// lease and the same journal. Nothing of it is a message, so nothing of it can be lost or come twice.

import type { AgentCallOptions, AgentCalls, CallableAgent } from '../agents/agent-calls.ts'
import type { ApprovalWish, AskedApproval, Pauses } from '../agents/approvals/pauses.ts'
import type { Agent, AgentContext, Signal } from '../agents/define-agent.ts'
import { isRemoteTaskLine, listWaitingTaskEnvelopes } from '../agents/remote-agents.ts'
import { normalizeAgentReply } from '../agents/reply.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import {
  formatAddress,
  type NormalizedMessage,
  type NormalizedResponse,
  type Part,
  textPart,
  unverifiedSender,
} from '../contract/index.ts'
import { pauseSignals } from '../db/transcripts.ts'
import {
  type AgentChain,
  describeCallChainForAgent,
  findAgentLoopFault,
  nextAgentChain,
} from '../identity/call-chain.ts'
import { readdressMessage } from '../identity/evidence.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { toStorableJson } from '../lib/index.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { assistantEnvelope, toHistoricalMessage, userEnvelope } from '../sessions/transcript.ts'
import { admitMessage } from './admit.ts'

import type { AgentCallQuestions, DecidedQuestion } from './pauses.ts'
import { remoteCallerForAgent, type TurnChain } from './remote-agents.ts'
import { runEndFromLoopResult } from './run-end.ts'
import type { TurnServices } from './services.ts'
import { pauseEndPayload } from './trigger.ts'
import type { TurnContext } from './turn-context.ts'

/** What an agent's context is made of before it knows the agents it may call. */
type Context = Omit<AgentContext, 'agents'>

export type AgentCallContext = {
  readonly deps: TurnServices
  readonly ready: TurnContext
  /** What the called agent's models used. */
  readonly onUsage: (usage: JsonObject) => void
  readonly chain: TurnChain
  /** For the person at the top of the chain. */
  readonly questions: AgentCallQuestions
}

/** Who asks: an agent, its place in the chain, and whom the chain has passed, itself last. */
type Asker = {
  readonly context: Context
  readonly chain: AgentChain | undefined
  readonly path: readonly string[]
  /** Before the names of its steps, in the journal of the turn. */
  readonly stepPrefix: string
  /** What those it asked keep of remote agents, in this turn. */
  readonly kept: Envelope[]
}

/** For the agent that the messages of a turn are for. */
export function createTurnAgentCalls(call: AgentCallContext, context: Context): AgentCalls {
  return createAgentCalls(call, { context, chain: call.chain.link, path: [context.agent], stepPrefix: '', kept: [] })
}

function createAgentCalls(call: AgentCallContext, asker: Asker): AgentCalls {
  const { agents } = call.deps
  const calls = new Map<string, number>()
  const mayAsk = listCallableAgents(agents, asker.context.agent)
  const next = nextAgentChain(asker.chain)
  return {
    cue: describeCallChainForAgent(asker.chain),
    list: () =>
      next.ok
        ? mayAsk.filter(({ slug }) => !asker.path.includes(slug)).map((agent) => describeCallableAgent(call, agent))
        : [],
    async call(slug, given, options = {}) {
      const parts = typeof given === 'string' ? [textPart(given)] : given.parts
      // Counted before anything is awaited: calls alike get their names in the order they were made, in every try.
      const what = JSON.stringify([slug, parts])
      const use = (calls.get(what) ?? 0) + 1
      calls.set(what, use)
      try {
        const callee = mayAsk.find((agent) => agent.slug === slug)
        if (callee === undefined)
          throw agentCallDeniedError(slug, 'agent_unknown', 'there is no such agent to ask from here')
        if (isAgentInPath(asker.path, slug))
          throw agentCallDeniedError(slug, 'gw:agent_loop', 'it is waiting for this very answer')
        if (!next.ok)
          throw agentCallDeniedError(slug, next.code, 'the chain of agents is at its end; answer with what you have')
        const hash = await call.deps.hash(what)
        const prefix = `${slug}:${hash.slice(0, 16)}${use === 1 ? '' : `#${use}`}/`
        return await runCalledAgent(call, asker, { callee, parts, prefix, chain: next.chain, options })
      } catch (error) {
        emitAgentCallDenied(asker, slug, error)
        throw error
      }
    },
  }
}

/** A refusal inside the called agent's own call was told there. */
function emitAgentCallDenied({ context }: Asker, slug: string, error: unknown): void {
  if (!isGatewayError(error, 'agent_call_denied') || error.details['agent'] !== slug) return
  context.emit('agent_call_denied', { agent: slug, reason: error.details['reason'] })
}

type Asked = {
  readonly callee: Agent
  readonly parts: readonly Part[]
  /** Before the names of its steps; the same in every try of the turn. */
  readonly prefix: string
  readonly chain: AgentChain
  readonly options: AgentCallOptions
}

async function runCalledAgent(
  call: AgentCallContext,
  asker: Asker,
  asked: Asked,
): Promise<NormalizedResponse | undefined> {
  const { callee, prefix, chain } = asked
  const message = createAgentCallMessage(call.ready, {
    agent: callee.slug,
    parts: asked.parts,
    chain,
    key: prefix,
    now: call.deps.now(),
  })
  const who = await admitAgentCall(call, callee, message)
  const { emit } = asker.context
  emit('agent_call_started', { agent: callee.slug, hop: chain.hop, max_hops: chain.max_hops })
  const facts = { threadId: message.thread_id, inReplyTo: message.id, agent: callee.slug }
  const waits = createAgentCallPauses(callee.slug, call.questions)
  const output: CalleeOutput = { said: [], lines: [], usage: {} }
  const kept: Envelope[] = []
  const path = [...asker.path, callee.slug]
  const createCalleeRunContext = (prefix: string, settles?: string): AgentContext => {
    const own = createCalleeContext(call, asker, {
      ...asked,
      prefix,
      message,
      who,
      facts,
      output,
      pause: waits.pause(settles),
    })
    const stepPrefix = `${asker.stepPrefix}${prefix}`
    return { ...own, agents: createAgentCalls(call, { context: own, chain, path, stepPrefix, kept }) }
  }
  let reply = normalizeAgentReply(await callee.run(message, createCalleeRunContext(prefix)), facts)
  // A decision is found where it was asked for, and the agent that was asked goes on from there as an agent of its own would in a later turn.
  for (let part = 1; ; part += 1) {
    const wanted = takeNextWantedApproval(call, waits)
    if (wanted === undefined) break
    const key = `${asker.stepPrefix}${prefix}~${part}`
    const decided = call.questions.decided(key)
    if (decided === undefined) throw call.questions.ask(key, wanted.wish, wanted.asked)
    // What it does now has names of its own: the same call once more is another call.
    const context = createCalleeRunContext(`${prefix}~${part}/`, decided.id)
    output.lines.push(...transcriptLinesOfReply(reply, context, message.received_at))
    const transcript = [...context.transcript, userEnvelope(message, { runId: context.runId }), ...output.lines]
    const history = transcript.map(toHistoricalMessage).filter((turn) => turn !== undefined)
    const signal = toDecisionSignal(decided, wanted, context)
    reply = normalizeAgentReply(await callee.onSignal?.(signal, { ...context, transcript, history }), facts)
  }
  call.onUsage(output.usage)
  emit('agent_call_answered', { agent: callee.slug, status: reply?.status ?? 'silent' })
  return addPartsToReply(reply, output.said, facts)
}

/** Whatever it made of it: what stopped it, or those it asked, stops its caller as well. */
function takeNextWantedApproval({ questions }: AgentCallContext, waits: AgentCallPauses): WantedApproval | undefined {
  const stopped = questions.stopped() ?? waits.refused()
  if (stopped !== undefined) throw stopped
  return waits.next()
}

/** Its words beside the question; the question itself is for a person. */
function transcriptLinesOfReply(
  reply: NormalizedResponse | undefined,
  { agent, runId }: AgentContext,
  at: string,
): readonly Envelope[] {
  const parts = reply?.parts.filter((part) => part.kind !== 'policy') ?? []
  return parts.length === 0 ? [] : [assistantEnvelope(agent, parts, { runId, at })]
}

function toDecisionSignal(
  { key: _, ...decided }: DecidedQuestion,
  { wish }: WantedApproval,
  { sessionId }: AgentContext,
): Signal {
  // What an agent wants to find again is JSON, as it would be in its row.
  const resume = toStorableJson(wish.resume?.() ?? {}) as JsonObject
  const pause = { kind: 'approval', ...decided, resume, sessionId } as const
  return { kind: pauseSignals.approval, name: decided.decision, payload: pauseEndPayload(pause), pause }
}

/** The output of an agent that was asked, while it runs. */
type CalleeOutput = { readonly said: Part[]; readonly lines: Envelope[]; usage: JsonObject }

type Given = Asked & {
  readonly message: NormalizedMessage
  readonly who: AgentContext['who']
  readonly facts: Parameters<typeof normalizeAgentReply>[1]
  readonly output: CalleeOutput
  readonly pause: AgentContext['pause']
}

/** Its own where it acts, its caller's where it is bound, nothing of any memory. */
function createCalleeContext(call: AgentCallContext, { context, kept }: Asker, given: Given): Context {
  const { callee, prefix, message, chain, output } = given
  const { slug } = callee
  const { deps } = call
  const budgets = given.options.within ?? context.budgets
  return {
    ...context,
    agent: slug,
    who: given.who,
    evidence: message.sender.identities ?? [],
    members: [message],
    client: undefined,
    state: {
      get: async () => null,
      set: async () => {
        throw agentCallDeniedError(
          slug,
          'no_conversation',
          'it wants to write shared state and has no conversation here',
        )
      },
    },
    reportClientTools: () => {},
    history: [],
    // Questions that a remote agent has asked are answered where they were asked.
    transcript: listWaitingTaskEnvelopes([...context.transcript, ...kept]),
    step: (name, work, options) => context.step(`${prefix}${name}`, work, { label: name, ...options }),
    isFinished: (name, options) => context.isFinished(`${prefix}${name}`, options),
    schedule() {
      throw agentCallDeniedError(slug, 'no_conversation', 'it wants to be woken later and has no conversation here')
    },
    // It speaks to the agent that asked it, and to no one else.
    send: (reply) => void output.said.push(...(normalizeAgentReply(reply, given.facts)?.parts ?? [])),
    show: () => {},
    emit: (type, metadata) => context.emit(type, { agent: slug, ...metadata }),
    report: (error, source = { source: 'agent' }) => context.report(error, { agent: slug, ...source }),
    hear: async () => undefined,
    // What it used before a decision is part of what it used after it.
    finish: (result) => {
      output.usage = runEndFromLoopResult(result, undefined).usage
    },
    record(lines) {
      const remote = lines.filter(isRemoteTaskLine)
      kept.push(...remote)
      context.record(remote)
      output.lines.push(...lines.filter((line) => !isRemoteTaskLine(line)))
    },
    remoteCaller: remoteCallerForAgent(deps, context.remoteCaller, {
      agent: slug,
      chain: { ...call.chain, link: chain },
      root: call.ready.turn.id,
    }),
    pause: given.pause,
    ...(budgets === undefined ? {} : { budgets }),
  }
}

/**
 * The same access check as for every message: the connection's rule and the agent's own, for this person and at this moment. Answers
 * who they are to this agent.
 */
async function admitAgentCall(
  call: AgentCallContext,
  callee: Agent,
  message: NormalizedMessage,
): Promise<AgentContext['who']> {
  const { deps, ready } = call
  const row = ready.members.at(-1)?.row
  if (row === undefined) {
    // There is no sender: a timer or a decision woke the asker. What admits by evidence cannot admit now; nor can it be told
    // for which agent a token was made.
    const isByToken = ready.turn.principal?.startsWith('gw:token/') === true
    if (callee.access !== undefined || isByToken)
      throw agentCallDeniedError(callee.slug, 'no_evidence', 'there is no sender whom it could let in')
    return {}
  }
  const spoken = { ...row, message }
  const decision = await admitMessage(deps, ready.at, spoken, callee.slug)
  if (decision.kind === 'admitted') return decision.speaker
  const reason = decision.kind === 'refused' ? decision.reason : 'not_paired'
  throw agentCallDeniedError(callee.slug, reason, 'it does not answer this person')
}

function listCallableAgents(agents: ReadonlyMap<string, Agent>, slug: string): readonly Agent[] {
  const named = agents.get(slug)?.agentCalls
  return [...agents.values()].filter((agent) => agent.slug !== slug && (named?.includes(agent.slug) ?? true))
}

function isAgentInPath(path: readonly string[], slug: string): boolean {
  const thread = ''
  const visits = path.map((agent) => ({ thread, by: 'agent', agent }) as const)
  return findAgentLoopFault([{ thread, by: 'person' }, ...visits], thread, slug) !== undefined
}

function describeCallableAgent({ ready }: AgentCallContext, { slug, description, label }: Agent): CallableAgent {
  const address = formatAddress({ local: slug, domain: ready.at.connection.domain })
  return { slug, address, description: description ?? label ?? '' }
}

function addPartsToReply(
  reply: NormalizedResponse | undefined,
  said: readonly Part[],
  facts: Parameters<typeof normalizeAgentReply>[1],
): NormalizedResponse | undefined {
  if (said.length === 0) return reply
  return reply === undefined
    ? normalizeAgentReply({ parts: said }, facts)
    : { ...reply, parts: [...said, ...reply.parts] }
}

// The agent that is asked reads the asker's words under the name and the evidence of the person it works for.

export type AgentCallQuestion = {
  readonly agent: string
  readonly parts: readonly Part[]
  readonly chain: AgentChain
  /** Tells it from the other questions of this turn, the same in every try. */
  readonly key: string
  readonly now: number
}

function createAgentCallMessage(ready: TurnContext, question: AgentCallQuestion): NormalizedMessage {
  const { agent, parts, chain, key } = question
  const { connection, adapter } = ready.at
  const recipient = formatAddress({ local: agent, domain: connection.domain })
  const own = {
    id: `${ready.turn.id}:${key}`,
    parts: [...parts],
    history: [],
    // Its answer goes to an agent: there is no person whom naming would notify.
    recipient_capabilities: { mention_relay: { kind: 'none' as const }, agent_chain: chain },
    raw: null,
  }
  const lead = ready.members.at(-1)?.message
  if (lead === undefined) {
    return {
      ...own,
      thread_id: ready.lane.conversationId,
      sender: unverifiedSender(connection.domain),
      recipient,
      received_via: adapter.capabilities.receivedVia,
      received_at: new Date(question.now).toISOString(),
    }
  }
  const { channel, policy_resolution: _resolution, ...said } = readdressMessage(lead, recipient)
  return {
    ...said,
    ...own,
    in_reply_to: lead.id,
    ...(channel === undefined ? {} : { channel: omitClientRequests(channel) }),
  }
}

/** Where it came from; without what the person's own client asked of the agent that was written to. */
function omitClientRequests(
  channel: NonNullable<NormalizedMessage['channel']>,
): NonNullable<NormalizedMessage['channel']> {
  const {
    command: _command,
    client_tools: _tools,
    client_data: _data,
    tool_result: _result,
    target_id: _target,
    ...rest
  } = channel
  return { ...rest, mentions: [] }
}

// Pauses of an agent that was asked: an approval is asked of the person at the top of the chain, anything else cannot be waited
// for inside another agent's turn.

type WantedApproval = { readonly wish: ApprovalWish; readonly asked: AskedApproval }

type AgentCallPauses = {
  /** `settles`: the decision that this part of its run goes on after. */
  readonly pause: (settles: string | undefined) => Pauses
  /** What it wants decided next, in the order it asked. */
  readonly next: () => WantedApproval | undefined
  /** Set where it stopped for what it cannot get. */
  readonly refused: () => GatewayError | undefined
}

function createAgentCallPauses(slug: string, questions: AgentCallQuestions): AgentCallPauses {
  const wanted: WantedApproval[] = []
  let refused: GatewayError | undefined
  return {
    pause: (settles) => ({
      async approval(wish) {
        const asked = questions.worded(wish, slug)
        wanted.push({ wish, asked })
        return asked
      },
      async toolRequest() {
        refused = agentCallDeniedError(
          slug,
          'runtime_tool_pending',
          'it needs a tool that only the person’s own program can run',
        )
        throw refused
      },
      settle(outcome) {
        if (settles !== undefined) questions.settle(settles, outcome)
      },
    }),
    next: () => wanted.shift(),
    refused: () => refused,
  }
}

/** Why an agent is not asked, or what it wanted cannot be had. */
function agentCallDeniedError(slug: string, reason: string, why: string): GatewayError {
  return new GatewayError('agent_call_denied', `[agent] ${slug} was not asked: ${why} (${reason})`, {
    details: { agent: slug, reason },
  })
}
