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
export const met = (subjects: string): string => `
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
export const principalId = (tenant: string, subject: string): string =>
  `coalesce((select p.id from principals p where p.tenant = ${tenant} and p.subject = ${subject}),
      (select m.id from met m where m.tenant = ${tenant} and m.subject = ${subject}))`

/** CTEs `met` and `audited`: one line of the audit log for each row of `from`. */
export function auditLines({ from, subject, columns, order }: Lines): string {
  const names = Object.keys(columns).join(', ')
  const values = Object.values(columns).join(', ')
  return `${met(`select d.tenant, ${subject} as subject from ${from} d`)},
audited as (
  insert into audit_log (tenant, principal_id, ${names})
  select d.tenant, ${principalId('d.tenant', subject)}, ${values}
  from ${from} d${order === undefined ? '' : ` order by ${order}`}
)`
}

const own = (...columns: readonly Column[]) => Object.fromEntries(columns.map((column) => [column, `d.${column}`]))

/**
 * About messages: CTEs after `decided`, which has (tenant, inbox_id, subject, outcome, code, rule, evidence, connection,
 * agent, conversation_id, trace_id).
 */
export const auditedMessages = auditLines({
  from: 'decided',
  subject: 'd.subject',
  columns: {
    action: `'message.admit'`,
    outcome: 'd.outcome',
    ...own('code', 'rule', 'evidence', 'connection', 'agent', 'conversation_id', 'inbox_id', 'trace_id'),
  },
  order: 'd.inbox_id',
})

/**
 * About people: CTEs after `acted`, which has (tenant, action, outcome, rule, subject, actor, evidence, connection, agent,
 * conversation_id, object_id).
 */
export const auditedActs = auditLines({
  from: 'acted',
  subject: 'd.subject',
  columns: {
    action: 'd.action',
    outcome: 'd.outcome',
    ...own('rule', 'actor', 'evidence', 'connection', 'agent', 'conversation_id', 'object_id'),
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
export function auditedAct({ by, about, ...lines }: Act): string {
  const isOurs = `(${by}::text in ('operator', 'interrupt') or ${by}::text like 'operator:%')`
  return auditLines({
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
