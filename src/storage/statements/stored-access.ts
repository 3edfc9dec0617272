// What is written down about the sender of an inbox row `x`, read with the row itself: whoever decides about the message
// decides by what counts at that moment, in every replica.

/** The subjects a sender has shown, and the people an operator said they are. */
const subjects = `(select shown.subjects || array(
    select l.principal from identity_links l where l.tenant = x.tenant and l.subject = any(shown.subjects)) as subjects
  from (select array(select i ->> 'subject' from jsonb_array_elements(x.message #> '{sender,identities}') i) as subjects) shown) s`

const door = `turns t where t.conversation_id = x.conversation_id and t.kind = 'door' and t.started_at > now() - interval '1 hour'`

/** As JSON: StoredAccess of the contract. */
export const storedAccess = `(select json_build_object(
    'grants', coalesce((select json_agg(json_build_object('id', g.id, 'subject', g.subject, 'effect', g.effect,
        'role', g.role, 'connection', g.connection, 'agent', g.agent, 'workspaceId', g.workspace_id))
      from grants g where g.tenant = x.tenant and g.subject = any(s.subjects) and g.revoked_at is null
        and (g.expires_at is null or g.expires_at > now())), '[]'),
    'links', coalesce((select json_agg(json_build_object('subject', l.subject, 'principal', l.principal))
      from identity_links l where l.tenant = x.tenant and l.subject = any(s.subjects)), '[]'),
    'pairings', coalesce((select json_agg(json_build_object('id', p.id, 'code', p.code, 'subject', p.subject,
        'agent', p.agent, 'held', (select count(*) from inbox h where h.pairing_id = p.id and h.state = 'held')))
      from pairings p where p.tenant = x.tenant and p.connection = x.connection and p.subject = any(s.subjects)
        and p.status = 'pending' and p.expires_at > now()), '[]'),
    'told', (select count(*) from ${door} and t.principal = any(s.subjects)),
    'toldAll', (select count(*) from ${door}))
  from ${subjects})`
