// Which other gateways this one trusts, for what. Read once, refused as a whole when an entry is wider than it looks.
import * as z from 'zod'
import { delimitedPrefixSchema, GatewayError, type IdentityEvidence, wordSchema } from '../../contract/index.ts'
import { parseInstant } from '../evidence/instant.ts'

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
export type TrustCode = 'TR_UNTRUSTED_ISSUER' | 'TR_METHOD' | 'TR_ASSURANCE' | 'TR_SUBJECT'

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
export function checkTrust(issuers: TrustedIssuers, evidence: IdentityEvidence, now: number): TrustResult {
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
