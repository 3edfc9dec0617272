// The port of the audit log: who decided what, on which ground. Lines are written once; nothing here changes or removes one.
import type { JsonObject } from '../../contract/index.ts'

/**
 * One decision. A person stands in it by `subject` and in no other field, so that forgetting them takes one row elsewhere
 * and leaves the line as it is. No text of a message, no secret, no address.
 */
export type AuditLine = {
  /** What was decided about, and how: `message.admit`, `approval.resolve`, `token.create`. */
  readonly action: string
  readonly outcome: string
  /** Why, where the outcome is a no. */
  readonly code?: string | undefined
  /** What decided: a rule, a mode, a grant. */
  readonly rule?: string | undefined
  /** Whom it is about; or who decided, where `actor` is absent. */
  readonly subject?: string | undefined
  /** The operator's token, or the part of the gateway that acted. */
  readonly actor?: string | undefined
  readonly evidence?: JsonObject | undefined
  readonly connection?: string | undefined
  readonly agent?: string | undefined
  readonly conversationId?: string | undefined
  readonly inboxId?: string | undefined
  /** The token, action, run, session or delivery that was decided about. */
  readonly objectId?: string | undefined
  readonly traceId?: string | undefined
  readonly detail?: JsonObject | undefined
}

export type AuditEntry = {
  /** Its place in the log. */
  readonly seq: number
  readonly at: string
  readonly action: string
  readonly outcome: string
  readonly code: string | null
  readonly rule: string | null
  /** A subject, `forgotten`, or null where no sender was verified. */
  readonly person: string | null
  readonly actor: string | null
  readonly evidence: JsonObject | null
  readonly connection: string | null
  readonly agent: string | null
  readonly conversationId: string | null
  readonly inboxId: string | null
  readonly objectId: string | null
  readonly traceId: string | null
  readonly detail: JsonObject | null
}

/** All of them must hold. `action` is a whole one, or what stands before its dot. */
export type AuditFilter = {
  readonly subject?: string | undefined
  readonly inboxId?: string | undefined
  readonly connection?: string | undefined
  readonly agent?: string | undefined
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly outcome?: string | undefined
  readonly code?: string | undefined
  /** Instants; `until` is not included. */
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** Newest first before `before`; or, with `after`, oldest first behind it. */
export type AuditPage = {
  readonly limit: number
  readonly before?: number | undefined
  readonly after?: number | undefined
}

/** `next`: where to go on in the same direction; null where the log ends. A page may be empty and yet have a next one. */
export type AuditPageFound = { readonly lines: readonly AuditEntry[]; readonly next: number | null }

export interface AuditStore {
  record(line: AuditLine): Promise<void>
  list(filter: AuditFilter, page: AuditPage): Promise<AuditPageFound>
}
