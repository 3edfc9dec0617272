// Resolves a principal from evidence. A host may replace it; the default makes every external person, and every token, an owner of
// their own.

import * as z from 'zod'
import type { StoredAccess } from '../contract/access.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import type { PolicySender } from '../contract/sender.ts'
import { audiencePrincipal, type ExecutionPrincipal, tokenPrincipal } from './principals.ts'

/** Where the message came in, as the configuration knows it; nothing of it is the sender's to choose. */
export type ResolutionContext = {
  readonly agent: string
  /** Id of the connection. */
  readonly connector: string
  readonly provider: string
  readonly workspace: string
}

/** What a sender has shown that was found to hold, and what an operator said about whose it is. */
export type ProvenSender = {
  readonly evidence: IdentityEvidence
  readonly links: StoredAccess['links']
}

/** `id` names the person everywhere: as owner of runs and sessions, in grants and in the audit log. */
export type ResolvedPrincipal = { readonly id: string; readonly principal: ExecutionPrincipal }

/** Port: a host with accounts of its own maps evidence to its users here. Undefined: unknown there. */
export interface PrincipalResolver {
  resolve(
    sender: PolicySender,
    context: ResolutionContext & ProvenSender,
  ): Promise<ResolvedPrincipal | undefined> | ResolvedPrincipal | undefined
}

export function createEvidenceResolver(): PrincipalResolver {
  return {
    resolve(_sender, { evidence, links, ...context }) {
      const linked = links.find((link) => link.subject === evidence.subject)
      const principal = bearerPrincipal(evidence, context.agent) ?? createExternalPrincipal(evidence, context)
      return { id: linked?.principal ?? evidence.subject, principal }
    },
  }
}

/** Connection ids are slugs, so the first colon ends them: no two people on any two connections share a key. */
export function createExternalPrincipal(evidence: IdentityEvidence, context: ResolutionContext): ExecutionPrincipal {
  const { agent, connector, provider, workspace } = context
  const audience = {
    id: `${provider}:${workspace}`,
    ownerKey: `${connector}:${evidence.subject}`,
    claims: { issuer: evidence.issuer, method: evidence.method, assurance: evidence.assurance },
  }
  return audiencePrincipal(audience, agent, { request_context: 'chat', workspace_id: workspace })
}

// A token acts by the evidence that was made when it was shown, so that a message that waited acts with the limits its token had
// then.

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
export function isTokenForOtherAgent({ proof, claims }: IdentityEvidence, agent: string): boolean {
  if (proof.type !== 'bearer-token') return false
  const meant = claimsSchema.parse(claims ?? {}).agent
  return meant !== undefined && meant !== agent
}
