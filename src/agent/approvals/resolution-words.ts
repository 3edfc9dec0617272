// What the person who decided is told: in a chat as a sentence, over HTTP as a typed refusal. The remedy is the same.
import { type ControlFacts, GatewayError } from '../../contract/index.ts'
import type { ActionLine, RefusedResolution, Resolution } from '../../db/pending-actions.ts'
import { approverWords } from './terms.ts'

/** The words with what they mean, for callers that show them. `by`: others read them too, and are told who decided. */
export function resolutionSentence(
  resolution: Resolution,
  by: string | null = null,
): {
  readonly says: string
  readonly decision: NonNullable<ControlFacts['decision']>
  readonly actionId?: string
} {
  const says =
    resolution.kind === 'refused'
      ? refusals[resolution.reason](resolution.action)
      : outcomeWords({ ...resolution.action, by })
  if (resolution.kind === 'refused') return { says, decision: resolution.reason }
  const { status, action_id } = resolution.action
  return { says, decision: status === 'accepted' ? 'accepted' : 'rejected', actionId: action_id }
}

type Outcome = {
  readonly status: string
  readonly summary: string
  /** Who decided; they themselves need not be told. */
  readonly by?: string | null
}

/** What a question says in the end. */
export function outcomeWords({ status, summary, by = null }: Outcome): string {
  switch (status) {
    case 'accepted':
      return by === null ? `Approved: ${summary}. I go on with it.` : `Approved by ${by}: ${summary}.`
    case 'rejected':
      return by === null ? `Rejected: ${summary}. I will not do it.` : `Rejected by ${by}: ${summary}.`
    case 'deleted':
      return `Withdrawn: ${summary}. No approval is needed any more.`
    default:
      return `Expired: ${summary}. Ask again if it is still wanted.`
  }
}

const refusals: Readonly<Record<RefusedResolution, (action: ActionLine | null) => string>> = {
  not_found: () => 'There is no such request for approval here. Check the code in the question.',
  already_resolved: (action) =>
    `This was already decided: it is ${action?.status ?? 'over'}. Nothing happens a second time.`,
  expired: () => 'This request for approval has expired. Ask again if it is still wanted.',
  changed: () =>
    'This is no longer the action that was shown to you. Look at it again, then decide with its present hash.',
  not_allowed: (action) => `You cannot decide this. It takes ${approverWords(action?.resolvers ?? 'operator')}.`,
}

/** The action, or why nothing was decided. */
export function requireResolved(resolution: Resolution): Extract<Resolution, { kind: 'resolved' }> {
  if (resolution.kind === 'resolved') return resolution
  const { reason, action } = resolution
  const remedy = refusals[reason](action)
  if (reason === 'not_found')
    throw new GatewayError('not_found', 'no such pending action; list them with GET /admin/approvals')
  throw new GatewayError(reason === 'not_allowed' ? 'forbidden' : 'conflict', `approval_${reason}: ${remedy}`, {
    details: { reason, status: action?.status ?? null },
  })
}
