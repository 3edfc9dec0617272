// Access settings: who may write to a connection or speak to an agent, the one schema of `access`, and what strangers may use.
import * as z from 'zod'
import { hasOnlyVisibleCharacters } from '../lib/clean-text.ts'
import type { RateLimit } from './capabilities.ts'
import { assuranceClasses } from './mint-evidence.ts'

// Prefixes of subjects end where a name ends: `space:T1` would also take in `space:T12/…`, `space:T1/` does not.

const delimiters: ReadonlySet<string> = new Set(['/', ':', '#'])

function endsInDelimiter(prefix: string): boolean {
  return delimiters.has(prefix.at(-1) ?? '')
}

/** False for a prefix that does not end in a delimiter. */
export function hasSubjectPrefix(subject: string, prefix: string): boolean {
  return endsInDelimiter(prefix) && subject.startsWith(prefix)
}

// Words of a configuration that evidence is compared with must be seen as they are, and match no more than they seem to.

export const wordSchema = z
  .string()
  .min(1)
  .max(512)
  .refine(hasOnlyVisibleCharacters, 'must not hold blanks at its ends or invisible characters')

export const delimitedPrefixSchema = wordSchema.refine(
  endsInDelimiter,
  'must end in "/", ":" or "#", or it would also take in longer names; add the delimiter',
)

const accessModes = ['public', 'allow_list', 'pairing', 'closed'] as const

const conditions = {
  /** Told when the rule decides; its place in the list when left out. */
  id: wordSchema.optional(),
  subject: wordSchema.optional(),
  subject_prefix: delimitedPrefixSchema.optional(),
  issuer: wordSchema.optional(),
  method: wordSchema.optional(),
}

/** One rule on evidence: all its conditions must hold. Strict, so that a rule that is wider than it looks stops the start. */
const accessEntrySchema = z
  .discriminatedUnion('effect', [
    z.strictObject({ effect: z.literal('allow'), ...conditions, min_assurance: z.enum(assuranceClasses).optional() }),
    // No minimum here: weaker evidence would slip past the denial.
    z.strictObject({ effect: z.literal('deny'), ...conditions }),
  ])
  .refine((rule) => rule.subject === undefined || rule.subject_prefix === undefined, {
    path: ['subject_prefix'],
    message: 'cannot stand beside subject; write two rules',
  })
  .refine(({ effect: _effect, id: _id, ...rest }) => Object.values(rest).some((value) => value !== undefined), {
    message: 'needs a condition; to let every sender in, say visibility: public',
  })

export const accessEntriesSchema = z.array(accessEntrySchema, 'must be a list of rules').max(100_000).readonly()

