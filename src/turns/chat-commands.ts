// The chat commands the gateway answers itself: /stop, /status, /approve, /reject, /agents, /pair, /consent. Any other command is
// a message for the agent.

import { approvalCode, resolutionSentence } from '../agents/approvals/approval-messages.ts'
import type { ApprovalDecision } from '../agents/approvals/pending-action.ts'
import type { Agent, AgentReply } from '../agents/define-agent.ts'
import { type ControlFacts, type NormalizedMessage, type StoredGrant, textPart } from '../contract/index.ts'
import type { AuditStore } from '../db/audit.ts'
import type { PairingDecision, PairingLine } from '../db/pairings.ts'
import type { ActionLine, PendingActionStore } from '../db/pending-actions.ts'
import type { RunsAtAGlance } from '../db/runs.ts'
import { type ConsentOperation, consentOperations } from '../identity/consent.ts'
import { formatPairingCode, readPairingCode } from '../identity/pairing.ts'
import { type ControlCommand, parseChatCommand } from '../inbound/chat-command.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'
import { createConsentContext } from './retention-decision.ts'

// /stop: ends what runs in this conversation, and what it waits for. Only the run's owner may, or an operator.

async function answerStop({ deps, glance, principal, isOperator, agent }: ChatCommandContext): Promise<string> {
  const runs = [...(glance?.running === null ? [] : [glance?.running]), ...(glance?.paused ?? [])].filter(
    (run) => run !== undefined,
  )
  if (runs.length === 0) return 'Nothing is running here. Write to me when you want something done.'
  const own = runs.filter((run) => isOperator || run.owner === principal)
  if (own.length === 0) {
    const attempt = { action: 'run.cancel', outcome: 'refused', code: 'not_the_owner', subject: principal, agent }
    for (const run of runs) await deps.audit.record({ ...attempt, objectId: run.id })
    return 'What runs here was started by another person. They can stop it, and so can my operator.'
  }
  const outcomes = await Promise.all(own.map((run) => deps.runs.cancel(run.id, principal)))
  if (outcomes.some((outcome) => outcome?.kind === 'stopping'))
    return 'Stopping. What has begun is finished, nothing new begins; I will tell you when it is done.'
  if (outcomes.some((outcome) => outcome?.kind === 'cancelled'))
    return 'Stopped. What I was waiting for is withdrawn. Write again when you want me to go on.'
  return 'It was already done; there was nothing left to stop.'
}

// /status: what runs here, since when, what it is at, what waits. In words for a person; no ids, no names of tools.

function answerStatus({ glance, write }: ChatCommandContext): string {
  if (glance === undefined)
    return 'Nothing is running here, and nothing waits. Write to me when you want something done.'
  const { running, paused, queued, sessionMs } = glance
  const lines = [
    running === null ? idleLine(paused.length) : runningLine(running, write('stop')),
    ...(queued === 0 ? [] : [`${pluralize(queued, 'message')} ${queued === 1 ? 'waits' : 'wait'} behind it.`]),
    ...pausedRunLines(paused),
    ...(sessionMs === null ? [] : [`This session began ${span(sessionMs)} ago; ${write('new')} starts a fresh one.`]),
  ]
  return lines.join('\n')
}

function idleLine(paused: number): string {
  return paused === 0 ? 'Nothing is running here.' : 'Nothing is running; I am waiting for an answer.'
}

function runningLine({ runningMs, isStopping, activity }: NonNullable<RunsAtAGlance['running']>, stop: string): string {
  const doing = isStopping ? 'I am stopping' : (activityWords[activity ?? ''] ?? 'I am working')
  return `${doing}; your message was taken up ${span(runningMs)} ago.${isStopping ? '' : ` ${stop} ends it.`}`
}

/** By the latest event of its log. */
const activityWords: Readonly<Record<string, string>> = {
  turn_started: 'I am thinking',
  text_delta: 'I am writing the answer',
  tool_call: 'I am using a tool',
  tool_result: 'I am thinking about what a tool found',
  provider_retry: 'My model is slow to answer, I am trying again',
}

