// One link for each question: unguessable, made anew from the delivery at every try, and known by a note that ends (docs/approvals.md).
import type { Attempt } from '../../../src/contract/index.ts'
import { sha256Hex } from '../../../src/lib/index.ts'
import { base32 } from '../threads/key.ts'
import { mailSubject } from '../wire/address.ts'
import type { MailCall, MailDecision } from '../wire/call.ts'
import type { DeliveryDeps } from './settings.ts'

export const decisionFamily = 'mail-decision'
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
  const { notes, publicUrl, connection } = deps
  const { decided } = call
  const [person] = call.to
  if (notes === undefined || publicUrl === undefined || decided === null || person === undefined) return []
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
    await notes.keep({
      family: decisionFamily,
      key,
      value,
      isOnce: true,
      lifeMs: noteLifeMs(decision, deps.now()),
      subject: mailSubject(person.address),
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

function noteLifeMs({ expires_at }: MailDecision, now: number): number {
  return expires_at === null ? lifeMs : Math.max(0, Date.parse(expires_at) - now) + lifeMs
}
