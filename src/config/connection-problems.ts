// What may be wrong with what an operator wrote about one connection, in words.
import * as z from 'zod'
import type { ConnectionConfig } from '../contract/index.ts'

const consentSchema = z.strictObject({ storeTranscript: z.string().trim().min(1).max(500) }).optional()

export function consentProblems({ id, consent }: ConnectionConfig): readonly string[] {
  if (consentSchema.safeParse(consent).success) return []
  return [`connection "${id}": consent must be { storeTranscript: 'the ground, in words for people' } and nothing else`]
}
