// A backup reads every table in one snapshot; a restore fills an empty schema in one transaction. Both are about the whole
// database, so these statements name no tenant.

import { insertAuditLinesSql } from './audit.ts'
import { appendHistoryEntrySql, nameStatement, type Statement } from './client.ts'
import { restoredReason } from './outbox.ts'
import { quoteIdentifier } from './postgres-copy.ts'

/**
 * Values are written the same way whatever the server's defaults are, and a table may take as long as it takes. By way of
 * pg_settings, since older servers do not know every name.
 */
export const steadySettings = nameStatement(
  'backup_settings',
  `
select set_config(s.name, w.value, true) from pg_settings s join (values
  ('datestyle', 'ISO, YMD'), ('intervalstyle', 'postgres'), ('timezone', 'UTC'), ('bytea_output', 'hex'),
  ('extra_float_digits', '1'), ('statement_timeout', '0'), ('transaction_timeout', '0'),
  ('idle_in_transaction_session_timeout', '0')) as w(name, value) on lower(s.name) = w.name`,
)

/** A gateway that works on the target is found out instead of waited for. */
export const impatientLocks = nameStatement('restore_lock_timeout', `select set_config('lock_timeout', '10s', true)`)

export const describeServer = nameStatement(
  'backup_server',
  `select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "snapshotAt",
    current_setting('server_version') as "serverVersion", to_regclass('parley_migrations') is not null as "isMigrated"`,
)

const migrationTable = 'parley_migrations'

/** Of the schema we work in, except what an extension brought. Generated columns make themselves again. */
export const listTables = nameStatement(
  'backup_tables',
  `
select c.relname as name, (
    select coalesce(json_agg(a.attname order by a.attnum), '[]') from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema() and c.relkind = 'r' and c.relname <> '${migrationTable}' and not exists (
  select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by c.relname`,
)

export const listSequences = nameStatement(
  'backup_sequences',
  `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = current_schema() and c.relkind = 'S' order by c.relname`,
)

export const readSequenceStatement = (name: string): Statement =>
  nameStatement(
    'backup_sequence',
    `select last_value::text as "lastValue", is_called as "isCalled" from ${quoteIdentifier(name)}`,
  )

/** $1 sequence, quoted, $2 value, $3 whether it was given out already. Null: this release has no such sequence. */
export const setSequence = nameStatement('restore_sequence', 'select setval(to_regclass($1), $2::text::bigint, $3)')

/** So that a migration waits for the backup, and not the other way round half-way through. */
export const lockTablesForBackupStatement = (tables: readonly string[]): Statement =>
  nameStatement('backup_lock', `lock table ${tables.map(quoteIdentifier).join(', ')} in access share mode`)

export const lockTablesForRestoreStatement = (tables: readonly string[]): Statement =>
  nameStatement('restore_lock', `lock table ${tables.map(quoteIdentifier).join(', ')} in exclusive mode`)

/** The tables that hold a row. */
export const listNonEmptyTablesStatement = (tables: readonly string[]): Statement =>
  nameStatement(
    'restore_used',
    tables
      .map(
        (name) => `select '${name.replaceAll("'", "''")}' as name where exists (select from ${quoteIdentifier(name)})`,
      )
      .join(' union all '),
  )

/** For the owner of the tables, who need not be a superuser: `session_replication_role` would want one. */
export const switchTriggersStatement = (tables: readonly string[], to: 'enable' | 'disable'): Statement =>
  nameStatement(
    `restore_${to}_triggers`,
    tables.map((name) => `alter table ${quoteIdentifier(name)} ${to} trigger user`).join(';\n'),
  )

/** What migrations put into tables is in the backup as well. */
export const emptyTablesStatement = (tables: readonly string[]): Statement =>
  nameStatement('restore_empty', `truncate ${tables.map(quoteIdentifier).join(', ')}`)

export const analyzeTablesStatement = (tables: readonly string[]): Statement =>
  nameStatement('restore_analyze', `analyze ${tables.map(quoteIdentifier).join(', ')}`)

/** $1 store, $2 id to go on after, $3 how many. */
export const listStoredFiles = nameStatement(
  'backup_files',
  `select id, bucket, path from blobs where store = $1 and status = 'ready' and id > $2::uuid order by id limit $3`,
)

/** $1 the store that is part of the backup. */
export const countFilesElsewhere = nameStatement(
  'backup_files_elsewhere',
  `select store, bucket, count(*)::int as files from blobs where store <> $1 and status = 'ready'
   group by store, bucket order by store, bucket`,
)

/**
 * What waited may have left after the snapshot: it is treated like a call whose sender died, which is looked up, repeated under
 * its client id, or shown as unknown, by what its channel offers. `sending_at` is empty: this process knows of no try.
 */
export const doubtWaitingSends = nameStatement(
  'restore_doubt_sends',
  `
with doubted as (
  update outbox o set state = 'sending', sending_at = null, reason = '${restoredReason}',
    history = ${appendHistoryEntrySql('o', `'what', '${restoredReason}', 'attempt', o.attempt`)}
  where o.settled_at is null and o.state in ('queued', 'retry') returning 1
)
select count(*)::int as doubted from doubted`,
)

export const countOpenWork = nameStatement(
  'restore_open_work',
  `select (select count(*)::int from turns where state = 'running') as "openTurns",
    (select count(*)::int from inbox where state = 'queued') as "waitingMessages",
    (select count(*)::int from outbox where settled_at is null) as "openDeliveries"`,
)

/** $1 the tenant of the operator who restores, $2 what was restored (JSON). Every tenant of the database finds the line in its log. */
export const recordRestore = nameStatement(
  'record_restore',
  `
with tenants as materialized (select distinct tenant from counters union select $1::text),
restored as materialized (select t.tenant, $2::text::jsonb as detail from tenants t),${insertAuditLinesSql({
    from: 'restored',
    subject: 'null::text',
    columns: { action: `'database.restore'`, outcome: `'done'`, actor: `'operator'`, detail: 'd.detail' },
  })}
select 1 as written`,
)
