// What is known about a decision link: which question it is about, whose decision it is, and whether it was made.
import * as z from 'zod'
import type { JsonObject, TtlStore } from '../../../src/contract/index.ts'
import { sha256Hex } from '../../../src/lib/index.ts'
import { decisionFamily } from '../deliver/links.ts'
import { mailSubject } from '../wire/address.ts'

const decidedFamily = 'mail-decided'
const rememberedMs = 30 * 24 * 60 * 60 * 1000

const noteSchema = z.object({
  code: z.string().regex(/^[0-9a-f]{6,36}$/i),
  summary: z.string(),
  expires_at: z.string().nullable(),
  agent: z.string(),
  thread_id: z.string(),
  thread: z.string(),
  reply_to: z.record(z.string(), z.json()),
  address: z.string(),
  name: z.string(),
  by: z.string(),
})

export type DecisionNote = z.infer<typeof noteSchema>
export type Decision = 'approve' | 'reject'

export type FoundLink =
  | { readonly kind: 'open'; readonly key: string; readonly note: DecisionNote }
  | { readonly kind: 'used'; readonly decision: string }
  | { readonly kind: 'expired' | 'unknown' }

const tokenPattern = /^[a-z2-7]{40}$/

/** Changes nothing. What is stored is the hash of a token, so no row gives a link away. */
export async function findDecisionLink(notes: TtlStore, token: string, now: number): Promise<FoundLink> {
  if (!tokenPattern.test(token)) return { kind: 'unknown' }
  const key = await sha256Hex(token)
  const decided = await notes.read(decidedFamily, key)
  if (decided !== undefined) return { kind: 'used', decision: String(decided['decision']) }
  const parsed = noteSchema.safeParse(await notes.read(decisionFamily, key))
  if (!parsed.success) return { kind: 'unknown' }
  const note = parsed.data
  const isOver = note.expires_at !== null && Date.parse(note.expires_at) <= now
  return isOver ? { kind: 'expired' } : { kind: 'open', key, note }
}

/** After the decision is stored: from now on the link says that it was used. */
export async function markLinkUsed(notes: TtlStore, key: string, decision: Decision, address: string): Promise<void> {
  const value: JsonObject = { decision }
  const note = { family: decidedFamily, key, value, lifeMs: rememberedMs, isOnce: true, subject: mailSubject(address) }
  await notes.keep(note)
}
