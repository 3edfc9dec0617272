// What a person may say to a pending action. Nothing is remembered for the next one.
import { GatewayError } from '../../contract/index.ts'

export type ApprovalDecision = 'accepted' | 'rejected'

export function readDecision(value: unknown): ApprovalDecision {
  if (value === 'accepted' || value === 'rejected') return value
  throw new GatewayError('bad_request', 'agents_pending_action_invalid_decision: decision must be accepted or rejected')
}
