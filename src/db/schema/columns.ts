// Column groups that several tables share.
import { sql } from 'drizzle-orm'
import { bigint, jsonb, text, timestamp } from 'drizzle-orm/pg-core'

export const instantColumn = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })
export const createdAtColumn = () => instantColumn('created_at').notNull().defaultNow()
export const tenantColumn = () => text('tenant').notNull()
export const connectionColumn = () => text('connection').notNull()

/** Workspace columns exist from the first migration; the default workspace is the tenant. */
export const workspaceColumns = () => ({
  workspaceType: text('workspace_type').notNull().default('tenant'),
  workspaceId: text('workspace_id').notNull().default('default'),
})

/** A lease: who holds the row until when, and the fencing token every later write must carry. */
export const leaseColumns = () => ({
  holder: text('holder'),
  leaseUntil: instantColumn('lease_until'),
  epoch: bigint('epoch', { mode: 'number' }).notNull().default(0),
})

/** What happened to a row, newest last, bounded by the statements that append: times, outcomes and codes, never content. */
export const historyColumn = () => jsonb('history').notNull().default(sql`'[]'::jsonb`)
