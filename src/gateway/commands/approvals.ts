// /approve and /reject in a chat: the sender decides, about what waits in this very conversation.
import type { ApprovalDecision } from '../../agent/approvals/decision.ts'
import { approvalCode } from '../../agent/approvals/question.ts'
import { resolutionSentence } from '../../agent/approvals/resolution-words.ts'
import type { AuditStore } from '../../db/audit.ts'
import type { ActionLine, PendingActionStore } from '../../db/pending-actions.ts'
import type { ControlCommand } from '../../inbound/control-command.ts'
import type { ChatCommandContext, Told } from './command.ts'

const decisions: Readonly<Record<string, ApprovalDecision>> = { approve: 'accepted', reject: 'rejected' }

/** The code in a command, then whatever reason follows it. */
const argsPattern = /^\s*(?:([0-9a-f]{6,36})\b)?\s*([\s\S]*)$/i

/** Decided beside the conversation, so that what it is busy with does not keep a person from deciding. */
export async function answerDecision({
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
