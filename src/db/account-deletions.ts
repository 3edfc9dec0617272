// Deleted accounts: people who deleted their account on a platform, and the statements that erase what they said there, step by
// step.
import { type Database, nameStatement, preventIndexUseSql, storableJson } from './client.ts'
import {
  createPersonErasureSteps,
  createReceiptEraser,
  createSingleRowQuery,
  type EraseCursor,
  type ErasingStore,
  eraseBatchSize,
  type PartialErasedCounts,
} from './erase-person.ts'
import { anAddress, leaver, strayStatements } from './erase-traces.ts'
import { senderNamedThreadPrefixSql } from './thread-names.ts'

/** One subject of one connection, and until when; `epoch` is of the process that holds it now. */
export type AccountDeletion = {
  readonly connection: string
  readonly subject: string
  readonly at: string
  readonly epoch: number
  /** Where the last piece ended; null: nowhere yet. */
  readonly from: EraseCursor | null
}

type AccountDeletionRow = Omit<AccountDeletion, 'from'> & EraseCursor

/** The one that has waited longest, leased to this process for `leaseMs`. */
export async function claimAccountDeletion(
  database: Database,
  tenant: string,
  leaseMs: number,
): Promise<AccountDeletion | undefined> {
  const [row] = await database.query<AccountDeletionRow>(claimAccountDeletionSql, [tenant, leaseMs])
  if (row === undefined) return undefined
  const { phase, after, ...deletion } = row
  return { ...deletion, from: phase === 'conversations' && after === null ? null : { phase, after } }
}

/** Reaches what this erasure is about, and nothing else. */
export function createAccountDeletionErasure(
  database: Database,
  tenant: string,
  { from: _, ...deletion }: AccountDeletion,
): ErasingStore {
  const one = createSingleRowQuery(database, tenant)
  const whom = storableJson(deletion)
  const eraseStrays = createReceiptEraser(database, tenant, strayStatements)
  return {
    // What an operator linked with it is elsewhere.
    namesOf: async () => [deletion.subject],
    ...createPersonErasureSteps(database, tenant, anAddress, () => whom),
    eraseStrays: (_names, after) => eraseStrays(whom, after),
    eraseAmbientContext: () => one<PartialErasedCounts>(eraseLeaverAmbient, whom),
    erasePairings: () => one<PartialErasedCounts>(leavePairings, whom),
    eraseAttachments: () => one<PartialErasedCounts>(leaveAttachments, whom, eraseBatchSize),
    eraseWritten: () => one<PartialErasedCounts>(leaveWritten, whom),
    async close(_names, { next, removed }) {
      if (next === null) return one<PartialErasedCounts>(endAccountDeletion, whom, storableJson(removed))
      await database.query(pauseAccountDeletion, [tenant, whom, storableJson(removed), next.phase, next.after])
      return {}
    },
  }
}

// $1 tenant, $2 whom, as JSON of `AccountDeletion`, where nothing else is said.

const { isTheirs, isSaid } = anAddress
const isOnConnectionOfDeletedAccountSql = (row: string): string =>
  `${row}.tenant = $1 and ${row}.connection = ${leaver.connection}`
const isRow = `${isOnConnectionOfDeletedAccountSql('f')} and ${isTheirs('f.subject')} and f.epoch = ($2::text::json ->> 'epoch')::bigint`

/** SQL: the person the row is about takes part in a conversation there. */
const isParticipantSql = (row: string): string => `(
  select true from participants p join conversations c on c.id = p.conversation_id
  where p.subject = ${row}.subject and ${preventIndexUseSql('c.tenant')} = ${row}.tenant and c.connection = ${row}.connection
  limit 1) is not null`

/** SQL: as what it begins once more. That they took part is no longer told by conversations they have been taken out of. */
export const accountDeletionRestartPhaseSql = (row: string): string =>
  `case when ${row}.phase in ('new', 'strays') then 'new' else 'conversations' end`

/**
 * $1 tenant, $2 for how long in ms. The worker that takes one has it for so long; no worker waits for a row that another one is taking.
 * The first to take it writes down, before anything is erased, whether its receipts have to be walked: what belongs to a conversation
 * was said by a person who takes part in it, and the rest is found by its index.
 */
export const claimAccountDeletionSql = nameStatement(
  'claim_account_deletion',
  `
update account_deletions f set epoch = f.epoch + 1, due_at = now() + $2::float8 * interval '1 ms',
  phase = case when f.phase <> 'new' then f.phase when due.takes_part then 'conversations' else 'strays' end
from (
  select d.tenant, d.connection, d.subject, ${isParticipantSql('d')} as takes_part
  from account_deletions d where d.tenant = $1 and d.due_at <= now()
  order by d.due_at limit 1 for update of d skip locked) due
where f.tenant = due.tenant and f.connection = due.connection and f.subject = due.subject
returning f.connection, f.subject, to_char(f.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, f.phase, f.after,
  f.epoch::float8 as epoch`,
)

/** A person who came back and waits for the same decision keeps it. */
const leavePairings = nameStatement(
  'delete_account_pairings',
  `
with held as (
  update inbox x set state = 'refused', reason = 'forgotten', ended_at = now(), message = null, raw = null, reply_to = null
  from pairings p
  where ${isOnConnectionOfDeletedAccountSql('p')} and ${isTheirs('p.subject')} and x.pairing_id = p.id and x.state = 'held' and ${isSaid('x')}
  returning 1
),
gone as (
  delete from pairings p
  where ${isOnConnectionOfDeletedAccountSql('p')} and ${isTheirs('p.subject')} and p.created_at <= ${leaver.at} and not exists (
    select 1 from inbox x where x.pairing_id = p.id and x.state = 'held' and not ${isSaid('x')})
  returning 1
)
select (select count(*)::int from gone) as pairings, (select count(*)::int from held) as "inFlight"`,
)

