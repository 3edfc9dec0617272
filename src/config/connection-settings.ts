// Settings of one connection: their problems in words, and the reply policy in rooms.
import { strangerSettingsProblems } from '../contract/access.ts'
import { type ConnectionConfig, consentSchema, type ReplyMode, replyPolicySchema } from '../contract/channel.ts'
import type { ReplyPolicy } from '../identity/reply-policy.ts'

export function consentProblems({ id, consent }: ConnectionConfig): readonly string[] {
  if (consentSchema.optional().safeParse(consent).success) return []
  return [`connection "${id}": consent must be { storeTranscript: 'the ground, in words for people' } and nothing else`]
}

const maxReplyParts = 100

export function connectionLimitProblems({ id, strangers, replyParts }: ConnectionConfig): readonly string[] {
  const problems = strangerSettingsProblems(strangers)
  const isCount =
    replyParts === undefined || (Number.isInteger(replyParts) && replyParts >= 1 && replyParts <= maxReplyParts)
  const parts = isCount ? [] : [`replyParts must be a whole number from 1 to ${maxReplyParts}`]
  return [...problems, ...parts].map((problem) => `connection "${id}": ${problem}`)
}

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
