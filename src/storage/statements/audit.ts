// The audit log: one line more, and reading it page by page.
import { statement } from '../database.ts'
import { auditLines, auditPersonSql } from './audit-lines.ts'
import { isoTime } from './iso-time.ts'

/** $1 tenant, $2 the line as JSON. */
export const recordAudit = statement(
  'record_audit',
  `
with line as materialized (
  select $1::text as tenant, l.* from json_to_record($2::text::json) as l(
    action text, outcome text, code text, rule text, subject text, actor text, evidence jsonb, connection text, agent text,
    "conversationId" uuid, "inboxId" uuid, "objectId" text, "traceId" text, detail jsonb)
),${auditLines({
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

const line = `l.seq::float8 as seq, ${isoTime('l.at')} as at, l.action, l.outcome, l.code, l.rule,
  ${auditPersonSql('l')} as person,
  l.actor, l.evidence, l.connection, l.agent, l.conversation_id as "conversationId", l.inbox_id as "inboxId",
  l.object_id as "objectId", l.trace_id as "traceId", l.detail`

/**
 * $1 tenant, $2 filter as JSON, $3 how many, $4 from where or null, $5 how many lines to look at. Times and most filters have
 * no index, as every line is written on the way of a message: so a page looks at a bounded stretch and says where it ended.
 */
const auditPageStatement = (name: string, narrowed: string, isForward: boolean) =>
  statement(
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

const pages = (name: string, narrowed: string) => ({
  back: auditPageStatement(`${name}_back`, narrowed, false),
  on: auditPageStatement(`${name}_on`, narrowed, true),
})

export const auditPages = {
  all: pages('audit', 'true'),
  person: pages('audit_of_person', ofPerson),
  message: pages('audit_of_message', ofMessage),
  both: pages('audit_of_both', `${ofMessage} and ${ofPerson}`),
} as const
