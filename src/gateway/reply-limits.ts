// Between hops 6 and 7: whether a turn may still answer, where a channel limits its answers. Counted before the turn is opened and by
// its first message: a turn that is tried again, or prepared again after a crash, is the same answer.
import { type NormalizedMessage, type ReplyLimit, textOf } from '../contract/index.ts'
import type { CountedReply } from '../identity/limits/reply-limit-store.ts'
import type { Absorbed } from '../sessions/absorb-edits.ts'
import type { HeldLane } from '../sessions/turn-store.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'

type LimitDeps = Pick<GatewayDeps, 'replyLimits' | 'hash' | 'log'>

/** What messages end with that are not answered any more. */
export const replyLimit = 'reply_limit'

export async function mayAnswer(
  deps: LimitDeps,
  { adapter, key }: GatewayConnection,
  lane: HeldLane,
  members: readonly Absorbed[],
): Promise<boolean> {
  const { replyLimits = [] } = adapter.capabilities
  const [first] = members
  const lead = members.at(-1)
  if (replyLimits.length === 0 || first === undefined || lead === undefined) return true
  const { conversationId, agent } = lane
  const { subject, traceId } = lead.row
  const counted = await Promise.all(
    replyLimits.map(async (limit): Promise<CountedReply | undefined> => {
      const common = commonOf(limit.per, lane, lead)
      if (common === undefined) return undefined
      // A hash: nobody is named by a row that only counts.
      return { ...limit, scope: await deps.hash(JSON.stringify([limit.per, limit.perMs, common])) }
    }),
  )
  const limits = counted.filter((each) => each !== undefined)
  const ask = { connection: key, agent, conversationId, inboxId: first.row.id, subject, traceId, limits }
  const reached = limits.length === 0 ? [] : await deps.replyLimits.spend(ask)
  for (const { per, isNews } of reached)
    if (isNews) deps.log.warn('reply_limit_reached', { connection: key, trace: traceId, agent, reason: per })
  return reached.length === 0
}

/** What answers have in common under a limit; undefined where there is no such thing. */
function commonOf(per: ReplyLimit['per'], lane: HeldLane, { row, message }: Absorbed): string | undefined {
  switch (per) {
    case 'thread':
      return lane.conversationId
    case 'sender':
      return row.subject ?? undefined
    case 'domain':
      return row.subject === null ? undefined : domainOf(row.subject)
    case 'words':
      return wordsOf(message)
  }
}

/** The part after the @ of a mail address, or the host of a URL. */
export function domainOf(subject: string): string | undefined {
  if (subject.startsWith('mailto:')) return subject.slice(subject.lastIndexOf('@') + 1).toLowerCase()
  return URL.parse(subject)?.hostname || undefined
}

/** As a person would call two texts the same; white space and case are a machine's doing. */
function wordsOf({ parts }: Pick<NormalizedMessage, 'parts'>): string | undefined {
  const words = textOf(parts).toLowerCase().split(/\s+/).filter(Boolean).join(' ')
  return words === '' ? undefined : words
}
