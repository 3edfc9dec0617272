// Evidence: its validation with an `EV_` code per problem, its strength, and which of it a policy may rest on. What fails here is
// dropped; the message goes on without it.

import { hasSubjectPrefix } from '../contract/access.ts'
import { type IdentityEvidence, identityEvidenceSchema } from '../contract/evidence.ts'
import type { NormalizedMessage } from '../contract/index.ts'
import { type AssuranceClass, assuranceClasses } from '../contract/mint-evidence.ts'
import type { PolicySender } from '../contract/sender.ts'
import { hasOnlyVisibleCharacters } from '../lib/clean-text.ts'

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

const maxEvidenceBytes = 32 * 1024
const maxClaimsBytes = 8 * 1024
const maxClaimsDepth = 6
const skewMs = 60_000
/** Evidence that crosses a boundary lives ten minutes at most. */
const maxLifetimeMs = 600_000

const wordFields = ['subject', 'issuer', 'method', 'assurance'] as const
const timeFields = ['issued_at', 'not_before', 'expires_at'] as const

export function checkEvidence(input: unknown, context: EvidenceContext): EvidenceCheck {
  const read = readEvidence(input, context.origin)
  if (!read.ok) return read
  const { evidence } = read
  if (![evidence.audience].flat().includes(context.audience)) return rejectEvidence('EV_AUDIENCE')
  const code = findEvidenceTimeFault(evidence, context)
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
  for (const field of wordFields) if (!hasOnlyVisibleCharacters(evidence[field])) return rejectEvidence('EV_MALFORMED')
  const code = findProofFault(evidence.proof, origin) ?? findClaimsFault(evidence.claims)
  return code === undefined ? { ok: true, evidence } : rejectEvidence(code)
}

function findProofFault(proof: IdentityEvidence['proof'], origin: EvidenceContext['origin']): EvidenceCode | undefined {
  switch (proof.type) {
    case 'transport':
    case 'bearer-token':
      if (origin === 'wire') return 'EV_PROOF_NOT_PORTABLE'
      return hasProofText(proof, 'verified_by') ? undefined : 'EV_MALFORMED'
    case 'signed-attestation':
      // Ours has given up its value after it was verified; a foreign one has to show it.
      for (const field of ['alg', 'kid', origin === 'wire' ? 'value' : 'verified_by'])
        if (!hasProofText(proof, field)) return 'EV_MALFORMED'
      return undefined
    default:
      return 'EV_PROOF_UNKNOWN'
  }
}

/** A proof of a kind that is known may still lack its fields: the schema lets every kind through. */
function hasProofText(proof: Readonly<Record<string, unknown>>, field: string): boolean {
  const value = Object.hasOwn(proof, field) ? proof[field] : undefined
  return typeof value === 'string' && value !== ''
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
function countJsonBytes(value: unknown): number | undefined {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? undefined : new TextEncoder().encode(text).length
  } catch {
    return undefined
  }
}

function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const inner of Object.values(value)) if (isNestedDeeper(inner, levels - 1)) return true
  return false
}

function rejectEvidence(code: EvidenceCode): EvidenceCheck {
  return { ok: false, code }
}

// Instants are RFC 3339 and nothing that merely resembles it, since two readers must not differ on an expiry.

const instantPattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/** Milliseconds since 1970; undefined for anything but a complete RFC 3339 date and time that exists. */
export function parseInstant(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] = instantPattern.exec(text) ?? []
  if (year === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  // Date.parse would turn the 30th of February into the 2nd of March.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > lastDay) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

// A policy may rest on what this process proved, or verified after an issuer was trusted.

/** The order is the adapter's: its own proof comes first. */
export function filterAcceptedEvidence(sender: PolicySender): readonly IdentityEvidence[] {
  const accepted: IdentityEvidence[] = []
  for (const evidence of sender.identities ?? []) {
    const { proof } = evidence
    if (proof.type === 'transport' || proof.type === 'bearer-token') {
      if (sender.verified) accepted.push(evidence)
      // A value still in place means that it was not verified yet.
    } else if (proof.type === 'signed-attestation' && 'verified_by' in proof && !('value' in proof))
      accepted.push(evidence)
  }
  return accepted
}

// Ranks are an order that policies can compare (docs/identity.md explains them).

/** An unknown class is the weakest of all, so a new word never gives access. */
export function rankAssurance(assurance: string): number {
  return assuranceClasses.indexOf(assurance as AssuranceClass) + 1
}

function isAssuranceClass(text: string): text is AssuranceClass {
  return rankAssurance(text) > 0
}

/**
 * Whether an assurance is as strong as the minimum. False for an unknown minimum: a misspelt demand must not become no demand.
 *
 * @example isAssuranceAtLeast('oauth', 'platform') // true
 */
export function isAssuranceAtLeast(assurance: string, minimum: string): boolean {
  return isAssuranceClass(minimum) && rankAssurance(assurance) >= rankAssurance(minimum)
}

// For agents that decide by themselves: is there evidence of this kind behind a message?

export type IdentityQuestion = {
  readonly method: string
  /** The least that will do. */
  readonly assurance?: string
  readonly subject?: string
  /** Ends in `/`, `:` or `#`; any other prefix matches no sender. */
  readonly subjectPrefix?: string
  readonly issuer?: string
}

/**
 * The evidence that answers the question, or undefined. Reads no name, address, profile or channel.
 *
 * @example
 * if (findIdentityEvidence(message, { subjectPrefix: 'slack:T0123/', assurance: 'platform' }) === undefined) return 'Only for our team.'
 */
export function findIdentityEvidence(
  message: { readonly sender: PolicySender },
  question: IdentityQuestion,
): IdentityEvidence | undefined {
  const { method, assurance, subject, subjectPrefix, issuer } = question
  return filterAcceptedEvidence(message.sender).find(
    (evidence) =>
      evidence.method === method &&
      (assurance === undefined || isAssuranceAtLeast(evidence.assurance, assurance)) &&
      (subject === undefined || evidence.subject === subject) &&
      (subjectPrefix === undefined || hasSubjectPrefix(evidence.subject, subjectPrefix)) &&
      (issuer === undefined || evidence.issuer === issuer),
  )
}

// Evidence that came with a message: bounded before anything is read in it, and dropped one by one, never with the message.

/** An entry that was left out: its place in the list and why. Safe to log and to show. */
export type DroppedEvidence<Code extends string = EvidenceCode> = { readonly index: number; readonly code: Code }

export type BoundedEvidence = {
  readonly kept: readonly { readonly index: number; readonly input: unknown }[]
  readonly dropped: readonly DroppedEvidence[]
}

const maxEvidences = 4
const maxBytesTogether = 64 * 1024

/** At most four, 32 KiB each, 64 KiB together; what is beyond a limit is dropped as EV_LIMIT. */
export function limitForwardedEvidence(carried: unknown): BoundedEvidence {
  if (carried === undefined || carried === null) return { kept: [], dropped: [] }
  if (!Array.isArray(carried)) return { kept: [], dropped: [{ index: 0, code: 'EV_MALFORMED' }] }
  const kept: { readonly index: number; readonly input: unknown }[] = []
  const dropped: DroppedEvidence[] = []
  let total = 0
  // A thousandth entry is not worth a line of its own: what is told stays bounded as well.
  for (const [index, input] of carried.slice(0, maxEvidences * 2).entries()) {
    const bytes = kept.length < maxEvidences ? countJsonBytes(input) : undefined
    const fits = bytes !== undefined && bytes <= maxEvidenceBytes && total + bytes <= maxBytesTogether
    if (fits) {
      kept.push({ index, input })
      total += bytes
    } else dropped.push({ index, code: 'EV_LIMIT' })
  }
  return { kept, dropped }
}

// Where several agents share an account, the one that takes a message is known only after the message and its evidence were
// stored.

type AddressedMessage = Pick<NormalizedMessage, 'recipient' | 'sender'>

/**
 * `recipient` and the audience of what this gateway proved itself name the agent afterwards. What another gateway signed keeps
 * the audience it was signed for: it is worth nothing to any other recipient.
 */
export function readdressMessage<Message extends AddressedMessage>(message: Message, address: string): Message {
  const { recipient, sender } = message
  if (recipient === address) return message
  const { identities } = sender
  if (identities === undefined) return { ...message, recipient: address }
  const readdressed = identities.map((evidence) =>
    isProvenByGateway(evidence) ? readdressEvidence(evidence, recipient, address) : evidence,
  )
  return { ...message, recipient: address, sender: { ...sender, identities: readdressed } }
}

function isProvenByGateway({ proof }: IdentityEvidence): boolean {
  return proof.type === 'transport' || proof.type === 'bearer-token'
}

function readdressEvidence(evidence: IdentityEvidence, from: string, to: string): IdentityEvidence {
  const { audience } = evidence
  if (typeof audience === 'string') return audience === from ? { ...evidence, audience: to } : evidence
  return { ...evidence, audience: audience.map((each) => (each === from ? to : each)) }
}

// For whom a caller acts. Trusted only where the proof covers the list, and never turned into a subject.

/** Nearest first; empty when the proof says nothing about it. */
export function listOnBehalfOfSubjects({ on_behalf_of = [], proof }: IdentityEvidence): readonly string[] {
  // A transport proves who delivered, not what the deliverer says about others.
  return proof.type === 'bearer-token' || proof.type === 'signed-attestation' ? on_behalf_of : []
}
