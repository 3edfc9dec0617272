// Decisions about messages go into the audit log in the statement that carries them out: there is no fate without its line,
// and no line without its fate.

/**
 * CTEs after `decided`, which has (tenant, inbox_id, subject, outcome, code, rule, evidence, connection, agent,
 * conversation_id, trace_id). A person appears by the id of a row of their own, made when they are first decided about.
 */
export const audited = `
met as (
  insert into principals (tenant, id, subject)
  select distinct on (d.tenant, d.subject) d.tenant, gen_random_uuid(), d.subject from decided d
  where d.subject is not null
    and not exists (select 1 from principals p where p.tenant = d.tenant and p.subject = d.subject)
  order by d.tenant, d.subject
  on conflict (tenant, subject) do update set subject = excluded.subject
  returning tenant, id, subject
),
audited as (
  insert into audit_log (tenant, action, outcome, code, rule, principal_id, evidence, connection, agent, conversation_id,
    inbox_id, trace_id)
  select d.tenant, 'message.admit', d.outcome, d.code, d.rule,
    coalesce((select p.id from principals p where p.tenant = d.tenant and p.subject = d.subject),
      (select m.id from met m where m.tenant = d.tenant and m.subject = d.subject)),
    d.evidence, d.connection, d.agent, d.conversation_id, d.inbox_id, d.trace_id
  from decided d order by d.inbox_id
)`
