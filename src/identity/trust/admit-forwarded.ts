// Evidence from another gateway: trust first, then shape and time, then the signature. What fails is dropped with its code.
import type { IdentityEvidence } from '../../contract/index.ts'
import {
  checkEvidence,
  type EvidenceCheck,
  type EvidenceCode,
  type EvidenceContext,
  readEvidence,
} from '../evidence/check-evidence.ts'
import { type DroppedEvidence, limitForwardedEvidence } from '../evidence/forwarded-evidence.ts'
import { parseInstant } from '../evidence/instant.ts'
import { checkTrust, type TrustCode, type TrustedIssuer, type TrustedIssuers } from './trusted-issuers.ts'

/** `EV_SIG_INVALID` and its relatives, `EV_REPLAY`, `EV_BINDING`: the port knows the signature profile. */
export type SignatureCode = `EV_SIG_${string}` | 'EV_REPLAY' | 'EV_BINDING'
export type ForwardedCode = EvidenceCode | TrustCode | SignatureCode

/** Port: checks the signature over the evidence as it came, with the keys of an issuer that is already trusted. */
export interface AttestationVerifier {
  verify(
    carried: unknown,
    by: { readonly issuer: TrustedIssuer; readonly audience: string; readonly messageId: string },
  ): Promise<SignatureCode | undefined>
}

export type ForwardedDeps = {
  /** Asked for every message, so that a removed issuer is gone at the next one. */
  readonly issuers: () => TrustedIssuers
  readonly attestations: AttestationVerifier
  readonly now: () => number
}

export type AdmittedEvidence = {
  readonly admitted: readonly IdentityEvidence[]
  readonly dropped: readonly DroppedEvidence<ForwardedCode>[]
}

/** Never throws and never refuses the message: it goes on with the identities that could be verified. */
export async function admitForwarded(
  deps: ForwardedDeps,
  carried: unknown,
  message: { readonly audience: string; readonly messageId: string },
): Promise<AdmittedEvidence> {
  const { kept, dropped } = limitForwardedEvidence(carried)
  const admitted: IdentityEvidence[] = []
  const left: DroppedEvidence<ForwardedCode>[] = [...dropped]
  for (const { index, input } of kept) {
    const outcome = await admitForwardedEvidence(deps, input, message)
    if (typeof outcome === 'string') left.push({ index, code: outcome })
    else admitted.push(outcome)
  }
  return { admitted, dropped: left.toSorted((one, other) => one.index - other.index) }
}

async function admitForwardedEvidence(
  { issuers, attestations, now }: ForwardedDeps,
  carried: unknown,
  { audience, messageId }: { readonly audience: string; readonly messageId: string },
): Promise<IdentityEvidence | ForwardedCode> {
  const read = readEvidence(carried, 'wire')
  if (!read.ok) return read.code
  const judgement = checkTrust(issuers(), read.evidence, now())
  if (judgement.trusted === undefined) return judgement.code
  const scene: EvidenceContext = { audience, now: now(), origin: 'wire' }
  const checked = checkEvidence(carried, scene)
  if (!checked.ok) return checked.code
  let code: ForwardedCode = 'TR_UNTRUSTED_ISSUER'
  for (const issuer of judgement.trusted) {
    const fault = exceedsMaxTtl(checked.evidence, issuer)
      ? 'EV_TTL'
      : ((await findSignatureFault(attestations, carried, { issuer, audience, messageId })) ??
        // The look-up may have taken its time: what expired meanwhile is expired.
        evidenceFault(checkEvidence(carried, { ...scene, now: now() })))
    if (fault === undefined) return stripSignatureAndDelegation(checked.evidence, issuer)
    code = fault
  }
  return code
}

async function findSignatureFault(
  attestations: AttestationVerifier,
  ...[carried, by]: Parameters<AttestationVerifier['verify']>
): Promise<SignatureCode | undefined> {
  try {
    return await attestations.verify(carried, by)
  } catch {
    // A verifier that breaks has verified nothing.
    return 'EV_SIG_UNAVAILABLE'
  }
}

function evidenceFault(check: EvidenceCheck): EvidenceCode | undefined {
  return check.ok ? undefined : check.code
}

function exceedsMaxTtl({ issued_at, expires_at }: IdentityEvidence, { max_ttl_seconds }: TrustedIssuer): boolean {
  if (max_ttl_seconds === undefined) return false
  const lifetimeMs = (parseInstant(expires_at ?? '') ?? Number.POSITIVE_INFINITY) - (parseInstant(issued_at) ?? 0)
  return lifetimeMs > max_ttl_seconds * 1000
}

/** What is kept: no signature to replay, and no delegated authority unless the entry allows to pass it on. */
function stripSignatureAndDelegation(
  evidence: IdentityEvidence,
  { allow_on_behalf_of }: TrustedIssuer,
): IdentityEvidence {
  const { on_behalf_of, proof, ...facts } = evidence
  const { alg, kid } = proof as { readonly alg: string; readonly kid: string }
  return {
    ...facts,
    ...(allow_on_behalf_of === true && on_behalf_of !== undefined ? { on_behalf_of } : {}),
    proof: { type: 'signed-attestation', alg, kid, verified_by: 'parley' },
  }
}
