// The audit log: who decided what, and why. Lines are written once; nothing here changes or removes one.

import type { JsonObject } from '../lib/json-value.ts'
import { type Db, isoTimeSql, nameStatement, storableJson } from './client.ts'

// How a statement writes its audit line: a decision and its line are one commit, so neither exists without the other.

type Column =
  | ('action' | 'outcome' | 'code' | 'rule' | 'actor' | 'evidence' | 'connection' | 'agent')
  | ('conversation_id' | 'inbox_id' | 'object_id' | 'trace_id' | 'detail')

type Lines = {
  /** The CTE whose rows, called `d`, are written down; it has `tenant`. */
  readonly from: string
  /** A person appears by the id of a row of their own, made when they are first decided about. */
  readonly subject: string
  readonly columns: Readonly<Partial<Record<Column, string>> & Record<'action' | 'outcome', string>>
  /** In which order the lines are numbered, where there are several. */
  readonly order?: string
}

/**
 * A CTE `met`: a person who is decided about for the first time gets a row, and is known to the log by its id alone. `subjects` is a query of
 * (tenant, subject).
 */
export const insertMissingPrincipalsSql = (subjects: string): string => `
met as (
  insert into principals (tenant, id, subject)
  select distinct on (d.tenant, d.subject) d.tenant, gen_random_uuid(), d.subject from (${subjects}) d
  where d.subject is not null
    and not exists (select 1 from principals p where p.tenant = d.tenant and p.subject = d.subject)
  order by d.tenant, d.subject
  on conflict (tenant, subject) do update set subject = excluded.subject
  returning tenant, id, subject
)`

/** After `met`: the id of a person's row, made before or just now. */
export const principalIdSql = (tenant: string, subject: string): string =>
  `coalesce((select p.id from principals p where p.tenant = ${tenant} and p.subject = ${subject}),
      (select m.id from met m where m.tenant = ${tenant} and m.subject = ${subject}))`

/** CTEs `met` and `audited`: one line of the audit log for each row of `from`. */
export function insertAuditLinesSql({ from, subject, columns, order }: Lines): string {
  const names = Object.keys(columns).join(', ')
  const values = Object.values(columns).join(', ')
  return `${insertMissingPrincipalsSql(`select d.tenant, ${subject} as subject from ${from} d`)},
audited as (
  insert into audit_log (tenant, principal_id, ${names})
  select d.tenant, ${principalIdSql('d.tenant', subject)}, ${values}
  from ${from} d${order === undefined ? '' : ` order by ${order}`}
)`
}

const mapColumnsToTableAlias = (...columns: readonly Column[]) =>
  Object.fromEntries(columns.map((column) => [column, `d.${column}`]))

/**
 * About messages: CTEs after `decided`, which has (tenant, inbox_id, subject, outcome, code, rule, evidence, connection,
 * agent, conversation_id, trace_id).
 */
export const auditedMessages = insertAuditLinesSql({
  from: 'decided',
  subject: 'd.subject',
  columns: {
    action: `'message.admit'`,
    outcome: 'd.outcome',
    ...mapColumnsToTableAlias(
      'code',
      'rule',
      'evidence',
      'connection',
      'agent',
      'conversation_id',
      'inbox_id',
      'trace_id',
    ),
  },
  order: 'd.inbox_id',
})

/**
 * About people: CTEs after `acted`, which has (tenant, action, outcome, rule, subject, actor, evidence, connection, agent,
 * conversation_id, object_id).
 */
export const auditedActs = insertAuditLinesSql({
  from: 'acted',
  subject: 'd.subject',
  columns: {
    action: 'd.action',
    outcome: 'd.outcome',
    ...mapColumnsToTableAlias('rule', 'actor', 'evidence', 'connection', 'agent', 'conversation_id', 'object_id'),
  },
  order: 'd.object_id',
})

type Act = Omit<Lines, 'subject'> & {
  /** A parameter: who acts. `operator:<token>` and our own names are actors, every other name is a person. */
  readonly by: string
  /** Whom it concerns where no person acts. */
  readonly about: string
}

/** The same for what an operator, an owner or a person in a chat does. */
export function insertActAuditLinesSql({ by, about, ...lines }: Act): string {
  const isOurs = `(${by}::text in ('operator', 'interrupt') or ${by}::text like 'operator:%')`
  return insertAuditLinesSql({
    ...lines,
    subject: `(case when ${isOurs} then ${about} else ${by}::text end)`,
    columns: { ...lines.columns, actor: `case when ${isOurs} then ${by}::text end` },
  })
}

/** The person in a line of the log: by the row they still have, or as forgotten. */
export function auditPersonSql(line: string): string {
  return `case when ${line}.principal_id is not null then coalesce(
    (select p.subject from principals p where p.tenant = ${line}.tenant and p.id = ${line}.principal_id), 'forgotten') end`
}

/**
 * One decision. A person stands in it by `subject` and in no other field, so that erasing them takes one row elsewhere
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
type AuditPageFound = { readonly lines: readonly AuditEntry[]; readonly next: number | null }

/** A fraction of a second, also in a log of years. */
const linesPerLook = 20_000

type Found = { readonly cutAt: number | null; readonly lines: readonly AuditEntry[] }

export async function recordAudit(db: Db, line: AuditLine): Promise<void> {
  await db.query(recordAuditSql, [db.tenant, storableJson(line)])
}

