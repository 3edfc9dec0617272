// Settings of one connection: their problems in words, and the reply policy in rooms.
import * as z from 'zod'
import { strangerProblems } from '../contract/access.ts'
import type { ConnectionConfig, ReplyMode } from '../contract/index.ts'
import { maxAmbientMessages, type ReplyPolicy } from '../identity/reply-policy.ts'

const consentSchema = z.strictObject({ storeTranscript: z.string().trim().min(1).max(500) }).optional()

export function consentProblems({ id, consent }: ConnectionConfig): readonly string[] {
  if (consentSchema.safeParse(consent).success) return []
  return [`connection "${id}": consent must be { storeTranscript: 'the ground, in words for people' } and nothing else`]
}

const maxReplyParts = 100

export function connectionLimitProblems({ id, strangers, replyParts }: ConnectionConfig): readonly string[] {
  const problems = strangerProblems(strangers)
  const isCount =
    replyParts === undefined || (Number.isInteger(replyParts) && replyParts >= 1 && replyParts <= maxReplyParts)
  const parts = isCount ? [] : [`replyParts must be a whole number from 1 to ${maxReplyParts}`]
  return [...problems, ...parts].map((problem) => `connection "${id}": ${problem}`)
}

const modes = ['always', 'mention', 'thread', 'ambient'] as const
const modeSchema = z.enum(modes, `must be one of ${modes.join(', ')}`)

const integerUpToSchema = (most: number) =>
  z.number().int().min(1).max(most, `must be ${most} or less; false keeps nothing`)

const memorySchema = z.strictObject({
  messages: integerUpToSchema(maxAmbientMessages).default(20),
  minutes: integerUpToSchema(7 * 24 * 60).default(60),
  bytes: integerUpToSchema(256 * 1024).default(16 * 1024),
})

const replyPolicySchema = z.strictObject({
  mode: modeSchema.optional(),
  rooms: z.record(z.string().min(1), modeSchema).default({}),
  ambientContext: z
    .union([z.literal(false), memorySchema], 'must be false, or how much: messages, minutes, bytes')
    .default(() => memorySchema.parse({})),
})

export function readReplyPolicy(
  { id, replyPolicy }: Pick<ConnectionConfig, 'id' | 'replyPolicy'>,
  problems: string[],
  usual: ReplyMode = 'mention',
): ReplyPolicy {
  const parsed = replyPolicySchema.safeParse(
    typeof replyPolicy === 'string' ? { mode: replyPolicy } : (replyPolicy ?? {}),
  )
  for (const { path, message } of parsed.error?.issues ?? [])
    problems.push(`connection "${id}": ${['replyPolicy', ...path].join('.')}: ${message}`)
  const { mode, rooms, ambientContext } = parsed.data ?? replyPolicySchema.parse({})
  return {
    mode: mode ?? usual,
    rooms: new Map(Object.entries(rooms)),
    ambientContext: ambientContext === false ? null : ambientContext,
  }
}
