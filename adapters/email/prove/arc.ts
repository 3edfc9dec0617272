// ARC (RFC 8617): what relays that changed a mail say of how it reached them. Only relays that the operator named are heard, and
// only where every one of the chain is such a relay.
import { sha256Hex } from '../../../src/lib/index.ts'
import type { Resolve } from '../dns/resolver.ts'
import type { ArcTag, CheckedArc, CheckedMail, MailChecks } from './library.ts'
import { plainReason, readDkimSignature, type Signature } from './signatures.ts'

export type ArcChain =
  /** `signatures`: hashes of those of all its relays: without the last of them it is a chain, too. */
  | {
      readonly kind: 'vouched'
      readonly signature: Signature
      readonly signatures: readonly string[]
      readonly reason: string
    }
  | { readonly kind: 'silent'; readonly reason: string | undefined }

export async function readArcChain(
  library: MailChecks,
  checked: CheckedMail,
  {
    resolve,
    sealers,
    authorDomain,
    now,
  }: { resolve: Resolve; sealers: ReadonlySet<string>; authorDomain: string; now: number },
): Promise<ArcChain> {
  if (sealers.size === 0) return { kind: 'silent', reason: undefined }
  const chain = checked.arc?.chain || []
  const by = chain.map((set) => String(set['arc-seal']?.parsed?.['d']?.value ?? '').toLowerCase())
  // Without blanks, and as the seals cover them.
  const texts = chain.map((set) => String(set['arc-message-signature']?.parsed?.['b']?.value ?? ''))
  // The first relay saw the mail as its author sent it; all of them have sealed what it said. Read before the seals are checked:
  // the library rewrites it then.
  const isPassRecorded = recordsDmarcPass(chain[0]?.['arc-authentication-results']?.parsed?.['dmarc'], authorDomain)
  const arc = await library.checkArc(checked.arc, { resolver: resolve, strict: true })
  if (arc.status.result === 'none') return { kind: 'silent', reason: undefined }
  if (arc.status.result !== 'pass')
    return { kind: 'silent', reason: `arc=fail ${plainReason(arc.status.comment ?? '')}`.trim() }
  if (by.length === 0 || !by.every((domain) => sealers.has(domain)))
    return { kind: 'silent', reason: 'arc=pass sealer_not_trusted' }
  if (!isPassRecorded) return { kind: 'silent', reason: 'arc=pass no_dmarc_pass_recorded' }
  const signature = newestArcSignature(arc, now)
  if (signature === undefined) return { kind: 'silent', reason: 'arc=pass signature_not_whole' }
  const signatures = await Promise.all(texts.map(async (text) => `arc ${await sha256Hex(text)}`))
  return { kind: 'vouched', signature, signatures, reason: `arc=pass sealer=${by.map(plainReason).join(',')}` }
}

function newestArcSignature({ signature }: CheckedArc, now: number): Signature | undefined {
  if (signature === undefined || signature === false) return undefined
  const read = readDkimSignature(signature, now)
  return read.result === 'pass' && !read.isCut ? read : undefined
}

/** `dmarc=pass header.from=` the author's domain, said once: where it is said twice there is no one tag. */
function recordsDmarcPass(verdict: ArcTag | undefined, authorDomain: string): boolean {
  return verdict?.value === 'pass' && String(verdict.header?.from ?? '').toLowerCase() === authorDomain
}
