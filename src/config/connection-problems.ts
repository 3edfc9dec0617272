// What may be wrong with what an operator wrote about one connection, in words.
import * as z from 'zod'
import { type ConnectionConfig, strangerProblems } from '../contract/index.ts'

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
