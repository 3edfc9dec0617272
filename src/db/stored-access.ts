// What is stored about the senders of waiting messages, read in the statement that reads the messages: the worker that decides
// about them decides by what counts at that moment, in every replica. Once for all of them, and by look-ups with a limit, so
// that a plan made for empty tables does not become a scan of full ones. `offset 0` keeps the planner from asking for the
// subjects anew at every place they are used.

/** SQL: the subjects that the senders of `rows` (a select of inbox rows as `x`) have shown. */
const senderSubjectsSql = (rows: string): string =>
  `array(select distinct i ->> 'subject' from (${rows}) x, jsonb_array_elements(x.message #> '{sender,identities}') i)`

/** Denials come first: whatever is left out, a block is not. */
const maxPerSubject = 64

export type StoredAccessColumns = {
  readonly tenant: string
  readonly connection: string
  readonly conversation: string
  /** A select of the messages, as inbox rows. */
  readonly rows: string
}

/** SQL: JSON that `attachAccessToMessages` spreads over the messages. A linked subject counts together with the person it is linked to. */
export function storedAccessSql({ tenant, connection, conversation, rows }: StoredAccessColumns): string {
  // A turn that is open has not told its sender yet: a worker that resumes it must not count that turn as told.
  const door = `turns t where t.conversation_id = ${conversation} and t.kind = 'access_challenge' and t.state not in ('running', 'split')
      and t.started_at > now() - interval '1 hour'`
  return `(select json_build_object(
    'grants', (select coalesce(json_agg(json_build_object('id', g.id, 'subject', g.subject, 'effect', g.effect,
        'role', g.role, 'connection', g.connection, 'agent', g.agent, 'workspaceId', g.workspace_id)), '[]')
      from unnest(s.subjects) u(subject) cross join lateral (
        select * from grants g where g.tenant = ${tenant} and g.subject = u.subject and g.revoked_at is null
          and (g.connection is null or g.connection = ${connection})
          and (g.expires_at is null or g.expires_at > now()) and (g.workspace_id is null
            or g.workspace_id = (select c.workspace_id from conversations c where c.id = ${conversation}))
        order by g.effect desc limit ${maxPerSubject}) g),
    'links', s.links,
    'pairings', (select coalesce(json_agg(json_build_object('id', p.id, 'code', p.code, 'subject', p.subject,
        'agent', p.agent, 'held', (select count(*) from inbox h where h.pairing_id = p.id and h.state = 'held'))), '[]')
      from unnest(s.subjects) u(subject) cross join lateral (
        select * from pairings p where p.tenant = ${tenant} and p.connection = ${connection} and p.subject = u.subject
          and p.status = 'pending' and p.expires_at > now() limit ${maxPerSubject}) p),
    'told', (select coalesce(json_agg(t.principal), '[]') from (select t.principal from ${door} limit ${maxPerSubject}) t))
  from (
    select shown.subjects || array(select distinct l ->> 'principal' from json_array_elements(shown.links) l) as subjects, shown.links
    from (
      select o.subjects, (
        select coalesce(json_agg(json_build_object('subject', l.subject, 'principal', l.principal)), '[]')
        from unnest(o.subjects) u(subject) cross join lateral (
          select l.subject, l.principal from identity_links l where l.tenant = ${tenant} and l.subject = u.subject limit 1) l) as links
      from (select ${senderSubjectsSql(rows)} as subjects offset 0) o offset 0) shown offset 0) s)`
}
