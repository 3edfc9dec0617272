// The sender of a message: the holder of a token, this machine's user, or an unverified caller where the connection allows that.
import {
  bearerEvidenceFacts,
  type Connection,
  formatAddress,
  mintEvidence,
  type VerifiedSender,
  verifiedSender,
} from '../../../src/contract/index.ts'
import type { A2aCaller } from '../wire/caller.ts'

type CallerContext = { readonly connection: Connection; readonly recipient: string; readonly receivedAt: string }

export function callerSender({ kind, bearer, subject }: A2aCaller, scene: CallerContext): VerifiedSender {
  const { connection, recipient, receivedAt: issuedAt } = scene
  const bound = { issuer: connection.domain, recipient, issuedAt, subject }
  const address = formatAddress({ local: callerName(kind, bearer), domain: `a2a.${connection.domain}` })
  if (bearer !== undefined) {
    const auth_method = bearer.vouched === undefined ? 'bearer-token' : `a2a-${bearer.vouched.kind}`
    const facts = bearerEvidenceFacts(bearer, { domain: connection.domain, receivedAt: issuedAt })
    const evidence = mintEvidence({ ...facts, recipient, method: `urn:gw:auth:${auth_method}:v0.1` })
    return verifiedSender([evidence], { address, auth_method, key_id: bearer.tokenId })
  }
  if (kind === 'local') {
    const method = 'urn:gw:auth:local-caller:v0.1'
    const evidence = mintEvidence({ ...bound, method, assurance: 'platform' })
    return verifiedSender([evidence], { address, auth_method: 'a2a-local' })
  }
  // What is proven is no more than that an open connection was asked: the weakest class there is.
  const method = 'urn:gw:auth:open-connection:v0.1'
  const evidence = mintEvidence({ ...bound, method, assurance: 'delegated' })
  return verifiedSender([evidence], { address, auth_method: 'a2a-anonymous' })
}

export function callerName(kind: A2aCaller['kind'], bearer: A2aCaller['bearer']): string {
  return bearer === undefined ? kind : (bearer.name ?? `token-${bearer.tokenId}`)
}