export async function readAuditPage(
  db: Db,
  filter: AuditFilter,
  { limit, before, after }: AuditPage,
): Promise<AuditPageFound> {
  const isForward = after !== undefined
  const asked = chooseAuditPageStatements(filter)[isForward ? 'on' : 'back']
  const params = [db.tenant, storableJson(filter), limit, after ?? before ?? null, maxAuditLinesToScan(filter, limit)]
  const [{ cutAt, lines } = { cutAt: null, lines: [] }] = await db.query<Found>(asked, params)
  return { lines, next: lines.length < limit ? cutAt : (lines.at(-1)?.seq ?? null) }
}

/** What the indexes answer needs no look at lines that do not fit. */
function maxAuditLinesToScan({ subject: _subject, inboxId: _inboxId, ...others }: AuditFilter, limit: number): number {
  return Object.values(others).every((each) => each === undefined) ? limit : linesPerLook
}

function chooseAuditPageStatements({ subject, inboxId }: AuditFilter): (typeof auditPages)[keyof typeof auditPages] {
  if (inboxId !== undefined) return subject === undefined ? auditPages.message : auditPages.both
  return subject === undefined ? auditPages.all : auditPages.person
}

/** $1 tenant, $2 the line as JSON. */
export const recordAuditSql = nameStatement(
  'record_audit',
  `
with line as materialized (
  select $1::text as tenant, l.* from json_to_record($2::text::json) as l(
    action text, outcome text, code text, rule text, subject text, actor text, evidence jsonb, connection text, agent text,
    "conversationId" uuid, "inboxId" uuid, "objectId" text, "traceId" text, detail jsonb)
),${insertAuditLinesSql({
    from: 'line',
    subject: 'd.subject',
    columns: {
      action: 'd.action',
      outcome: 'd.outcome',
      code: 'd.code',
      rule: 'd.rule',
      actor: 'd.actor',
      evidence: 'd.evidence',
      connection: 'd.connection',
      agent: 'd.agent',
      conversation_id: 'd."conversationId"',
      inbox_id: 'd."inboxId"',
      object_id: 'd."objectId"',
      trace_id: 'd."traceId"',
      detail: 'd.detail',
    },
  })}
select 1 as written`,
)

const line = `l.seq::float8 as seq, ${isoTimeSql('l.at')} as at, l.action, l.outcome, l.code, l.rule,
  ${auditPersonSql('l')} as person,
  l.actor, l.evidence, l.connection, l.agent, l.conversation_id as "conversationId", l.inbox_id as "inboxId",
  l.object_id as "objectId", l.trace_id as "traceId", l.detail`

/**
 * $1 tenant, $2 filter as JSON, $3 how many, $4 from where or null, $5 how many lines to look at. Times and most filters have
 * no index, as every line is written on the way of a message: so a page looks at a bounded stretch and says where it ended.
 */
const auditPageStatement = (name: string, narrowed: string, isForward: boolean) =>
  nameStatement(
    name,
    `
with asked as materialized (
  select f.* from json_to_record($2::text::json) as f(subject text, "inboxId" uuid, connection text, agent text, actor text,
    action text, outcome text, code text, since timestamptz, until timestamptz)
),
stretch as materialized (
  select ${isForward ? 'max' : 'min'}(w.seq) as ends, count(*) >= $5 as "isCut" from (
    select l.seq from audit_log l where l.tenant = $1 and ${narrowed}
      and ($4::bigint is null or l.seq ${isForward ? '>' : '<'} $4::bigint)
    order by l.seq ${isForward ? '' : 'desc'} limit $5) w
)
select (select case when "isCut" then ends::float8 end from stretch) as "cutAt",
  coalesce((select json_agg(f order by f.seq ${isForward ? '' : 'desc'}) from (
    select ${line} from audit_log l cross join asked f
    where l.tenant = $1 and ${narrowed}
      and ($4::bigint is null or l.seq ${isForward ? '>' : '<'} $4::bigint)
      and l.seq ${isForward ? '<=' : '>='} (select ends from stretch)
      and (f.connection is null or l.connection = f.connection) and (f.agent is null or l.agent = f.agent)
      and (f.actor is null or l.actor = f.actor)
      and (f.action is null or l.action = f.action or starts_with(l.action, f.action || '.'))
      and (f.outcome is null or l.outcome = f.outcome) and (f.code is null or l.code = f.code)
      and (f.since is null or l.at >= f.since) and (f.until is null or l.at < f.until)
    order by l.seq ${isForward ? '' : 'desc'} limit $3) f), '[]') as lines`,
  )

/** Worded apart, so that the index of a person's or a message's lines serves whatever the plan was made for. */
const ofPerson = `l.principal_id = (select p.id from principals p where p.tenant = $1 and p.subject = (select subject from asked))`
const ofMessage = `l.inbox_id = (select "inboxId" from asked)`

const auditPageStatements = (name: string, narrowed: string) => ({
  back: auditPageStatement(`${name}_back`, narrowed, false),
  on: auditPageStatement(`${name}_on`, narrowed, true),
})

const auditPages = {
  all: auditPageStatements('audit', 'true'),
  person: auditPageStatements('audit_of_person', ofPerson),
  message: auditPageStatements('audit_of_message', ofMessage),
  both: auditPageStatements('audit_of_both', `${ofMessage} and ${ofPerson}`),
} as const
