// The port of reply limits on SQL.
import type { ReachedLimit, ReplyLimitStore } from '../identity/limits/reply-limit-store.ts'
import type { Database } from './database.ts'
import { makeReplyWindows, returnReply, spendReplies } from './statements/reply-limits.ts'

type SpentRow = ReachedLimit & { readonly isMissing: boolean }

export function createReplyLimitStore(database: Database, tenant: string): ReplyLimitStore {
  return {
    async spend({ connection, limits, inboxId, subject, agent, conversationId, traceId, isAdmitted }) {
      const counted = [tenant, connection, JSON.stringify(limits)]
      for (;;) {
        const rows = await database.query<SpentRow>(spendReplies, [
          ...counted,
          inboxId,
          subject,
          agent,
          conversationId,
          traceId,
          isAdmitted,
        ])
        if (!rows.some(({ isMissing }) => isMissing)) return rows
        await database.query(makeReplyWindows, [...counted, subject, isAdmitted])
      }
    },
    async giveBack({ connection, scope, inboxId }) {
      await database.query(returnReply, [tenant, connection, scope, inboxId])
    },
  }
}
