// What may be wrong with what an operator wrote about one connection or agent, in words.
import * as z from 'zod'
import type { AccessRule, ConnectionConfig } from '../contract/index.ts'
import { readEvidenceRules } from '../identity/access/rules.ts'

/** A rule that is wider than it looks stops the start. */
export function accessProblems(whose: string, access: AccessRule | undefined): readonly string[] {
  if (access?.rules === undefined) return []
  try {
    readEvidenceRules({ visibility: 'restricted', rules: access.rules })
    return []
  } catch (error) {
    return [
      `${whose}: ${error instanceof Error ? error.message.replace('[identity] ', '') : 'access.rules are invalid'}`,
    ]
  }
}

const consentSchema = z.strictObject({ storeTranscript: z.string().trim().min(1).max(500) }).optional()

export function consentProblems({ id, consent }: ConnectionConfig): readonly string[] {
  if (consentSchema.safeParse(consent).success) return []
  return [`connection "${id}": consent must be { storeTranscript: 'the ground, in words for people' } and nothing else`]
}
