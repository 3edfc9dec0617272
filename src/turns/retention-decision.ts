// Transcript retention: whether a session that begins may be kept, decided once and stored with it.

import type { Db } from '../db/client.ts'
import { listGivenConsents } from '../db/consents.ts'
import type { RetentionDecision } from '../db/turn-rows.ts'
import type { ConsentContext, ConsentPolicy } from '../identity/consent.ts'
import type { IdSource } from '../lib/ids.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { TurnPolicy } from './turn-policy.ts'

type RetentionDeps = {
  readonly db: Db
  readonly consent: ConsentPolicy
  readonly turnPolicy: TurnPolicy
  readonly newId: IdSource
}

export async function decideRetention(
  deps: RetentionDeps,
  at: GatewayConnection,
  { principal, agent }: { readonly principal: string | null; readonly agent: string },
): Promise<RetentionDecision> {
  const context = createConsentContext(at, agent)
  // What the operator grants needs no person's consent; where no person can be asked there is none.
  const isAsked = context.transcriptBasis === undefined && context.interactive && principal !== null
  const consent = isAsked ? await listGivenConsents(deps.db, principal) : {}
  const { allowed, reason, audit_metadata } = deps.consent('store_transcript', { ...context, consent })
  return {
    id: deps.newId(),
    isAllowed: allowed,
    reason,
    audit: audit_metadata,
    expiresInMs: deps.turnPolicy.rotateAfterIdleMs,
  }
}

/** What the connection says about it; a person's own word is added by the caller that knows the person. */
export function createConsentContext(at: GatewayConnection | undefined, agent: string): ConsentContext {
  const basis = at?.transcriptBasis
  return {
    interactive: at?.adapter.capabilities.isInteractive === true,
    consent: {},
    agentId: agent,
    ...(basis === undefined ? {} : { transcriptBasis: basis }),
  }
}
