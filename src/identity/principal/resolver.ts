// Hop 6: evidence -> principal. A port; the default makes every external person, and every token, an owner of their own.
import type { IdentityEvidence, PolicySender, StoredAccess } from '../../contract/index.ts'
import { bearerPrincipal } from './bearer-principal.ts'
import { audiencePrincipal } from './factories.ts'
import type { ExecutionPrincipal } from './principal.ts'

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
    scene: ResolutionContext & ProvenSender,
  ): Promise<ResolvedPrincipal | undefined> | ResolvedPrincipal | undefined
}

export function createEvidenceResolver(): PrincipalResolver {
  return {
    resolve(_sender, { evidence, links, ...scene }) {
      const linked = links.find((link) => link.subject === evidence.subject)
      const principal = bearerPrincipal(evidence, scene.agent) ?? externalPerson(evidence, scene)
      return { id: linked?.principal ?? evidence.subject, principal }
    },
  }
}

/** Connection ids are slugs, so the first colon ends them: no two people on any two connections share a key. */
export function externalPerson(evidence: IdentityEvidence, scene: ResolutionContext): ExecutionPrincipal {
  const { agent, connector, provider, workspace } = scene
  const audience = {
    id: `${provider}:${workspace}`,
    ownerKey: `${connector}:${evidence.subject}`,
    claims: { issuer: evidence.issuer, method: evidence.method, assurance: evidence.assurance },
  }
  return audiencePrincipal(audience, agent, { request_context: 'chat', workspace_id: workspace })
}
