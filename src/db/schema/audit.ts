// Who decided what, on which ground: written once and never changed. A trigger refuses updates and deletes (drizzle/0000_initial.sql).
import { sql } from 'drizzle-orm'
import { bigint, index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instantColumn, tenantColumn } from './columns.ts'

/**
 * People stand here by the id of their `principals` row and by nothing else, so that erasing a person takes that one row
 * and leaves every line as it was written.
 */
export const auditLog = pgTable(
  'audit_log',
  {
    seq: bigint('seq', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    tenant: tenantColumn(),
    at: instantColumn('at').notNull().defaultNow(),
    /** `message`, `pairing`, `grant`, `token`, `approval`, `run`, `consent`, `forget`, … and what was done to it. */
    action: text('action').notNull(),
    outcome: text('outcome').notNull(),
    /** Why, where the outcome is a no. */
    code: text('code'),
    /** What decided: a rule, a mode, a grant. */
    rule: text('rule'),
    /** The person the decision is about, or by whom, if it was made in a chat. */
    principalId: uuid('principal_id'),
    /** The operator's token or the part of the gateway that acted. */
    actor: text('actor'),
    /** Issuer, method and assurance of what the decision rests on; never the subject. */
    evidence: jsonb('evidence'),
    connection: text('connection'),
    agent: text('agent'),
    conversationId: uuid('conversation_id'),
    inboxId: uuid('inbox_id'),
    /** The pairing, grant, token, action or run that was decided about. */
    objectId: text('object_id'),
    traceId: text('trace_id'),
    detail: jsonb('detail'),
  },
  (t) => [
    index('audit_log_tenant').on(t.tenant, t.seq),
    index('audit_log_principal').on(t.tenant, t.principalId, t.seq).where(sql`principal_id is not null`),
    index('audit_log_inbox').on(t.inboxId).where(sql`inbox_id is not null`),
  ],
)
