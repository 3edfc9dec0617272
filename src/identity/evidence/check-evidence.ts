// Structural validation of evidence, with an `EV_` code per problem. What fails here is dropped; the message goes on without it.
import { hasOnlyVisibleCharacters, type IdentityEvidence, identityEvidenceSchema } from '../../contract/index.ts'
import { parseInstant } from './instant.ts'

export type EvidenceCode =
  | 'EV_MALFORMED'
  | 'EV_AUDIENCE'
  | 'EV_TIME_MALFORMED'
  | 'EV_NOT_YET_VALID'
  | 'EV_EXPIRED'
  | 'EV_TTL'
  | 'EV_PROOF_NOT_PORTABLE'
  | 'EV_PROOF_UNKNOWN'
  | 'EV_LIMIT'

export type EvidenceContext = {
  /** The canonical address of the agent the message is for. */
  readonly audience: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** `wire`: another system wrote it and it arrived with a message. */
  readonly origin: 'in-process' | 'wire'
}

export type EvidenceCheck =
  | { readonly ok: true; readonly evidence: IdentityEvidence }
  | { readonly ok: false; readonly code: EvidenceCode }

export const maxEvidenceBytes = 32 * 1024
const maxClaimsBytes = 8 * 1024
const maxClaimsDepth = 6
const skewMs = 60_000
/** Evidence that crosses a boundary lives ten minutes at most. */
const maxLifetimeMs = 600_000

const wordFields = ['subject', 'issuer', 'method', 'assurance'] as const
const timeFields = ['issued_at', 'not_before', 'expires_at'] as const

export function checkEvidence(input: unknown, scene: EvidenceContext): EvidenceCheck {
  const read = readEvidence(input, scene.origin)
  if (!read.ok) return read
  const { evidence } = read
  if (![evidence.audience].flat().includes(scene.audience)) return rejectEvidence('EV_AUDIENCE')
  const code = findEvidenceTimeFault(evidence, scene)
  return code === undefined ? read : rejectEvidence(code)
}

/** The part of the check that needs neither clock nor audience: shape, size, and whether the proof can travel. */
export function readEvidence(input: unknown, origin: EvidenceContext['origin']): EvidenceCheck {
  const size = countJsonBytes(input)
  if (size === undefined || size > maxEvidenceBytes) return rejectEvidence('EV_LIMIT')
  const parsed = identityEvidenceSchema.safeParse(input)
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path[0]
    return rejectEvidence(timeFields.some((name) => name === field) ? 'EV_TIME_MALFORMED' : 'EV_MALFORMED')
  }
  const evidence = parsed.data
  if (!wordFields.every((field) => hasOnlyVisibleCharacters(evidence[field]))) return rejectEvidence('EV_MALFORMED')
  const code = findProofFault(evidence.proof, origin) ?? findClaimsFault(evidence.claims)
  return code === undefined ? { ok: true, evidence } : rejectEvidence(code)
}

function findProofFault(proof: IdentityEvidence['proof'], origin: EvidenceContext['origin']): EvidenceCode | undefined {
  const isProofText = (key: string) => {
    const value: unknown = Object.hasOwn(proof, key) ? (proof as Record<string, unknown>)[key] : undefined
    return typeof value === 'string' && value !== ''
  }
  switch (proof.type) {
    case 'transport':
    case 'bearer-token':
      if (origin === 'wire') return 'EV_PROOF_NOT_PORTABLE'
      return isProofText('verified_by') ? undefined : 'EV_MALFORMED'
    case 'signed-attestation':
      // Ours has given up its value after it was verified; a foreign one has to show it.
      return ['alg', 'kid', origin === 'wire' ? 'value' : 'verified_by'].every(isProofText) ? undefined : 'EV_MALFORMED'
    default:
      return 'EV_PROOF_UNKNOWN'
  }
}

function findClaimsFault(claims: IdentityEvidence['claims']): EvidenceCode | undefined {
  if (claims === undefined) return undefined
  const size = countJsonBytes(claims)
  return size === undefined || size > maxClaimsBytes || isNestedDeeper(claims, maxClaimsDepth) ? 'EV_LIMIT' : undefined
}

function findEvidenceTimeFault(evidence: IdentityEvidence, { now, origin }: EvidenceContext): EvidenceCode | undefined {
  const issued = parseInstant(evidence.issued_at)
  const begins = evidence.not_before === undefined ? issued : parseInstant(evidence.not_before)
  const ends = evidence.expires_at === undefined ? Number.POSITIVE_INFINITY : parseInstant(evidence.expires_at)
  if (issued === undefined || begins === undefined || ends === undefined) return 'EV_TIME_MALFORMED'
  if (ends <= issued) return 'EV_TIME_MALFORMED'
  // Both count: an early not_before must not make tomorrow's evidence valid today.
  if (now + skewMs < Math.max(begins, issued)) return 'EV_NOT_YET_VALID'
  if (now - skewMs >= ends) return 'EV_EXPIRED'
  return origin === 'wire' && ends - issued > maxLifetimeMs ? 'EV_TTL' : undefined
}

/** Undefined for what is no JSON, or too deep to be written as JSON. */
export function countJsonBytes(value: unknown): number | undefined {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? undefined : new TextEncoder().encode(text).length
  } catch {
    return undefined
  }
}

function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isNestedDeeper(inner, levels - 1))
}

function rejectEvidence(code: EvidenceCode): EvidenceCheck {
  return { ok: false, code }
}
