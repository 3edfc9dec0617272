// Approval links: one for each question, unguessable, made anew from the delivery at every try, and known by a row that expires
// (docs/approvals.md).

import * as z from 'zod'
import type { Attempt, TtlStore } from '../../../src/contract/index.ts'
import { type JsonObject, sha256Hex } from '../../../src/lib/index.ts'
import type { DeliveryDeps } from '../deliver/settings.ts'
import { base32 } from '../threading.ts'
import { mailtoSubjectOfAddress } from '../wire/address.ts'
import type { MailCall, MailDecision } from '../wire/call.ts'

const decisionFamily = 'mail-decision'
/** Of a question without an end, and how long a link still says that its question is over. */
const lifeMs = 30 * 24 * 60 * 60 * 1000
const tokenLength = 40

export type DecisionLink = MailDecision & { readonly url: string }

/** Where decisions of one connection are taken; the one that the environment sets up has the short name. */
export function decisionPath(connectionId: string): string {
  return connectionId === 'default' ? '/email/decide' : `/email/${encodeURIComponent(connectionId)}/decide`
}

/** None where people could not follow them: without a public address, or with nothing to keep them in. */
export async function createDecisionLinks(
  call: MailCall,
  { clientId }: Pick<Attempt, 'clientId'>,
  deps: DeliveryDeps,
): Promise<readonly DecisionLink[]> {
  const { ttlStore, publicUrl, connection } = deps
  const { decided } = call
  const [person] = call.to
  if (ttlStore === undefined || publicUrl === undefined || decided === null || person === undefined) return []
  const links: DecisionLink[] = []
  for (const decision of call.decisions) {
    const token = await decisionToken(deps, clientId, decision)
    const value = {
      ...decision,
      ...decided,
      address: person.address,
      name: person.name,
      by: call.from.name,
      thread: call.thread,
    }
    const key = await sha256Hex(token)
    await ttlStore.keep({
      family: decisionFamily,
      key,
      value,
      isOnce: true,
      lifeMs: decisionLinkLifeMs(decision, deps.now()),
      subject: mailtoSubjectOfAddress(person.address),
    })
    links.push({ ...decision, url: `${publicUrl}${decisionPath(connection.id)}/${token}` })
  }
  return links
}

/** 200 bits that only this gateway can make; what is kept of them is a hash. */
async function decisionToken(
  { hmac, secret }: DeliveryDeps,
  clientId: string,
  { action_id }: MailDecision,
): Promise<string> {
  const bytes = new TextEncoder().encode(`decide\n${clientId}\n${action_id}`)
  return base32(await hmac.sha256(await secret(), bytes)).slice(0, tokenLength)
}

function decisionLinkLifeMs({ expires_at }: MailDecision, now: number): number {
  return expires_at === null ? lifeMs : Math.max(0, Date.parse(expires_at) - now) + lifeMs
}

// A link's row says which question it is about, whose decision it is, and whether it was made.

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
  const note = {
    family: decidedFamily,
    key,
    value,
    lifeMs: rememberedMs,
    isOnce: true,
    subject: mailtoSubjectOfAddress(address),
  }
  await notes.keep(note)
}
