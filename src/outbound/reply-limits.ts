// Reply limits: whether a turn may still answer, where a channel limits its answers. Counted before the turn is opened and by
// its first message: a turn that is tried again, or prepared again after a crash, is the same answer.
import type { ReplyLimit } from '../contract/capabilities.ts'
import { type NormalizedMessage, textOf } from '../contract/index.ts'
import { senderDomainOrSpace } from '../contract/sender.ts'
import type { Db } from '../db/client.ts'
import {
  type CountedReply,
  countReplyAgainstLimits,
  type ReachedLimit,
  type ReplyShare,
  uncountReply,
} from '../db/reply-limits.ts'
import type { AccessBasis, HeldLane, WaitingMessage } from '../db/turn-rows.ts'
import type { Log } from '../lib/log.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { Absorbed } from '../turns/plan-turn.ts'

type LimitDeps = { readonly db: Db; readonly hash: (text: string) => Promise<string>; readonly log: Log }

/** What messages end with that are not answered any more. */
export const replyLimit = 'reply_limit'

/** Undefined: it may be answered. */
export async function countTurnReplyAgainstLimits(
  deps: LimitDeps,
  { adapter, key }: GatewayConnection,
  lane: HeldLane,
  members: readonly Absorbed[],
  decided: ReadonlyMap<string, AccessBasis>,
): Promise<ReachedLimit | undefined> {
  const { replyLimits = [] } = adapter.capabilities
  const [first] = members
  const lead = members.at(-1)
  if (replyLimits.length === 0 || first === undefined || lead === undefined) return undefined
  const { conversationId, agent } = lane
  const { subject, traceId } = lead.row
  const there = isDirectMessageFromPerson(lead.message) ? 'direct' : 'open'
  const counted = replyLimits.filter((limit) => limit.in === undefined || limit.in === there)
  const limits = (await Promise.all(counted.map((limit) => buildReplyCountScopes(deps, limit, lane, lead)))).flat()
  if (limits.length === 0) return undefined
  const reached = await countReplyAgainstLimits(deps.db, {
    connection: key,
    agent,
    conversationId,
    inboxId: first.row.id,
    subject,
    traceId,
    limits,
    isAdmitted: isSenderAdmittedExplicitly(lead.row, decided.get(lead.row.id)),
  })
  for (const { rule, isNews } of reached)
    if (isNews) deps.log.warn('reply_limit_reached', { connection: key, trace: traceId, agent, reason: rule })
  const [shown] = reached
  // Told of the one that lasts longest: until then nothing is answered.
  return shown === undefined ? undefined : { ...shown, ...longestReachedLimit(reached) }
}

function longestReachedLimit(reached: readonly ReachedLimit[]): Pick<ReachedLimit, 'isNews' | 'freeInMs'> {
  return {
    isNews: reached.some(({ isNews }) => isNews),
    freeInMs: Math.max(...reached.map(({ freeInMs }) => freeInMs)),
  }
}

/** A person who writes to an agent alone or among few: no machine that might answer without end. */
export function isDirectMessageFromPerson({ channel }: Pick<NormalizedMessage, 'channel'>): boolean {
  return channel?.visibility === 'direct' && channel.sender_kind === 'person'
}

const noticeScope = 'notices'

/** Another stranger got the last place in the same instant: this one is told nothing, and what was counted for it is free again. */
export async function takeBackNoticeCount(deps: LimitDeps, connection: string, inboxId: string): Promise<void> {
  await uncountReply(deps.db, { connection, scope: noticeScope, inboxId })
}

/**
 * What strangers are told about their access goes to addresses that a machine may have made up or borrowed: only so much of it leaves in an
 * hour. A code that is not sent is still there for the operator to see, and is told when they write again.
 */
export async function countStrangerNoticeWithinLimit(
  deps: LimitDeps,
  { key, strangers }: GatewayConnection,
  { conversationId, agent }: HeldLane,
  { id: inboxId, subject, traceId }: WaitingMessage,
): Promise<boolean> {
  const notices = { per: 'notices', count: strangers.noticesPerHour, perMs: 3_600_000, share: 'strangers' } as const
  const limits = [{ ...notices, group: null, scope: noticeScope }]
  const ask = { connection: key, agent, conversationId, inboxId, subject, traceId, isAdmitted: false, limits }
  const [reached] = await countReplyAgainstLimits(deps.db, ask)
  if (reached?.isNews === true)
    deps.log.warn('reply_limit_reached', { connection: key, trace: traceId, agent, reason: reached.rule })
  return reached === undefined
}

/** A rule, a grant or a pairing let them in, and not merely a public connection. */
function isSenderAdmittedExplicitly({ access }: WaitingMessage, ground: AccessBasis | undefined): boolean {
  return (ground?.accessRule ?? 'public') !== 'public' || access.grants.some(({ effect }) => effect === 'allow')
}

/**
 * Every answer counts in its sender's own share; that of a stranger also in the share that all strangers have together. Who is known
 * has the first alone, which no other sender can use up.
 */
async function buildReplyCountScopes(
  { hash }: LimitDeps,
  limit: ReplyLimit,
  lane: HeldLane,
  lead: Absorbed,
): Promise<readonly CountedReply[]> {
  const { subject } = lead.row
  const common = limitScopeKey(limit.per, lane, lead)
  if (common === undefined) return []
  const group = limit.per === 'domain' ? common : null
  const isOwn = subject === null || (limit.per === 'words' && isShortEnoughForGreeting(common))
  const shares = isOwn ? (['own'] as const) : sharesOf[limit.per]
  return Promise.all(
    shares.map(async (share) => {
      const whose = share === 'own' ? subject : null
      // A hash: a row that only counts names no person.
      return {
        ...limit,
        share,
        group,
        scope: await hash(JSON.stringify([limit.per, limit.perMs, common, share, whose, limit.in ?? null])),
      }
    }),
  )
}

/** How many of a domain are answered says nothing of one person there: `sender` does. */
const sharesOf: Readonly<Record<ReplyLimit['per'], readonly ReplyShare[]>> = {
  sender: ['own'],
  thread: ['own', 'strangers'],
  domain: ['strangers'],
  words: ['own', 'strangers'],
}

/** What answers have in common under a limit; undefined where there is no such thing. */
function limitScopeKey(per: ReplyLimit['per'], lane: HeldLane, { row, message }: Absorbed): string | undefined {
  switch (per) {
    case 'thread':
      return lane.conversationId
    case 'sender':
      return row.subject ?? undefined
    case 'domain':
      return row.subject === null ? undefined : senderDomainOrSpace(row.subject)
    case 'words':
      return normalizeForRepeatCheck(message)
  }
}

/** What many people say by themselves: that strangers said it before must not keep the next one from being answered. */
function isShortEnoughForGreeting(words: string): boolean {
  return words.split(' ').length <= 3
}

/** As a person would call two texts the same; white space and case are a machine's doing. */
function normalizeForRepeatCheck({ parts }: Pick<NormalizedMessage, 'parts'>): string | undefined {
  const words = textOf(parts).toLowerCase().split(/\s+/).filter(Boolean).join(' ')
  return words === '' ? undefined : words
}
