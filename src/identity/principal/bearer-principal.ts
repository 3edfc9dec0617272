// Who acts when a token speaks: read from the evidence that was made when it was shown, so that a message that waited acts with
// the limits its token had then.
import * as z from 'zod'
import type { IdentityEvidence } from '../../contract/index.ts'
import { audiencePrincipal, tokenPrincipal } from './factories.ts'
import type { ExecutionPrincipal } from './principal.ts'

const claimsSchema = z.object({
  agent: z.string().optional(),
  workspace_id: z.string().optional(),
  client_id: z.string().optional(),
  allowed_capabilities: z.array(z.string()).optional(),
})

/** Undefined: no token speaks here. Ask only of evidence that is accepted. */
export function bearerPrincipal(evidence: IdentityEvidence, agent: string): ExecutionPrincipal | undefined {
  const { proof } = evidence
  if (proof.type !== 'bearer-token' || typeof proof['token_id'] !== 'string') return undefined
  const { workspace_id, client_id, allowed_capabilities } = claimsSchema.parse(evidence.claims ?? {})
  // Ours are issued under a bare domain. Tokens of other issuers come and go; their holder stays the same.
  if (evidence.issuer.includes('://')) return externalTokenPrincipal(evidence, agent, client_id)
  return tokenPrincipal({ id: proof['token_id'], ownerUser: 0 }, agent, {
    request_context: 'rest',
    workspace_id: workspace_id ?? null,
    client_id: client_id ?? null,
    capability_ceiling:
      allowed_capabilities === undefined
        ? null
        : { user_id: 0, allowed_capabilities, denied_capabilities: null, metadata: {} },
  })
}

function externalTokenPrincipal(
  { issuer, subject, method, assurance }: IdentityEvidence,
  agent: string,
  client: string | undefined,
): ExecutionPrincipal {
  const audience = { id: issuer, ownerKey: subject, claims: { issuer, method, assurance } }
  return audiencePrincipal(audience, agent, { request_context: 'rest', client_id: client ?? null })
}

/** True for a token that was made for one agent, when another one is to answer: routed by a mention, or asked by that one. */
export function isForOtherAgent({ proof, claims }: IdentityEvidence, agent: string): boolean {
  if (proof.type !== 'bearer-token') return false
  const meant = claimsSchema.parse(claims ?? {}).agent
  return meant !== undefined && meant !== agent
}
