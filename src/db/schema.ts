// The whole schema, by noun. `tenant` and `connection` are part of every key.
// Hot tables carry no foreign keys: their rows are written together in one statement and swept together.

export * from './schema/ambient-context.ts'
export * from './schema/attachments.ts'
export * from './schema/audit.ts'
export * from './schema/connections.ts'
export * from './schema/conversations.ts'
export * from './schema/counters.ts'
export * from './schema/identity.ts'
export * from './schema/inbox.ts'
export * from './schema/outbox.ts'
export * from './schema/sessions.ts'
export * from './schema/turns.ts'
