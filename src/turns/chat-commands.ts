// The chat commands the gateway answers itself: /stop, /status, /approve, /reject, /agents, /pair, /consent. Any other command is
// a message for the agent.

import { approvalCode, resolutionSentenceAndDecision } from '../agents/approvals/approval-messages.ts'
import type { ApprovalDecision } from '../agents/approvals/pending-action.ts'
import type { Agent, AgentReply } from '../agents/define-agent.ts'
import type { StoredGrant } from '../contract/access.ts'
import { textPart } from '../contract/index.ts'
import type { ControlFacts } from '../contract/response.ts'
import { recordAudit } from '../db/audit.ts'
import type { Db } from '../db/client.ts'
import { readConsentByOperation, recordConsentGivenOrWithdrawn } from '../db/consents.ts'
import type { PairingDecision, PairingLine } from '../db/pairings.ts'
import { approvePairing, findPairing } from '../db/pairings.ts'
import type { ActionLine } from '../db/pending-actions.ts'
import { findPendingActions, resolvePendingAction } from '../db/pending-actions.ts'
import type { RunsAtAGlance } from '../db/runs.ts'
import { cancelRun } from '../db/runs.ts'
import { type ConsentOperation, consentOperations, createConsentContext } from '../identity/consent.ts'
import { formatPairingCode, readPairingCode } from '../identity/pairing.ts'
import type { ControlCommand } from '../inbound/chat-command.ts'
import { joinSentences, type Sentence, say } from '../locales/say.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { TurnServices } from './services.ts'

// /stop: ends what runs in this conversation, and what it waits for. Only the run's owner may, or an operator.

async function answerStop({ deps, glance, principal, isOperator, agent }: ChatCommandContext): Promise<Sentence> {
  const runs = [...(glance?.running === null ? [] : [glance?.running]), ...(glance?.paused ?? [])].filter(
    (run) => run !== undefined,
  )
  if (runs.length === 0) return say('stop.nothing_runs')
  const own = runs.filter((run) => isOperator || run.owner === principal)
  if (own.length === 0) {
    const attempt = { action: 'run.cancel', outcome: 'refused', code: 'not_the_owner', subject: principal, agent }
    for (const run of runs) await recordAudit(deps.db, { ...attempt, objectId: run.id })
    return say('stop.not_yours')
  }
  const outcomes = await Promise.all(own.map((run) => cancelRun(deps.db, run.id, principal)))
  if (outcomes.some((outcome) => outcome?.kind === 'stopping')) return say('stop.stopping')
  return say(outcomes.some((outcome) => outcome?.kind === 'cancelled') ? 'stop.withdrawn' : 'stop.done_before')
}

// /status: what runs here, since when, what it is at, what waits. In words for a person; no ids, no names of tools.

function answerStatus({ glance, write }: ChatCommandContext): Sentence {
  if (glance === undefined) return say('status.nothing_here')
  const { running, paused, queued, sessionMs } = glance
  const lines = [
    running === null ? idleStatusText(paused.length) : runningStatusText(running, write('stop')),
    ...(queued === 0 ? [] : [say('status.queued', { count: queued })]),
    ...pausedRunLines(paused),
    ...(sessionMs === null
      ? []
      : [say('status.session', { time: shortDurationText(sessionMs), command: write('new') })]),
  ]
  return joinSentences(lines)
}

function idleStatusText(paused: number): Sentence {
  return say(paused === 0 ? 'status.idle' : 'status.waits_for_answer')
}

function runningStatusText(
  { runningMs, isStopping, activity }: NonNullable<RunsAtAGlance['running']>,
  stop: string,
): Sentence {
  const time = shortDurationText(runningMs)
  if (isStopping) return say('status.stopping', { time })
  return say('status.running', { activity: say(activitySentenceKey(activity)), time, command: stop })
}

/** By the latest event of its log. */
function activitySentenceKey(activity: string | null) {
  switch (activity) {
    case 'turn_started':
      return 'activity.thinking'
    case 'text_delta':
      return 'activity.writing'
    case 'tool_call':
      return 'activity.using_tool'
    case 'tool_result':
      return 'activity.reading_result'
    case 'provider_retry':
      return 'activity.retrying'
    default:
      return 'activity.working'
  }
}