export const accessSchema = z.strictObject(
  {
    mode: z.enum(accessModes, `must be one of ${accessModes.join(', ')}`),
    /** Subjects that are let in where access is limited. */
    allow: z.array(z.string('must be a subject'), 'must be a list of subjects').readonly().optional(),
    /** The same, and no, in terms of evidence. A denial wins over everything. */
    rules: accessEntriesSchema.optional(),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has unknown keys: ${(issue['keys'] as readonly string[]).join(', ')}; known are mode, allow and rules`
        : "must be an object such as { mode: 'public' }",
  },
)

/**
 * Who may write to a connection or speak to an agent (docs/identity.md).
 *
 * @example { mode: 'allow_list', allow: ['telegram:42'] }
 */
export type AccessRule = z.infer<typeof accessSchema>
export type AccessEntry = z.infer<typeof accessEntrySchema>

/** Everything that is wrong with it, by the place it is wrong at. */
export function accessProblems(access: unknown): readonly string[] {
  const issues = accessSchema.safeParse(access).error?.issues ?? []
  return issues.map(({ path, message }) => `${['access', ...path].join('.')} ${message}`)
}

// Strangers are people whom no operator admitted and who were never answered there. Admitted people are counted under none of
// these limits.

const rate = z.union([
  z.strictObject({
    count: z.int().min(1).max(1_000_000),
    perMs: z
      .int()
      .min(1000)
      .max(24 * 60 * 60_000),
  }),
  z.literal('unlimited'),
])

const strangersSchema = z.strictObject({
  pairings: z.int().min(0).max(5000).optional(),
  pairingsPerGroup: z.int().min(0).max(5000).optional(),
  noticesPerHour: z.int().min(0).max(100_000).optional(),
  messages: rate.optional(),
  messagesPerSender: rate.optional(),
  messagesPerDay: z.int().min(0).optional(),
  receivedBytesPerDay: z.int().min(0).optional(),
  storedBytesPerDay: z.int().min(0).optional(),
})

/**
 * What an operator may set of it.
 *
 * @example { pairings: 100, pairingsPerGroup: 10, messages: { count: 60, perMs: 60_000 } }
 */
export type StrangerSettings = z.infer<typeof strangersSchema>

export type StrangerLimits = {
  /** Pairings that may wait at once, on the connection and of one domain, workspace or issuer. */
  readonly pairings: number
  readonly pairingsPerGroup: number
  /** Codes and refusals that may be sent to strangers within an hour. */
  readonly noticesPerHour: number
  /** Messages that are taken from all strangers together, and from each. Undefined: as many as come. */
  readonly messages: RateLimit | undefined
  readonly messagesPerSender: RateLimit | undefined
} & DayShare

/**
 * What those who are not admitted may send in a day (UTC) where any server can send: in all, in bytes as they came, and in bytes as they
 * are kept. Counted by all replicas together.
 */
export type DayShare = {
  readonly messagesPerDay: number
  readonly receivedBytesPerDay: number
  readonly storedBytesPerDay: number
}

const minuteMs = 60_000

/** Where all people may write, no sender is kept waiting by default; where strangers wait for an operator, few are worth reading. */
export function strangerLimits(settings: StrangerSettings | undefined, { mode }: AccessRule): StrangerLimits {
  const isOpen = mode === 'public'
  const { messages, messagesPerSender } = settings ?? {}
  return {
    pairings: settings?.pairings ?? 250,
    pairingsPerGroup: settings?.pairingsPerGroup ?? 25,
    noticesPerHour: settings?.noticesPerHour ?? 60,
    messages: resolveRateLimit(messages, isOpen ? undefined : { count: 300, perMs: minuteMs }),
    messagesPerDay: settings?.messagesPerDay ?? 2_000,
    receivedBytesPerDay: settings?.receivedBytesPerDay ?? 1024 * 1024 * 1024,
    storedBytesPerDay: settings?.storedBytesPerDay ?? 16 * 1024 * 1024,
    messagesPerSender: resolveRateLimit(messagesPerSender, isOpen ? undefined : { count: 30, perMs: minuteMs }),
  }
}

function resolveRateLimit(
  set: RateLimit | 'unlimited' | undefined,
  otherwise: RateLimit | undefined,
): RateLimit | undefined {
  return set === 'unlimited' ? undefined : (set ?? otherwise)
}

export function strangerSettingsProblems(settings: unknown): readonly string[] {
  const issues = strangersSchema.optional().safeParse(settings).error?.issues ?? []
  return issues.map(({ path, message }) => `${['strangers', ...path].join('.')} ${message}`)
}

// What is stored about a sender besides the configuration, as it stood when the message was read for a decision.

export type StoredGrant = {
  readonly id: string
  readonly subject: string
  readonly effect: 'allow' | 'deny'
  /** What an allowed person may be; null: they may speak. */
  readonly role: 'viewer' | 'operator' | 'admin' | null
  /** Null: everywhere. */
  readonly connection: string | null
  readonly agent: string | null
  readonly workspaceId: string | null
}

/** A pairing that is not decided yet, on the connection of the message. */
export type OpenPairing = {
  readonly id: string
  readonly code: string
  readonly subject: string
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  /** Messages that wait for it. */
  readonly held: number
}

export type StoredAccess = {
  readonly grants: readonly StoredGrant[]
  /** A sender who proves `subject` is `principal`, because an operator said so. */
  readonly links: readonly { readonly subject: string; readonly principal: string }[]
  readonly pairings: readonly OpenPairing[]
  /** How often the sender, and how often all senders together, were told in this conversation that they have no access, within the hour. */
  readonly told: number
  readonly toldAll: number
}

export const noStoredAccess: StoredAccess = { grants: [], links: [], pairings: [], told: 0, toldAll: 0 }
