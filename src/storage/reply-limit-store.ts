// The port of reply limits on SQL.
import type { ReachedLimit, ReplyLimitStore } from '../identity/limits/reply-limit-store.ts'
import type { Database } from './database.ts'
import { spendReplies } from './statements/reply-limits.ts'

export function createReplyLimitStore(database: Database, tenant: string): ReplyLimitStore {
  return {
    spend({ connection, limits, inboxId, subject, agent, conversationId, traceId }) {
      const params = [tenant, connection, JSON.stringify(limits), inboxId, subject, agent, conversationId, traceId]
      return database.query<ReachedLimit>(spendReplies, params)
    },
  }
}
