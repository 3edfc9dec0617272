// Questions of policy that can be answered by a link; what is asked, and how to answer by mail, stands in the words already. Pure.
import { isKnownPart, type NormalizedResponse } from '../../../src/contract/index.ts'
import type { MailDecision } from '../wire/call.ts'

const maxDecisions = 8

export function approvalDecisions(reply: NormalizedResponse): readonly MailDecision[] {
  return reply.parts
    .flatMap((part): readonly MailDecision[] => {
      if (!isKnownPart(part) || part.kind !== 'policy' || part.policy.kind !== 'approval_required') return []
      const { action_id, code, summary, expires_at, choices } = part.policy
      if (typeof action_id !== 'string' || typeof code !== 'string' || !/^[0-9a-f]{6,36}$/i.test(code)) return []
      if (!Array.isArray(choices) || !choices.includes('approve') || !choices.includes('reject')) return []
      const until = typeof expires_at === 'string' ? expires_at : null
      return [{ action_id, code, summary: typeof summary === 'string' ? summary : '', expires_at: until }]
    })
    .slice(0, maxDecisions)
}
