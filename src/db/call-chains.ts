// Call chains: which agents of this gateway a chain of callers has passed; the request headers name only the last of them.
import { createDbWithoutStatements, type Db, nameStatement } from './client.ts'

export type ChainVisit = {
  readonly root: string
  readonly agent: string
  /** Our own origin. */
  readonly host: string
  readonly depth: number
}

/** Who calls, in a chain that began at this root. */
export type ChainCaller = { readonly root: string; readonly agent: string; readonly host: string }

/** Remembers the visit, and answers true when the chain was here before and has come back: nearer to its root than now. */
export async function recordVisitAndDetectLoop(db: Db, { root, agent, host, depth }: ChainVisit): Promise<boolean> {
  const [row] = await db.query<{ isLoop: boolean }>(visitChainSql, [db.tenant, root, agent, host, depth])
  return row?.isLoop ?? false
}

/** How many turns of the conversation that a waiting message is in this caller has had before it, in the same chain. */
export async function countCallerTurnsBeforeMessage(
  db: Db,
  inboxId: string,
  { root, agent, host }: ChainCaller,
): Promise<number> {
  const [row] = await db.query<{ turns: number }>(chainTurns, [db.tenant, inboxId, root, agent, host])
  return row?.turns ?? 0
}

/** Looking again does not count as a visit in a chain of agents. */
export function createDbWithoutChainVisits(db: Db): Db {
  return createDbWithoutStatements(db, [visitChainSql, chainTurns])
}

// One row per root and agent, the visit nearest to the root.

/**
 * $1 tenant, $2 root, $3 agent, $4 host, $5 depth. One statement, so that of two that meet one is told.
 *
 * A caller that comes back has passed others in between and is further from the root than the visit that is remembered. The same
 * distance is no loop: an agent may ask us twice, and a message that is tried again is no second visit.
 */
const visitChainSql = nameStatement(
  'visit_chain',
  `
insert into call_chains as c (tenant, root, agent, host, depth) values ($1, $2, $3, $4, $5::int)
on conflict (tenant, root, agent, host) do update set depth = least(c.depth, excluded.depth)
returning c.depth < $5::int as "isLoop"`,
)

/**
 * $1 tenant, $2 the message that waits, $3 root, $4 and $5 who calls. Messages are counted, so that one that is tried again is still
 * one; of a long conversation only the newest turns are looked at, which is more than a caller may have.
 */
const chainTurns = nameStatement(
  'chain_turns',
  `
with here as materialized (select conversation_id from inbox where tenant = $1 and id = $2),
newest as materialized (
  select t.id from turns t where t.conversation_id = (select conversation_id from here) and t.kind = 'messages'
  order by t.started_at desc limit 32
)
select count(*)::int as turns from newest n join inbox x on x.turn_id = n.id
where x.id <> $2 and x.message -> 'channel' -> 'caller' ->> 'chain_root' = $3
  and x.message -> 'channel' -> 'caller' ->> 'caller_agent' = $4 and x.message -> 'channel' -> 'caller' ->> 'caller_host' = $5`,
)
