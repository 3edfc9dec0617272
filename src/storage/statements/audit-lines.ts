// How a statement writes down what somebody does in it: there is no act without its line, and no line without its act.
import { met, principalId } from './audited.ts'

type Column =
  | ('action' | 'outcome' | 'code' | 'rule' | 'actor' | 'evidence' | 'connection' | 'agent')
  | ('conversation_id' | 'inbox_id' | 'object_id' | 'trace_id' | 'detail')

type Lines = {
  /** The CTE whose rows, called `d`, are written down; it has `tenant`. */
  readonly from: string
  /** A person appears by the id of a row of their own, made when they are first decided about. */
  readonly subject: string
  readonly columns: Readonly<Partial<Record<Column, string>> & Record<'action' | 'outcome', string>>
}

/** CTEs `met` and `audited`: one line of the audit log for each row of `from`. */
export function auditLines({ from, subject, columns }: Lines): string {
  const names = Object.keys(columns).join(', ')
  const values = Object.values(columns).join(', ')
  return `${met(`select d.tenant, ${subject} as subject from ${from} d`)},
audited as (
  insert into audit_log (tenant, principal_id, ${names})
  select d.tenant, ${principalId('d.tenant', subject)}, ${values}
  from ${from} d
)`
}

type Act = Omit<Lines, 'subject'> & {
  /** A parameter: who acts. `operator:<token>` and our own names are actors, everybody else is a person. */
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
export function personOf(line: string): string {
  return `case when ${line}.principal_id is not null then coalesce(
    (select p.subject from principals p where p.tenant = ${line}.tenant and p.id = ${line}.principal_id), 'forgotten') end`
}
