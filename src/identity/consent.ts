// Consent: each operation is decided on its own, and the decision is stored beside the act.
import type { Adapter } from '../contract/index.ts'
import type { Fields } from '../lib/index.ts'

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

export const decideConsent: ConsentPolicy = (operation, { interactive, consent, transcriptBasis, ...about }) => {
  // Keeping what was said is the operator's to decide; sharing it, remembering and handing over never are.
  const basis = operation === 'store_transcript' ? transcriptBasis?.trim() || undefined : undefined
  const isGiven = Object.hasOwn(consent, operation) && consent[operation] === true
  const asked = isGiven ? 'explicit_consent' : 'explicit_consent_missing'
  const reason = basis !== undefined ? 'operator_grant' : interactive ? asked : 'non_interactive_default_denied'
  return {
    operation,
    allowed: reason === 'explicit_consent' || reason === 'operator_grant',
    reason,
    audit_metadata: {
      policy: 'default',
      operation,
      interactive,
      mode: about.mode ?? null,
      agent_id: about.agentId ?? null,
      user_id: about.userId ?? null,
      ...(basis === undefined ? {} : { basis }),
    },
  }
}

type ConsentConnection = { readonly adapter: Pick<Adapter, 'capabilities'>; readonly transcriptBasis?: string }

/** What the connection says about it; a person's own word is added by the caller that knows the person. */
export function createConsentContext(at: ConsentConnection | undefined, agent: string): ConsentContext {
  const basis = at?.transcriptBasis
  return {
    interactive: at?.adapter.capabilities.isInteractive === true,
    consent: {},
    agentId: agent,
    ...(basis === undefined ? {} : { transcriptBasis: basis }),
  }
}
