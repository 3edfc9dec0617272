// Trust in other gateways: which ones for what, and the check of evidence they send: trust first, then shape and time, then the
// signature. What fails is dropped with its code.

import * as z from 'zod'
import { delimitedPrefixSchema, wordSchema } from '../contract/access.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import { GatewayError } from '../lib/errors.ts'
import {
  checkEvidence,
  type DroppedEvidence,
  type EvidenceCheck,
  type EvidenceCode,
  type EvidenceContext,
  limitForwardedEvidence,
  parseInstant,
  readEvidence,
} from './evidence.ts'

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
export async function verifyForwardedEvidence(
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
  const judgement = findTrustedIssuerEntries(issuers(), read.evidence, now())
  if (judgement.trusted === undefined) return judgement.code
  const context: EvidenceContext = { audience, now: now(), origin: 'wire' }
  const checked = checkEvidence(carried, context)
  if (!checked.ok) return checked.code
  let code: ForwardedCode = 'TR_UNTRUSTED_ISSUER'
  for (const issuer of judgement.trusted) {
    const fault = exceedsMaxTtl(checked.evidence, issuer)
      ? 'EV_TTL'
      : ((await findSignatureFault(attestations, carried, { issuer, audience, messageId })) ??
        // The look-up may have taken its time: what expired meanwhile is expired.
        evidenceCheckToFault(checkEvidence(carried, { ...context, now: now() })))
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

function evidenceCheckToFault(check: EvidenceCheck): EvidenceCode | undefined {
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

// Read once, refused as a whole when an entry is wider than it looks.

const exactIssuer = wordSchema.refine(
  (issuer) => !issuer.includes('*'),
  'names one issuer exactly; wildcards are not known',
)

const trustedIssuerSchema = z.strictObject({
  issuer: exactIssuer,
  methods: z.array(wordSchema),
  assurance: z.array(wordSchema),
  subject_prefixes: z.array(delimitedPrefixSchema),
  /** Pinned public keys; without them the keys on the issuer's card count. */
  keys: z.array(z.record(z.string(), z.unknown())).optional(),
  card_url: z.url({ protocol: /^https$/ }).optional(),
  /** Trust ends here, whatever the evidence says about itself. */
  not_after: z
    .string()
    .refine((text) => parseInstant(text) !== undefined, 'must be an RFC 3339 time')
    .optional(),
  max_ttl_seconds: z.number().int().min(1).max(600).optional(),
  allow_on_behalf_of: z.boolean().optional(),
})

export type TrustedIssuer = z.infer<typeof trustedIssuerSchema>
type TrustCode = 'TR_UNTRUSTED_ISSUER' | 'TR_METHOD' | 'TR_ASSURANCE' | 'TR_SUBJECT'

/** Entries by issuer. An issuer may have several; each stands for itself. */
export type TrustedIssuers = ReadonlyMap<string, readonly TrustedIssuer[]>

/** Throws `config_invalid` with every problem; an empty list trusts no issuer. */
export function readTrustedIssuers(input: unknown): TrustedIssuers {
  const parsed = z.array(trustedIssuerSchema).safeParse(input)
  if (parsed.success) return Map.groupBy(parsed.data, (entry) => entry.issuer)
  const problems = parsed.error.issues.map((issue) => `trustedIssuers.${issue.path.join('.')} ${issue.message}`)
  throw new GatewayError('config_invalid', `[identity] ${problems.join('; ')}`)
}

export type TrustResult =
  | { readonly trusted: readonly [TrustedIssuer, ...TrustedIssuer[]] }
  | { readonly trusted: undefined; readonly code: TrustCode }

/** Makes no request: an issuer that is not on the list causes no look-up of any kind. */
function findTrustedIssuerEntries(issuers: TrustedIssuers, evidence: IdentityEvidence, now: number): TrustResult {
  const entries = (issuers.get(evidence.issuer) ?? []).filter((entry) => !hasTrustExpired(entry, now))
  const faults = entries.map((entry) => findTrustFault(entry, evidence))
  const [first, ...others] = entries.filter((_, index) => faults[index] === undefined)
  if (first !== undefined) return { trusted: [first, ...others] }
  // Of several entries the one that came nearest is told: it is the one to correct.
  const nearest = (['TR_SUBJECT', 'TR_ASSURANCE', 'TR_METHOD'] as const).find((code) => faults.includes(code))
  return { trusted: undefined, code: nearest ?? 'TR_UNTRUSTED_ISSUER' }
}

/** One entry is one statement: its methods never go with another entry's prefixes. */
function findTrustFault(entry: TrustedIssuer, { method, assurance, subject }: IdentityEvidence): TrustCode | undefined {
  if (!entry.methods.includes(method)) return 'TR_METHOD'
  if (!entry.assurance.includes(assurance)) return 'TR_ASSURANCE'
  return entry.subject_prefixes.some((prefix) => subject.startsWith(prefix)) ? undefined : 'TR_SUBJECT'
}

function hasTrustExpired({ not_after }: TrustedIssuer, now: number): boolean {
  return not_after !== undefined && now > (parseInstant(not_after) ?? 0)
}

/** Trust without a verifier of signatures would be trust in a name. */
export function readConfiguredTrustedIssuers(
  entries: readonly TrustedIssuer[],
  hasVerifier: boolean,
  problems: string[],
): TrustedIssuers {
  if (entries.length > 0 && !hasVerifier)
    problems.push(
      'trustedIssuers needs ports.attestations, which checks their signatures; set it, or leave trustedIssuers empty',
    )
  try {
    return readTrustedIssuers(entries)
  } catch (error) {
    problems.push(error instanceof Error ? error.message.replace('[identity] ', '') : 'trustedIssuers is invalid')
    return new Map()
  }
}