function pausedRunLines(paused: RunsAtAGlance['paused']): readonly Sentence[] {
  const approvals = paused.filter((run) => run.status === 'approval_required').length
  const tools = paused.length - approvals
  return [
    ...(approvals === 0 ? [] : [say('status.approvals', { count: approvals })]),
    ...(tools === 0 ? [] : [say('status.tools')]),
  ]
}

function shortDurationText(ms: number): Sentence {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return say('time.seconds_short', { count: seconds })
  if (seconds < 3600) return say('time.minutes_short', { count: Math.round(seconds / 60) })
  if (seconds < 86_400) return say('time.hours_short', { count: Math.round(seconds / 3600) })
  return say('time.days', { count: Math.round(seconds / 86_400) })
}

// /approve and /reject in a chat: the sender decides, about what waits in this very conversation.

const decisions: Readonly<Record<string, ApprovalDecision>> = { approve: 'accepted', reject: 'rejected' }

/** The code in a command, then whatever reason follows it. */
const argsPattern = /^\s*(?:([0-9a-f]{6,36})\b)?\s*([\s\S]*)$/i

/** Decided beside the conversation, so that what it is busy with does not keep a person from deciding. */
async function answerApprovalCommand({
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
}: ChatCommandContext): Promise<Reported> {
  if (glance === undefined) return noApprovalNotice(undefined)
  const { conversationId } = glance
  const { db } = deps
  const needsCode = at.adapter.capabilities.needsDecisionCode === true
  const isShown = isClick && at.adapter.capabilities.editsPressed === true
  const ids = { tenant: turn.tenant, conversationId, turnId: turn.id }
  const context = { db, ...ids, principal, isOperator, role, assurance, needsCode, write, by, isShown }
  const reported = await decideByCommand(context, command)
  deps.wakeups.turns.notify()
  return reported
}