function pausedRunLines(paused: RunsAtAGlance['paused']): readonly string[] {
  const approvals = paused.filter((run) => run.status === 'approval_required').length
  const tools = paused.length - approvals
  return [
    ...(approvals === 0
      ? []
      : [`${pluralize(approvals, 'approval')} ${approvals === 1 ? 'waits' : 'wait'} for a decision.`]),
    ...(tools === 0 ? [] : ['I am waiting for an answer from your side.']),
  ]
}

function pluralize(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.round(seconds / 3600)} h` : pluralize(Math.round(seconds / 86_400), 'day')
}

// /approve and /reject in a chat: the sender decides, about what waits in this very conversation.

const decisions: Readonly<Record<string, ApprovalDecision>> = { approve: 'accepted', reject: 'rejected' }

/** The code in a command, then whatever reason follows it. */
const argsPattern = /^\s*(?:([0-9a-f]{6,36})\b)?\s*([\s\S]*)$/i

/** Decided beside the conversation, so that what it is busy with does not keep a person from deciding. */
async function answerDecision({
  deps,
  at,
  command,
  glance,
  principal,
  isOperator,
  role,
  assurance,
  turn,
  write,
  by,
  isClick,
}: ChatCommandContext): Promise<Told> {
  if (glance === undefined) return noApprovalNotice(undefined)
  const { conversationId } = glance
  const { pendingActions: actions, audit } = deps
  const needsCode = at.adapter.capabilities.needsDecisionCode === true
  const isShown = isClick && at.adapter.capabilities.editsPressed === true
  const ids = { tenant: turn.tenant, conversationId, turnId: turn.id }
  const scene = { actions, audit, ...ids, principal, isOperator, role, assurance, needsCode, write, by, isShown }
  const told = await decideByCommand(scene, command)
  deps.bells.turns.ring()
  return told
}

type ApprovalContext = {
  readonly actions: Pick<PendingActionStore, 'find' | 'resolve'>
  readonly audit: AuditStore
  readonly tenant: string
  readonly conversationId: string
  readonly principal: string
  readonly isOperator: boolean
  readonly role: string | null
  readonly assurance: string | null
  readonly write: ChatCommandContext['write']
  readonly by: ChatCommandContext['by']
  readonly isShown: boolean
  /** The channel does not show what is decided about beside the decision: it has to be named. */
  readonly needsCode: boolean
  /** The turn the command is: after a crash it finds what it decided before. */
  readonly turnId: string
}

async function decideByCommand(scene: ApprovalContext, { name, args }: ControlCommand): Promise<Told> {
  const status = decisions[name] ?? 'rejected'
  const [, code, rest = ''] = argsPattern.exec(args) ?? []
  const scope = { tenant: scene.tenant, owner: null, conversationId: scene.conversationId }
  const found = await scene.actions.find(scope, { code: code?.toLowerCase() ?? null, origin: scene.turnId })
  const action = found.find((each) => each.resolution_metadata['origin'] === scene.turnId) ?? found[0]
  if (action === undefined) return noApprovalNotice(code)
  if (code === undefined && scene.needsCode) return approvalCodeNotice(choices(scene, name, found))
  if (found.length > 1 && action.status === 'pending') return chooseApprovalNotice(choices(scene, name, found))
  const reason = rest.trim().slice(0, 200)
  const verdict = {
    status,
    hash: action.hash,
    origin: scene.turnId,
    ...(reason === '' ? {} : { reason }),
    ...(scene.by === undefined ? {} : { by: scene.by }),
    ...(scene.isShown ? { isShown: true as const } : {}),
  }
  const { principal, isOperator, role, assurance } = scene
  const resolver = { name: principal, isOperator, isInChat: true, role, assurance, scope }
  const resolution = await scene.actions.resolve(action.action_id, verdict, resolver)
  if (resolution.kind === 'refused') await noteRefusal(scene, action, resolution.reason, status)
  return resolutionSentence(resolution, scene.isShown ? (scene.by ?? null) : null)
}

/** What was decided is written down with the decision; an attempt that came to nothing, here. */
async function noteRefusal(
  { audit, principal, conversationId }: ApprovalContext,
  { action_id, agent }: ActionLine,
  code: string,
  wanted: ApprovalDecision,
): Promise<void> {
  const attempt = { action: 'approval.resolve', outcome: 'refused', code, objectId: action_id, detail: { wanted } }
  await audit.record({ ...attempt, subject: principal, agent: agent ?? undefined, conversationId })
}

function noApprovalNotice(code: string | undefined): Told {
  const says =
    code === undefined
      ? 'Nothing waits for an approval here.'
      : `Nothing with the code ${code} waits for an approval here. It may have been decided, or it has expired.`
  return { says, decision: 'not_found' }
}

function chooseApprovalNotice(lines: readonly string[]): Told {
  return { says: ['Several things wait for an approval here. Which one?', ...lines].join('\n'), decision: 'unclear' }
}

function approvalCodeNotice(lines: readonly string[]): Told {
  const how = 'Nothing was decided: say which request you mean, by the code in my question. Answer with this line:'
  return { says: [how, ...lines].join('\n'), decision: 'unclear' }
}

function choices(
  { write }: Pick<ApprovalContext, 'write'>,
  name: string,
  found: readonly ActionLine[],
): readonly string[] {
  return found.map(({ action_id, summary }) => `${write(name, approvalCode(action_id))} - ${summary}`)
}

// /agents: who answers on this connection and how to write to them; and the reply to a message for an unknown agent.

function answerAgents({ deps, at, agent }: ChatCommandContext): string {
  const current = deps.agents.get(agent)
  if (!at.isShared)
    return current === undefined ? 'No agent answers here.' : `Only ${describeAgent(current)} answers here.`
  const { agent: defaultAgent } = at.connection
  return [
    'Begin a message with a name to write to that agent; it then answers whatever follows.',
    ...listAgentAddresses(deps),
    `Until you name an agent, @${defaultAgent} answers. You are talking with @${agent}.`,
  ].join('\n')
}

/** No other agent answers in its place: none of them was meant. */
export function unknownAgentReply(deps: Pick<GatewayDeps, 'agents'>, at: GatewayConnection): AgentReply {
  const { domain } = at.connection
  const text = [`There is no agent with that name at ${domain}. You can write to:`, ...listAgentAddresses(deps)].join(
    '\n',
  )
  const error = { code: 'agent_unknown', message: 'there is no agent of that name', retryable: false }
  return { parts: [textPart(text)], status: 'refused', error }
}

function listAgentAddresses({ agents }: Pick<GatewayDeps, 'agents'>): readonly string[] {
  return [...agents.values()].map((agent) => `@${agent.slug} - ${agent.description ?? agent.label ?? agent.slug}`)
}

function describeAgent({ slug, label, description }: Agent): string {
  return description === undefined ? (label ?? slug) : `${label ?? slug} (${description})`
}

// /pair CODE: an admin approves a pairing in a chat. Other senders learn nothing, not even whether there is such a code.

async function answerPair({ deps, command, principal, adminGrants, write }: ChatCommandContext): Promise<string> {
  if (adminGrants.length === 0) return 'Only my admins can let people in.'
  const code = readPairingCode(command.args)
  if (code === undefined)
    return `Tell me whom to let in, by the code they were given: ${write('pair')} and the code, such as BCDF-2345`
  const { pairings } = deps.people
  const pairing = await pairings.find(code)
  const grant = adminGrants.find((each) => pairing !== undefined && grantCoversPairing(each, pairing))
  if (pairing === undefined || grant === undefined) return unknownPairingNotice(code)
  const by = { name: principal, subject: principal }
  const decision = await pairings.approve(code, by, grant.agent ?? undefined)
  deps.bells.turns.ring()
  return pairingDecisionNotice(code, decision, principal)
}

/** Admins let people in as far as they are admins themselves. */
function grantCoversPairing({ connection, agent }: StoredGrant, pairing: PairingLine): boolean {
  const wanted = pairing.agent === '*' ? pairing.wroteTo : pairing.agent
  return (connection === null || connection === pairing.connection) && (agent === null || agent === wanted)
}

function pairingDecisionNotice(code: string, decision: PairingDecision, principal: string): string {
  if (decision.kind === 'unknown') return unknownPairingNotice(code)
  const { pairing } = decision
  const who = pairing.shownName === null ? pairing.subject : `${pairing.subject}, who goes by “${pairing.shownName}”`
  // After a crash the same command finds what it decided before.
  const isOurs = decision.kind === 'decided' || (pairing.status === 'approved' && pairing.decidedBy === principal)
  const held = decision.kind === 'decided' && decision.messages === 0 ? 'Nothing of theirs was waiting.' : undefined
  if (isOurs) return `Let in: ${who}. ${held ?? 'What they wrote is being answered now.'}`
  return `${formatPairingCode(code)} has been decided already: it is ${pairing.status}.`
}

function unknownPairingNotice(code: string): string {
  return `No one is waiting with the code ${formatPairingCode(code)}. It may have been decided, or it has expired.`
}

// /consent: what a person agreed to, and how they change it. Stored under who they are; what they said last counts.

/** What people write for each; its own name is understood as well. */
export const consentKeywords: Readonly<Record<ConsentOperation, string>> = {
  store_memory: 'remember',
  use_memory: 'recall',
  store_transcript: 'keep',
  share_transcript: 'share',
  escalate_to_human: 'handover',
}

const meanings: Readonly<Record<ConsentOperation, string>> = {
  store_memory: 'remember things about you from one session to the next',
  use_memory: 'use what is remembered about you',
  store_transcript: 'keep what was said after a session has ended',
  share_transcript: 'give a copy of what was said to another person',
  escalate_to_human: 'let a person take over this conversation',
}

async function answerConsent(scene: ChatCommandContext): Promise<string> {
  const { deps, command, principal, at, agent, turn } = scene
  if (at.adapter.capabilities.isInteractive !== true || principal === '')
    return 'Consent is given by a person in a chat. No person can be asked on this connection, so nothing is agreed to here.'
  const [verb = '', operation = ''] = command.args.trim().toLowerCase().split(/\s+/)
  if (verb === '') return consentListNotice(scene)
  const isAllowed = { allow: true, withdraw: false }[verb]
  const known = consentOperations.find((each) => each === operation || consentKeywords[each] === operation)
  if (isAllowed === undefined || known === undefined) return consentUsageNotice(scene)
  const word = { id: turn.id, operation: known, isAllowed, principal, connection: at.key, agent }
  await deps.consents.recordWord(word)
  return `${isAllowed ? 'Agreed' : 'Taken back'}: ${meanings[known]}.${consequence(known, isAllowed, scene)}`
}

function consequence(operation: ConsentOperation, isAllowed: boolean, { at, write }: ChatCommandContext): string {
  if (operation !== 'store_transcript')
    return isAllowed ? ` ${write('consent', `withdraw ${consentKeywords[operation]}`)} takes it back.` : ''
  if (at.transcriptBasis !== undefined)
    return ` It is kept here all the same; the operator says why: ${at.transcriptBasis}`
  return isAllowed
    ? ` It counts from your next session on; ${write('new')} starts one.`
    : ' What was kept because you had agreed is erased, this session when it ends.'
}

async function consentListNotice(scene: ChatCommandContext): Promise<string> {
  const { deps, principal, at, agent } = scene
  const asked = { ...createConsentContext(at, agent), consent: await deps.consents.given(principal) }
  const lines = consentOperations.map((operation) => {
    const { allowed, reason } = deps.consent(operation, asked)
    const why = reason === 'operator_grant' ? ` (the operator says why: ${at.transcriptBasis ?? ''})` : ''
    return `${consentKeywords[operation]}: ${allowed ? 'yes' : 'no'} - ${meanings[operation]}${why}`
  })
  return ['What I may do with what you say:', ...lines, '', consentUsageNotice(scene)].join('\n')
}

function consentUsageNotice({ write }: ChatCommandContext): string {
  const example = [write('consent', 'allow share'), write('consent', 'withdraw share')]
  return `Change it with ${example.join(' or ')}; ${write('consent')} shows the list.`
}

const commands: Readonly<Record<string, Command>> = {
  stop: { help: 'stop what I am doing for you', answer: answerStop },
  status: { help: 'what I am doing, and what waits', answer: answerStatus },
  approve: { help: 'approve what I asked about', answer: answerDecision },
  reject: { help: 'decline what I asked about', answer: answerDecision },
  agents: { help: 'who answers here, and how to write to them', answer: answerAgents },
  pair: { help: 'let a person in by the code they were given (admins only)', answer: answerPair },
  consent: { help: 'what I may do with what you say', answer: answerConsent },
  help: { help: 'this list', answer: answerHelp },
}

export const controlNames: ReadonlySet<string> = new Set(Object.keys(commands))

export function parseKnownCommand(message: Pick<NormalizedMessage, 'channel' | 'parts'>): ControlCommand | undefined {
  return parseChatCommand(message, controlNames)
}

export function isControl(message: Pick<NormalizedMessage, 'channel' | 'parts'>): boolean {
  return parseKnownCommand(message) !== undefined
}

export async function answerCommand(scene: ChatCommandContext): Promise<string | Told> {
  const command = commands[scene.command.name] ?? { answer: answerHelp }
  return command.answer(scene)
}

/** The agent's own words, then what works whatever the agent is. */
function answerHelp({ deps, agent, write }: ChatCommandContext): string {
  const facts = deps.agents.get(agent)
  const about = facts?.help ?? facts?.description
  const own = Object.entries(commands).map(([name, { help }]) => `${write(name)} - ${help}`)
  const rotation = deps.turnPolicy.rotateCommands.slice(0, 1).map((name) => `${write(name)} - start a fresh session`)
  return [...(about === undefined ? [] : [about, '']), 'Always:', ...own, ...rotation].join('\n')
}

// A gateway command returns a text, rendered like any reply, and what it means for the turn.

type ChatCommandContext = {
  readonly deps: GatewayDeps
  readonly at: GatewayConnection
  readonly command: ControlCommand
  /** A command as people write it on this channel. */
  readonly write: (name: string, about?: string) => string
  /** Who speaks, as the access policy resolved them. */
  readonly principal: string
  /** What they are called where they speak. */
  readonly by: string | undefined
  /** The command is a press on a button. */
  readonly isClick: boolean
  /** By a stored grant for this agent, as of now. */
  readonly isOperator: boolean
  readonly role: string | null
  /** How strongly they are proven by the message with the command. */
  readonly assurance: string | null
  /** What makes them an admin here; none: they are not. */
  readonly adminGrants: readonly StoredGrant[]
  readonly agent: string
  /** The turn the command is. */
  readonly turn: { readonly id: string; readonly tenant: string }
  /** The conversation the command is about; undefined where there is none, or the speaker takes no part in it. */
  readonly glance: RunsAtAGlance | undefined
}

type Command = {
  /** One line of /help. */
  readonly help: string
  readonly answer: (scene: ChatCommandContext) => Promise<string | Told> | string | Told
}

/** Words about a decision, which one, and about what if something was decided. */
export type Told = {
  readonly says: string
  readonly decision: NonNullable<ControlFacts['decision']>
  readonly actionId?: string
}
