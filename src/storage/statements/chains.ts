// Chains of callers: one row per root and agent, the visit nearest to the root.
import { statement } from '../database.ts'

/**
 * $1 tenant, $2 root, $3 agent, $4 host, $5 depth. One statement, so that of two that meet one is told.
 *
 * Whoever comes back has passed others in between and is further from the root than the visit that is remembered. The same
 * distance is no loop: an agent may ask us twice, and a message that is tried again is no second visit.
 */
export const visitChain = statement(
  'visit_chain',
  `
insert into caller_chains as c (tenant, root, agent, host, depth) values ($1, $2, $3, $4, $5::int)
on conflict (tenant, root, agent, host) do update set depth = least(c.depth, excluded.depth)
returning c.depth < $5::int as "isLoop"`,
)
