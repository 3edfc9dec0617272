// Sender: the compact view (auth_method, verified) and the evidence it rests on.
import * as z from 'zod'
import { GatewayError } from '../lib/errors.ts'
import { formatAddress } from './address.ts'
import { type IdentityEvidence, identityEvidenceSchema } from './evidence.ts'

/** Presentation only. Authorization never reads a profile. */
const senderProfileSchema = z.object({
  display_name: z.string().optional(),
  username: z.string().optional(),
  url: z.string().optional(),
  avatar: z
    .object({
      url: z.string(),
      mime_type: z.string().optional(),
      width: z.number().optional(),
      height: z.number().optional(),
    })
    .optional(),
  locale: z.string().optional(),
  timezone: z.string().optional(),
  provider: z.string().optional(),
  provider_subject: z.string().optional(),
  fetched_at: z.string().optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
})

const facts = {
  address: z.string(),
  display_name: z.string().optional(),
  profile: senderProfileSchema.optional(),
  auth_method: z.string().min(1),
  key_id: z.string().optional(),
  /** Codes of evidence that came along and was not believed. */
  dropped_evidence: z.array(z.string()).max(16).optional(),
}

// The brand keeps the claim from being written down by hand: `verifiedSender` and this schema are the two ways to it.
const verifiedSenderSchema = z
  .object({ ...facts, verified: z.literal(true), identities: z.array(identityEvidenceSchema).min(1) })
  .brand<'verified-sender'>()

const unverifiedSenderSchema = z.object({
  ...facts,
  verified: z.literal(false),
  identities: z.array(identityEvidenceSchema).optional(),
})

export const senderSchema = z.discriminatedUnion('verified', [verifiedSenderSchema, unverifiedSenderSchema])

/** Presentation facts about a sender. */
export type SenderProfile = z.infer<typeof senderProfileSchema>
/** A sender about whom this gateway proved something: there is no such sender without evidence. */
export type VerifiedSender = z.infer<typeof verifiedSenderSchema>
/** A sender about whom nothing was proven by the transport itself. */
export type UnverifiedSender = z.infer<typeof unverifiedSenderSchema>
/** Who a message claims to be from, and what was proven about it. */
export type Sender = VerifiedSender | UnverifiedSender

/** All that policy may see of a sender: names, addresses and profiles are presentation, and reading them does not compile. */
export type PolicySender = {
  readonly verified: boolean
  readonly identities?: readonly IdentityEvidence[] | undefined
}

/** How a sender is shown. None of it grants access. */
export type SenderPresentation = Pick<UnverifiedSender, 'display_name' | 'profile'>

/**
 * The only way an adapter says `verified`: the evidence comes first, what is shown comes second.
 *
 * @example verifiedSender([evidence], { address: '42@pigeon.example', auth_method: 'pigeon-signature', display_name: 'Ada' })
 */
export function verifiedSender(
  evidence: readonly [IdentityEvidence, ...IdentityEvidence[]],
  shown: SenderPresentation & Pick<UnverifiedSender, 'address' | 'auth_method' | 'key_id' | 'dropped_evidence'>,
): VerifiedSender {
  if (evidence.length === 0 || shown.auth_method === 'none') {
    throw new GatewayError('bad_request', 'a verified sender needs evidence and the method by which it was proven')
  }
  // The brand exists for the compiler only; this function is what it stands for.
  return { ...shown, verified: true, identities: [...evidence] } as VerifiedSender
}

/** A sender that could not be authenticated. What the sender claims to be stays in `raw`. */
export function unverifiedSender(domain: string, shown: SenderPresentation = {}): UnverifiedSender {
  return { ...shown, address: formatAddress({ local: 'unverified', domain }), auth_method: 'none', verified: false }
}

// The group of a sender, where a limit counts strangers together: a mail domain, a fediverse server, a workspace, an issuer of
// tokens.

/** Second-level labels under which registries of two-letter domains sell names (`co.uk`, `com.au`). */
const registryLabels: ReadonlySet<string> = new Set([
  'ac',
  'co',
  'com',
  'ed',
  'edu',
  'gen',
  'go',
  'gob',
  'gov',
  'govt',
  'gv',
  'id',
  'idv',
  'ind',
  'info',
  'int',
  'k12',
  'ltd',
  'me',
  'mil',
  'ne',
  'net',
  'nhs',
  'nom',
  'or',
  'org',
  'plc',
  'pub',
  'res',
  'sch',
  'web',
])

/** Undefined where the subject names no group: such people are counted one by one. */
export function senderDomainOrSpace(subject: string): string | undefined {
  if (subject.startsWith('mailto:')) return registrableDomain(subject.slice(subject.lastIndexOf('@') + 1))
  const { hostname = '' } = /^https?:/i.test(subject) ? (URL.parse(subject) ?? {}) : {}
  if (hostname !== '') return registrableDomain(hostname)
  const end = Math.max(subject.lastIndexOf('/'), subject.lastIndexOf('#'))
  return end > 0 ? subject.slice(0, end) : undefined
}

/**
 * The part of a domain that is bought: who owns it makes as many names below it as they like. Near enough without the list of public
 * suffixes, since only strangers are counted by it.
 */
export function registrableDomain(host: string): string {
  const name = host.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (/^[\d.]+$/.test(name) || name.includes(':')) return name
  const [second = '', top = ''] = labels.slice(-2)
  return labels.slice(top.length === 2 && registryLabels.has(second) ? -3 : -2).join('.')
}
