// From a bearer to evidence (hop 3): the same facts whichever adapter mints it.
import type { Bearer } from './caller.ts'
import type { ProvenFacts } from './mint-evidence.ts'

/** What `mintEvidence` needs of a bearer; the adapter adds its own name of the method, and for whom it is. */
export function bearerEvidenceFacts(
  { tokenId, subject, claims, vouched }: Bearer,
  here: { readonly domain: string; readonly receivedAt: string },
): Omit<ProvenFacts, 'method' | 'recipient'> {
  const known = { subject, tokenId, claims }
  if (vouched === undefined) return { ...known, issuer: here.domain, assurance: 'oauth', issuedAt: here.receivedAt }
  const { issuer, kind, issuedAt = here.receivedAt, ...more } = vouched
  return { ...known, ...more, issuer, assurance: kind === 'jwt' ? 'agent' : 'oauth', issuedAt }
}
