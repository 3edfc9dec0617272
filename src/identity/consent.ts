// Consent: each operation is decided on its own, and the decision is stored beside the act.
import type { Fields } from '../lib/json-value.ts'

export const consentOperations = [
  ...(['store_memory', 'use_memory', 'store_transcript'] as const),
  ...(['share_transcript', 'escalate_to_human'] as const),
] as const
export type ConsentOperation = (typeof consentOperations)[number]

export type ConsentContext = {
  /** Whether a person can be asked right now. The adapter says so; no mode or channel is taken for an answer. */
  readonly interactive: boolean
  /** What the person agreed to, operation by operation. */
  readonly consent: Partial<Readonly<Record<ConsentOperation, boolean>>>
  /** The operator's basis for keeping transcripts on this connection, if there is one; recorded with the decision. */
  readonly transcriptBasis?: string
  readonly mode?: string
  readonly agentId?: string
  readonly userId?: number
}

export type ConsentReason =
  | 'explicit_consent'
  | 'operator_grant'
  | 'explicit_consent_missing'
  | 'non_interactive_default_denied'

export type ConsentDecision = {
  readonly operation: ConsentOperation
  readonly allowed: boolean
  readonly reason: ConsentReason
  readonly audit_metadata: Fields
}

/** Port: a host may decide otherwise, and must answer the same kind of value. */
export type ConsentPolicy = (operation: ConsentOperation, context: ConsentContext) => ConsentDecision

export const decideConsent: ConsentPolicy = (operation, context) => {
  const { reason, basis } = decideConsentReason(operation, context)
  return {
    operation,
    allowed: reason === 'explicit_consent' || reason === 'operator_grant',
    reason,
    audit_metadata: {
      policy: 'default',
      operation,
      interactive: context.interactive,
      mode: context.mode ?? null,
      agent_id: context.agentId ?? null,
      user_id: context.userId ?? null,
      ...(basis === undefined ? {} : { basis }),
    },
  }
}

function decideConsentReason(
  operation: ConsentOperation,
  { interactive, consent, transcriptBasis }: ConsentContext,
): { readonly reason: ConsentReason; readonly basis?: string } {
  const basis = transcriptBasis?.trim()
  // Keeping what was said is the operator's to decide; sharing it, remembering and handing over never are.
  if (operation === 'store_transcript' && basis) return { reason: 'operator_grant', basis }
  if (!interactive) return { reason: 'non_interactive_default_denied' }
  const isGiven = Object.hasOwn(consent, operation) && consent[operation] === true
  return { reason: isGiven ? 'explicit_consent' : 'explicit_consent_missing' }
}
