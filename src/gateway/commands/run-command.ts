// A turn in the conversation beside a conversation: no agent runs, the gateway answers.
import { completeReply } from '../../agent/reply.ts'
import { GatewayError, type NormalizedResponse } from '../../contract/index.ts'
import { authorityOf } from '../admissions.ts'
import type { GatewayDeps } from '../deps.ts'
import type { ReadyTurn } from '../prepare-turn.ts'
import { replyFacts } from '../turn-facts.ts'
import type { Told } from './command.ts'
import { answerCommand, commandOf } from './table.ts'

export async function runCommand(deps: GatewayDeps, ready: ReadyTurn): Promise<NormalizedResponse | undefined> {
  const lead = ready.members.at(-1)
  const command = lead === undefined ? undefined : commandOf(lead.message)
  if (lead === undefined || command === undefined)
    throw new GatewayError('agent_failed', '[gateway] a control turn without a command this release knows')
  const { lane, turn } = ready
  const glance = await deps.runs.glance(lane.conversationId, lead.row.subject)
  const scene = {
    deps,
    at: ready.at,
    command,
    principal: turn.principal ?? '',
    ...(await authorityOf(deps, ready.at, lead.row, lane.agent)),
    agent: lane.agent,
    glance,
    turn: { id: turn.id, tenant: lane.tenant },
  }
  const answer = await answerCommand(scene)
  const { says, decision, actionId }: Partial<Told> & Pick<Told, 'says'> =
    typeof answer === 'string' ? { says: answer } : answer
  const reply = completeReply(says, replyFacts(ready))
  const control = {
    about: command.name,
    ...(decision === undefined ? {} : { decision }),
    ...(actionId === undefined ? {} : { action_id: actionId }),
  }
  return reply === undefined ? undefined : { ...reply, control }
}
