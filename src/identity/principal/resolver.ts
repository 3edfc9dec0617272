// Hop 6: evidence -> principal. A port; the default makes every external person an owner of their own.
import type { IdentityEvidence, PolicySender } from '../../contract/index.ts'
import { acceptedEvidence } from '../evidence/accepted-evidence.ts'
import { audiencePrincipal } from './factories.ts'
import type { ExecutionPrincipal } from './principal.ts'

/** Where the message came in, as the configuration knows it; nothing of it is the sender's to choose. */
export type ResolutionScene = {
  readonly agent: string
  /** Id of the connection. */
  readonly connector: string
  readonly provider: string
  readonly workspace: string
}

/** Port: a host with accounts of its own maps evidence to its users here. Undefined: nobody we know. */
export interface PrincipalResolver {
  resolve(sender: PolicySender, scene: ResolutionScene): Promise<ExecutionPrincipal | undefined>
}

export function createEvidenceResolver(): PrincipalResolver {
  return {
    async resolve(sender, scene) {
      const [evidence] = acceptedEvidence(sender)
      return evidence === undefined ? undefined : externalPerson(evidence, scene)
    },
  }
}

/** Connection ids are slugs, so the first colon ends them: no two people on any two connections share a key. */
export function externalPerson(evidence: IdentityEvidence, scene: ResolutionScene): ExecutionPrincipal {
  const { agent, connector, provider, workspace } = scene
  const audience = {
    id: `${provider}:${workspace}`,
    ownerKey: `${connector}:${evidence.subject}`,
    claims: { issuer: evidence.issuer, method: evidence.method, assurance: evidence.assurance },
  }
  return audiencePrincipal(audience, agent, { request_context: 'chat', workspace_id: workspace })
}
