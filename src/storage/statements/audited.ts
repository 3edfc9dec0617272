// Decisions go into the audit log in the statement that carries them out: there is no fate without its line, and no line
// without its fate.

/**
 * A CTE `met`: whoever is first decided about gets a row, and is known to the log by its id alone. `subjects` is a query of
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

/**
 * About messages: CTEs after `decided`, which has (tenant, inbox_id, subject, outcome, code, rule, evidence, connection,
 * agent, conversation_id, trace_id).
 */
export const audited = `${met('select tenant, subject from decided')},
audited as (
  insert into audit_log (tenant, action, outcome, code, rule, principal_id, evidence, connection, agent, conversation_id,
    inbox_id, trace_id)
  select d.tenant, 'message.admit', d.outcome, d.code, d.rule, ${principalId('d.tenant', 'd.subject')},
    d.evidence, d.connection, d.agent, d.conversation_id, d.inbox_id, d.trace_id
  from decided d order by d.inbox_id
)`

/**
 * About people: CTEs after `acted`, which has (tenant, action, outcome, rule, subject, actor, evidence, connection, agent,
 * conversation_id, object_id).
 */
export const auditedActs = `${met('select tenant, subject from acted')},
audited as (
  insert into audit_log (tenant, action, outcome, rule, principal_id, actor, evidence, connection, agent, conversation_id,
    object_id)
  select a.tenant, a.action, a.outcome, a.rule, ${principalId('a.tenant', 'a.subject')}, a.actor, a.evidence, a.connection,
    a.agent, a.conversation_id, a.object_id
  from acted a order by a.object_id
)`