const eraseLeaverAmbient = nameStatement(
  'delete_account_ambient_context',
  `
with gone as (
  delete from ambient_context o
  where ${isOnConnectionOfDeletedAccountSql('o')} and ${isTheirs('o.subject')}
    and (select x.received_at from inbox x where x.id = o.inbox_id) <= ${leaver.at}
  returning 1)
select count(*)::int as "ambientContext" from gone`,
)

/** $3 batch. What they sent went with its receipt: this is what was made for them where others take part. */
const leaveAttachments = nameStatement(
  'delete_account_attachments',
  `
with old as materialized (
  select a.id from attachments a join sessions s on s.id = a.session_id
  where a.tenant = $1 and ${isTheirs('a.owner')} and a.created_at <= ${leaver.at} and s.connection = ${leaver.connection}
  limit $3
),
gone as (delete from attachments a using old where a.tenant = $1 and a.id = old.id returning 1)
select count(*)::int as attachments from gone`,
)

/** What the channel knew of them, and their own word. What an operator decided about them is the operator's. */
const leaveWritten = nameStatement(
  'delete_account_written',
  `
with agreed as (
  delete from consents c where ${isOnConnectionOfDeletedAccountSql('c')} and ${isTheirs('c.subject')} and c.created_at <= ${leaver.at} returning 1
),
noted as (delete from ttl_entries n where ${isOnConnectionOfDeletedAccountSql('n')} and ${isTheirs('n.subject')}),
recorded as (
  delete from channel_records r where ${isOnConnectionOfDeletedAccountSql('r')} and ${isTheirs('r.subject')} and r.updated_at <= ${leaver.at} returning 1
),
buried as (
  delete from tombstones s where ${isOnConnectionOfDeletedAccountSql('s')} and ${isTheirs('s.subject')} and s.created_at <= ${leaver.at} returning 1
),
closed as (delete from room_status c where ${isOnConnectionOfDeletedAccountSql('c')} and ${isTheirs('c.subject')}),
unsteered as (
  delete from thread_agents a
  where ${isOnConnectionOfDeletedAccountSql('a')} and starts_with(a.external_id, ${senderNamedThreadPrefixSql(leaver.subject)}) and a.updated_at <= ${leaver.at}
)
select (select count(*)::int from agreed) as consents, (select count(*)::int from buried) as tombstones,
  (select count(*)::int from recorded) as records`,
)

const added = `(
  select coalesce(jsonb_object_agg(n.key, coalesce((f.removed ->> n.key)::int, 0) + n.value::int), '{}')
  from jsonb_each_text($3::text::jsonb) n)`

/** $3 what this piece removed, as JSON, $4 phase, $5 after which row or null. Only the worker that holds it may say how far it is. */
const pauseAccountDeletion = nameStatement(
  'pause_account_deletion',
  `update account_deletions f set phase = $4, after = $5::uuid, removed = ${added}, due_at = now() where ${isRow} returning 1 as paused`,
)

/**
 * $3 what the last piece removed, as JSON. Where something of theirs is still at work, it is gone through once more. Else the
 * row goes, and with it the last place that names them, unless an operator decided something about them or they are here again.
 */
const endAccountDeletion = nameStatement(
  'end_account_deletion',
  `
with mine as materialized (
  select f.*, ${added} as total, exists (
    select 1 from inbox x where ${isOnConnectionOfDeletedAccountSql('x')} and x.ended_at is null and ${isSaid('x')})
    -- What was being stored when it was looked for.
    or (f.phase = 'strays' and ${isParticipantSql('f')}) as is_open
  from account_deletions f where ${isRow} for update
),
again as (
  update account_deletions f set phase = ${accountDeletionRestartPhaseSql('f')}, after = null, removed = mine.total, due_at = now() + interval '1 minute'
  from mine where mine.is_open and ${isRow}
),
gone as (delete from account_deletions f using mine where not mine.is_open and ${isRow} returning f.tenant),
nameless as (
  delete from principals p using gone
  where p.tenant = $1 and ${isTheirs('p.subject')}
    and not exists (
      select 1 from participants o join conversations c on c.id = o.conversation_id and c.tenant = $1
      where ${isTheirs('o.subject')})
    and not exists (select 1 from grants g where g.tenant = $1 and ${isTheirs('g.subject')})
    and not exists (
      select 1 from identity_links l where l.tenant = $1 and (${isTheirs('l.subject')} or ${isTheirs('l.principal')}))
    and not exists (select 1 from tokens t where t.tenant = $1 and ${isTheirs('t.principal')})
    and not exists (select 1 from pairings w where w.tenant = $1 and ${isTheirs('w.subject')})
  returning 1
),
told as (
  insert into audit_log (tenant, action, outcome, actor, connection, inbox_id, detail)
  select $1, 'forget', 'done', 'gateway', mine.connection, mine.inbox_id,
    mine.total || jsonb_build_object('principals', (select count(*) from nameless))
  from mine where not mine.is_open
)
select (select count(*)::int from nameless) as principals`,
)

/** $1 tenant, $2 connection, $3 subject. Each is found by an index, also where there are millions. */
export const knowsSubject = nameStatement(
  'knows_subject',
  `
select exists (
    select 1 from participants p join conversations c on c.id = p.conversation_id
    where p.subject = $3 and c.tenant = $1 and c.connection = $2)
  or exists (
    select 1 from inbox x
    where x.tenant = $1 and x.connection = $2 and x.subject = $3 and x.conversation_id is null and x.subject is not null)
  or exists (
    select 1 from channel_records r where r.tenant = $1 and r.connection = $2 and r.subject = $3 and r.subject is not null)
  as "isKnown"`,
)
