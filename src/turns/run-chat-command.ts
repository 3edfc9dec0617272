// Runs a gateway command, in a conversation of its own beside the one it is about: no agent runs, the gateway answers.

import { normalizeAgentReply } from '../agents/reply.ts'
import { writeCommand } from '../contract/capabilities.ts'
import type { NormalizedResponse } from '../contract/index.ts'
import type { Db } from '../db/client.ts'
import { findThreadWithActiveRun, type RunsAtAGlance, summarizeRuns } from '../db/runs.ts'
import { type ControlCommand, parseChatCommand } from '../inbound/chat-command.ts'
import { cleanName } from '../lib/clean-text.ts'
import { GatewayError } from '../lib/errors.ts'
import { lookUpSenderName, resolveAuthority } from './admit.ts'
import { answerCommand, controlNames, type Reported } from './chat-commands.ts'
import type { TurnServices } from './services.ts'
import { replyFields, type TurnContext } from './turn-context.ts'

export async function runCommand(deps: TurnServices, ready: TurnContext): Promise<NormalizedResponse | undefined> {
  const lead = ready.members.at(-1)
  const command = lead === undefined ? undefined : parseChatCommand(lead.message, controlNames)
  if (lead === undefined || command === undefined)
    throw new GatewayError('agent_failed', '[gateway] a control turn without a command this release knows')
  const { lane, turn } = ready
  const glance = await readRunSummary(deps, lane.conversationId, lead, command)
  const context = {
    deps,
    at: ready.at,
    command,
    write: (name: string, about?: string) => writeCommand(ready.at.adapter.capabilities.commandForm, name, about),
    principal: turn.principal ?? '',
    ...(await resolveAuthority(deps, ready.at, lead.row, lane.agent)),
    by: await deciderName(ready, command),
    isClick: lead.row.mustReplyIndividually === 'click',
    agent: lane.agent,
    glance,
    turn: { id: turn.id, tenant: lane.tenant },
  }
  const answer = await answerCommand(context)
  const { says, decision, actionId }: Partial<Reported> & Pick<Reported, 'says'> =
    typeof answer === 'string' ? { says: answer } : answer
  const reply = normalizeAgentReply(says, replyFields(ready))
  const control = {
    about: command.name,
    ...(decision === undefined ? {} : { decision }),
    ...(actionId === undefined ? {} : { action_id: actionId }),
  }
  return reply === undefined ? undefined : { ...reply, control }
}

/** Others see who decided, so a platform that names people by id alone is asked. */
async function deciderName({ at, members }: TurnContext, { name }: ControlCommand): Promise<string | undefined> {
  const row = members.at(-1)?.row
  if (row === undefined || !decisions.has(name)) return undefined
  const known = cleanName((await lookUpSenderName(at, row)) ?? '')
  return known.slice(0, 100).toWellFormed() || undefined
}

const decisions: ReadonlySet<string> = new Set(['approve', 'reject'])

/** What a command looks at. Where each question opens a thread, and commands are given beside them all, the thread is looked for. */
async function readRunSummary(
  deps: { readonly db: Db },
  conversationId: string,
  { row, message }: TurnContext['members'][number],
  { name, args }: ControlCommand,
): Promise<RunsAtAGlance | undefined> {
  const here = await summarizeRuns(deps.db, conversationId, row.subject)
  const room = message.channel?.main_line
  if (room === undefined || row.subject === null || !aboutRuns.has(name)) return here
  const code = /^[0-9a-f]{6,36}\b/i.exec(args)?.[0]?.toLowerCase() ?? null
  const isBusy = here !== undefined && (here.running !== null || here.paused.length > 0)
  if (isBusy && code === null) return here
  const thread = await findThreadWithActiveRun(deps.db, { conversationId, subject: row.subject, room, code })
  return thread === undefined ? here : summarizeRuns(deps.db, thread, row.subject)
}

const aboutRuns: ReadonlySet<string> = new Set(['stop', 'status', 'approve', 'reject'])