type ApprovalContext = {
  readonly db: Db
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

async function decideByCommand(context: ApprovalContext, { name, args }: ControlCommand): Promise<Reported> {
  const status = decisions[name] ?? 'rejected'
  const [, code, rest = ''] = argsPattern.exec(args) ?? []
  const scope = { tenant: context.tenant, owner: null, conversationId: context.conversationId }
  const found = await findPendingActions(context.db, scope, {
    code: code?.toLowerCase() ?? null,
    origin: context.turnId,
  })
  const action = found.find((each) => each.resolution_metadata['origin'] === context.turnId) ?? found[0]
  if (action === undefined) return noApprovalNotice(code)
  if (code === undefined && context.needsCode)
    return approvalCodeNeededNotice(listApprovalChoices(context, name, found))
  if (found.length > 1 && action.status === 'pending')
    return severalApprovalsWaitNotice(listApprovalChoices(context, name, found))
  const reason = rest.trim().slice(0, 200)
  const outcome = {
    status,
    hash: action.hash,
    origin: context.turnId,
    ...(reason === '' ? {} : { reason }),
    ...(context.by === undefined ? {} : { by: context.by }),
    ...(context.isShown ? { isShown: true as const } : {}),
  }
  const { principal, isOperator, role, assurance } = context
  const resolver = { name: principal, isOperator, isInChat: true, role, assurance, scope }
  const resolution = await resolvePendingAction(context.db, action.action_id, outcome, resolver)
  if (resolution.kind === 'refused') await auditRefusedDecision(context, action, resolution.reason, status)
  return resolutionSentenceAndDecision(resolution, context.isShown ? (context.by ?? null) : null)
}

/** What was decided is written down with the decision; an attempt that came to nothing, here. */
async function auditRefusedDecision(
  { db, principal, conversationId }: ApprovalContext,
  { action_id, agent }: ActionLine,
  code: string,
  wanted: ApprovalDecision,
): Promise<void> {
  const attempt = { action: 'approval.resolve', outcome: 'refused', code, objectId: action_id, detail: { wanted } }
  await recordAudit(db, { ...attempt, subject: principal, agent: agent ?? undefined, conversationId })
}

function noApprovalNotice(code: string | undefined): Reported {
  const says = code === undefined ? say('approval.none_waits') : say('approval.none_has_code', { code })
  return { says, decision: 'not_found' }
}

function severalApprovalsWaitNotice(lines: readonly string[]): Reported {
  return { says: joinSentences([say('approval.several_wait'), ...lines]), decision: 'unclear' }
}

function approvalCodeNeededNotice(lines: readonly string[]): Reported {
  return { says: joinSentences([say('approval.code_needed'), ...lines]), decision: 'unclear' }
}

function listApprovalChoices(
  { write }: Pick<ApprovalContext, 'write'>,
  name: string,
  found: readonly ActionLine[],
): readonly string[] {
  return found.map(({ action_id, summary }) => `${write(name, approvalCode(action_id))} - ${summary}`)
}

// /agents: who answers on this connection and how to write to them; and the reply to a message for an unknown agent.

function answerAgents({ deps, at, agent }: ChatCommandContext): Sentence {
  const current = deps.agents.get(agent)
  if (!at.isShared)
    return current === undefined ? say('agents.none') : say('agents.only', { agent: describeAgent(current) })
  const { agent: defaultAgent } = at.connection
  return joinSentences([
    say('agents.how_to_address'),
    ...listAgentAddresses(deps),
    say('agents.current', { default: defaultAgent, agent }),
  ])
}

/** No other agent answers in its place: none of them was meant. */
export function unknownAgentReply(
  deps: { readonly agents: ReadonlyMap<string, Agent> },
  at: GatewayConnection,
): AgentReply {
  const { domain } = at.connection
  const text = joinSentences([say('agents.unknown', { domain }), ...listAgentAddresses(deps)])
  const error = { code: 'agent_unknown', message: 'there is no agent of that name', retryable: false }
  return { parts: [textPart(text)], status: 'refused', error }
}

function listAgentAddresses({ agents }: { readonly agents: ReadonlyMap<string, Agent> }): readonly string[] {
  return [...agents.values()].map((agent) => `@${agent.slug} - ${agent.description ?? agent.label ?? agent.slug}`)
}

function describeAgent({ slug, label, description }: Agent): string {
  return description === undefined ? (label ?? slug) : `${label ?? slug} (${description})`
}

// /pair CODE: an admin approves a pairing in a chat. Other senders learn nothing, not even whether there is such a code.

async function approvePairingByCommand({
  deps,
  command,
  principal,
  adminGrants,
  write,
}: ChatCommandContext): Promise<Sentence> {
  if (adminGrants.length === 0) return say('pairing.admins_only')
  const code = readPairingCode(command.args)
  if (code === undefined) return say('pairing.code_needed', { command: write('pair') })
  const { db } = deps
  const pairing = await findPairing(db, code)
  const grant = adminGrants.find((each) => pairing !== undefined && grantCoversPairing(each, pairing))
  if (pairing === undefined || grant === undefined) return unknownPairingNotice(code)
  const by = { name: principal, subject: principal }
  const decision = await approvePairing(db, code, by, grant.agent ?? undefined)
  deps.wakeups.turns.notify()
  return pairingDecisionNotice(code, decision, principal)
}

/** Admins let people in as far as they are admins themselves. */
function grantCoversPairing({ connection, agent }: StoredGrant, pairing: PairingLine): boolean {
  const wanted = pairing.agent === '*' ? pairing.wroteTo : pairing.agent
  return (connection === null || connection === pairing.connection) && (agent === null || agent === wanted)
}

function pairingDecisionNotice(code: string, decision: PairingDecision, principal: string): Sentence {
  if (decision.kind === 'unknown') return unknownPairingNotice(code)
  const { pairing } = decision
  const { subject, shownName: name, status } = pairing
  const who = name === null ? subject : say('pairing.who', { subject, name })
  // After a crash the same command finds what it decided before.
  const isOurs = decision.kind === 'decided' || (status === 'approved' && pairing.decidedBy === principal)
  if (!isOurs) return say('pairing.decided_before', { code: formatPairingCode(code), status })
  const isNothingHeld = decision.kind === 'decided' && decision.messages === 0
  return say(isNothingHeld ? 'pairing.approved_nothing_held' : 'pairing.approved', { who })
}

function unknownPairingNotice(code: string): Sentence {
  return say('pairing.unknown', { code: formatPairingCode(code) })
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

async function answerConsent(context: ChatCommandContext): Promise<Sentence> {
  const { deps, command, principal, at, agent, turn } = context
  if (at.adapter.capabilities.isInteractive !== true || principal === '') return say('consent.no_person')
  const [verb = '', operation = ''] = command.args.trim().toLowerCase().split(/\s+/)
  if (verb === '') return consentListNotice(context)
  const isAllowed = { allow: true, withdraw: false }[verb]
  const known = consentOperations.find((each) => each === operation || consentKeywords[each] === operation)
  if (isAllowed === undefined || known === undefined) return consentUsageNotice(context)
  const word = { id: turn.id, operation: known, isAllowed, principal, connection: at.key, agent }
  await recordConsentGivenOrWithdrawn(deps.db, word)
  const reported = say(isAllowed ? 'consent.agreed' : 'consent.withdrawn', { meaning: say(`consent.${known}`) })
  return joinSentences([reported, ...describeConsentConsequence(known, isAllowed, context)], ' ')
}

function describeConsentConsequence(
  operation: ConsentOperation,
  isAllowed: boolean,
  { at, write }: ChatCommandContext,
): Sentence[] {
  if (operation !== 'store_transcript') {
    const command = write('consent', `withdraw ${consentKeywords[operation]}`)
    return isAllowed ? [say('consent.how_to_withdraw', { command })] : []
  }
  if (at.transcriptBasis !== undefined) return [say('consent.kept_anyway', { reason: at.transcriptBasis })]
  return [isAllowed ? say('consent.from_next_session', { command: write('new') }) : say('consent.erased')]
}

async function consentListNotice(context: ChatCommandContext): Promise<Sentence> {
  const { deps, principal, at, agent } = context
  const asked = { ...createConsentContext(at, agent), consent: await readConsentByOperation(deps.db, principal) }
  const lines = consentOperations.map((operation) => {
    const { allowed, reason } = deps.consent(operation, asked)
    const meaning = say(`consent.${operation}`)
    const line = say(allowed ? 'consent.allowed' : 'consent.not_allowed', { name: consentKeywords[operation], meaning })
    if (reason !== 'operator_grant') return line
    return `${line} ${say('consent.operator_grant', { reason: at.transcriptBasis ?? '' })}`
  })
  return joinSentences([say('consent.list'), ...lines, '', consentUsageNotice(context)])
}

function consentUsageNotice({ write }: ChatCommandContext): Sentence {
  return say('consent.how_to_change', {
    allow: write('consent', 'allow share'),
    withdraw: write('consent', 'withdraw share'),
    list: write('consent'),
  })
}

const commands = {
  stop: answerStop,
  status: answerStatus,
  approve: answerApprovalCommand,
  reject: answerApprovalCommand,
  agents: answerAgents,
  pair: approvePairingByCommand,
  consent: answerConsent,
  help: answerHelp,
} as const satisfies Readonly<Record<string, Command>>

const commandNames = Object.keys(commands) as readonly (keyof typeof commands)[]

export const controlNames: ReadonlySet<string> = new Set(commandNames)

export async function answerCommand(context: ChatCommandContext): Promise<Sentence | Reported> {
  const known: Readonly<Record<string, Command>> = commands
  return (known[context.command.name] ?? answerHelp)(context)
}

/** The agent's own words, then what works whatever the agent is. */
function answerHelp({ deps, agent, write }: ChatCommandContext): Sentence {
  const facts = deps.agents.get(agent)
  const about = facts?.help ?? facts?.description
  const helpLine = (command: string, help: Sentence) => say('command.listed', { command: write(command), help })
  const own = commandNames.map((name) => helpLine(name, say(`help.${name}`)))
  const rotation = deps.turnPolicy.rotateCommands.slice(0, 1).map((name) => helpLine(name, say('help.new')))
  return joinSentences([...(about === undefined ? [] : [about, '']), say('command.always'), ...own, ...rotation])
}

// A gateway command returns a text, rendered like any reply, and what it means for the turn.

type ChatCommandContext = {
  readonly deps: TurnServices
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

/** What it is for stands in the catalogue (`help.stop`). */
type Command = (context: ChatCommandContext) => Promise<Sentence | Reported> | Sentence | Reported

/** Words about a decision, which one, and about what if something was decided. */
export type Reported = {
  readonly says: Sentence
  readonly decision: NonNullable<ControlFacts['decision']>
  readonly actionId?: string
}
