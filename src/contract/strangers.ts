// What strangers may use of a connection: people whom no operator admitted and who were never answered there. Admitted people are
// counted under none of these.
import * as z from 'zod'
import type { AccessRule } from './access.ts'
import type { RateLimit } from './capabilities.ts'

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

export function strangerProblems(settings: unknown): readonly string[] {
  const issues = strangersSchema.optional().safeParse(settings).error?.issues ?? []
  return issues.map(({ path, message }) => `${['strangers', ...path].join('.')} ${message}`)
}
