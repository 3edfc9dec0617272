// The row of an inbound event as the accept statement takes it: each column once, with its SQL type and what it holds.

import type { Bounce, OnceClaim } from '../contract/inbound-event.ts'
import type { RecordWrite } from '../contract/index.ts'
import type { ProtocolReply } from '../contract/records.ts'
import type { JsonObject } from '../lib/json-value.ts'

declare const held: unique symbol
/** An SQL type, and the type of what the row holds in the column. */
type Column<Value> = string & { readonly [held]: Value }
type Columns = Readonly<Record<string, Column<unknown>>>
type Held<Of extends Columns> = { readonly [Name in keyof Of]: Of[Name] extends Column<infer Value> ? Value : never }
/** What is not said is not sent, and null to the statement: every byte is parsed. */
type HeldIfSaid<Of extends Columns> = { readonly [Name in keyof Of]?: Held<Of>[Name] | undefined }

function typedSqlColumn<Value = string>(sqlType: string): Column<Value> {
  // The second type is for the compiler alone.
  return sqlType as Column<Value>
}

const saidColumns = {
  id: typedSqlColumn('uuid'),
  tenant: typedSqlColumn('text'),
  connection: typedSqlColumn('text'),
  agent: typedSqlColumn('text'),
  kind: typedSqlColumn('text'),
  /** Only `queued` rows enter a lane. `refused`: nothing proves who sent it, and no caller waits to be told. */
  state: typedSqlColumn<'queued' | 'ignored' | 'dead' | 'refused'>('text'),
  /** Everything that makes the message this message; stored as a hash. */
  dedupe: typedSqlColumn('text'),
  /** Everything the message says; the same id saying something else is another message. */
  content: typedSqlColumn('text'),
  event: typedSqlColumn<'new' | 'edit' | 'delete'>('text'),
  bytes: typedSqlColumn<number>('int'),
  horizonMs: typedSqlColumn<number>('float8'),
  traceId: typedSqlColumn('text'),
  candidates: typedSqlColumn<readonly string[]>('json'),
  platformVerified: typedSqlColumn<boolean>('boolean'),
  newThreadKey: typedSqlColumn('text'),
  /** Deliveries of the same message that wait beside it and share its outcome. */
  copies: typedSqlColumn<number>('int'),
  /** Id for the conversation, should this message open one. */
  conversationId: typedSqlColumn('uuid'),
}

const optionalColumns = {
  reason: typedSqlColumn('text'),
  recipient: typedSqlColumn('text'),
  subject: typedSqlColumn('text'),
  mustReplyIndividually: typedSqlColumn('text'),
  messageId: typedSqlColumn('text'),
  deliveryId: typedSqlColumn('text'),
  editOf: typedSqlColumn('text'),
  message: typedSqlColumn<JsonObject>('jsonb'),
  raw: typedSqlColumn<JsonObject>('jsonb'),
  replyTo: typedSqlColumn<JsonObject>('jsonb'),
  platformAt: typedSqlColumn('timestamptz'),
  replyToken: typedSqlColumn('text'),
  isExclusive: typedSqlColumn<boolean>('boolean'),
  /** A command for the gateway, in the conversation beside its conversation. */
  isControl: typedSqlColumn<boolean>('boolean'),
  /** How long its conversation waits for what belongs to it. */
  debounceMs: typedSqlColumn<number>('float8'),
  /** Not said where one agent alone answers. */
  routing: typedSqlColumn<DraftRouting>('jsonb'),
}

export const rowColumns = { ...saidColumns, ...optionalColumns }

/** What only some channels and callers say; the statement without them is the shorter one. */
export const moreColumns = {
  task: typedSqlColumn<DraftTask>('json'),
  /** Names under which its conversation is found from now on, too. */
  aliases: typedSqlColumn<readonly string[]>('json'),
  /** Ids of what was kept of it before it was stored, to be kept as long as it is. */
  rawBlobs: typedSqlColumn<readonly string[]>('json'),
  /** Of what we sent: that it came back. */
  bounce: typedSqlColumn<Bounce>('json'),
  /** What it changes in the channel's records. */
  recordWrites: typedSqlColumn<readonly RecordWrite[]>('json'),
  /** What its protocol answers, each with the id of its delivery. */
  protocolReplies: typedSqlColumn<readonly (ProtocolReply & { readonly id: string })[]>('json'),
  /** Deliveries whose order key begins so are not to leave any more. */
  cancelPending: typedSqlColumn('text'),
  /** Its sender has left: what they said until now is to be erased. */
  isAccountDeleted: typedSqlColumn<boolean>('boolean'),
}

export const claimColumns = {
  /** Proofs that count once, claimed with it. */
  once: typedSqlColumn<readonly OnceClaim[]>('json'),
  /** The event that claims them where it is not this one: what came together shares its proofs. */
  eventId: typedSqlColumn('uuid'),
}

/** One inbound event on its way into the inbox. */
export type InboxDraft = Held<typeof saidColumns> &
  HeldIfSaid<typeof optionalColumns & typeof moreColumns & typeof claimColumns>

/** A task the message asks for, or with `known` goes on with; a new one gets the id of the message. */
export type DraftTask = {
  readonly known: string | null
  readonly contextId: string
  readonly dialect: string
  readonly metadata: JsonObject
}

/** Which of several agents takes a message: that of the message an edit is about, that of its thread, else the draft's own. */
export type DraftRouting = {
  /** Under which it is kept whom the sender talks with in the thread. Null: it is not kept. */
  readonly own: string | null
  /** Under which it is kept whom the thread talks with, by those who were let in. Null: the platform does not confirm the thread. */
  readonly thread: string | null
  /** The thread's agent goes before the draft's. */
  readonly isSticky: boolean
  /** The draft's agent was addressed: the thread talks with it from now on. */
  readonly isAddressed: boolean
  /** Those there are; a thread whose agent is gone has none. */
  readonly agents: readonly string[]
}

/** SQL: the columns as a recordset declares them. */
export function recordsetColumnsSql(columns: Columns): string {
  return Object.entries(columns)
    .map(([name, sqlType]) => `"${name}" ${sqlType}`)
    .join(', ')
}
