// Rows of attachments. Bytes are written to a blob store between `begin` and `finish`; an upload that dies in between is swept.

import type { AttachmentDescriptor, AttachmentOrigin, AttachmentOwner } from '../files/attachment.ts'
import { cleanText } from '../lib/clean-text.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { insertActAuditLinesSql } from './audit.ts'
import { type Database, historyTimeSql, nameStatement, storableJson } from './client.ts'

export type NewBlob = { readonly id: string; readonly store: string; readonly bucket: string; readonly path: string }

export type FinishedUpload = {
  readonly blobId: string
  readonly attachmentId: string
  readonly mimeType: string
  readonly size: number
  readonly sha256: string
  readonly name: string | null
  readonly owner: AttachmentOwner
  readonly origin: AttachmentOrigin
  readonly status: 'ready' | 'blocked'
}

/** The (store, bucket, path) triple of a signed URL. */
export type ObjectAddress = { readonly store: string; readonly bucket: string; readonly path: string }

export interface AttachmentStore {
  /** Before the first byte is written: a row to sweep by, should the upload never be finished. */
  begin(blob: NewBlob): Promise<void>
  /**
   * One commit: the bytes are there, and whose they are. The same bytes were stored before by this tenant: the descriptor
   * points to those and `spare` names the object just written, for removal. An attachment id that exists already is answered
   * as it is (a turn that does this twice after a crash makes one).
   */
  finish(upload: FinishedUpload): Promise<{ readonly descriptor: AttachmentDescriptor; readonly spare: string | null }>
  byId(id: string): Promise<AttachmentDescriptor | undefined>
  byIds(ids: readonly string[]): Promise<readonly AttachmentDescriptor[]>
  /** Every descriptor of this object; several owners may share one. */
  byAddress(address: ObjectAddress): Promise<readonly AttachmentDescriptor[]>
  /** A message refers to these: they live as long as its transcript and are no orphans any more. */
  use(ids: readonly string[], by: { readonly inboxId: string | null; readonly sessionId: string | null }): Promise<void>
  list(page: { readonly before: string | null; readonly limit: number }): Promise<readonly AttachmentDescriptor[]>
  /** Marks it deleted; its object goes when no other descriptor refers to it. False: there is none. */
  remove(id: string, actor: string): Promise<boolean>
  /**
   * Objects to remove: begun and never finished, uploaded and never used, or no longer referred to. From here on `finish`
   * no longer points to them.
   */
  due(limit: number, orphanHours: number): Promise<readonly NewBlob[]>
  /** The object is gone. */
  gone(blobIds: readonly string[]): Promise<void>
}

/** Each lost race is another upload of the same bytes or the same id that won. */
const maxTries = 5

type Finished = AttachmentDescriptor & { readonly spare: string | null }

export function createAttachmentStore(database: Database, tenant: string): AttachmentStore {
  const findAttachmentsByIds = (ids: readonly string[]): Promise<readonly AttachmentDescriptor[]> =>
    database.query<AttachmentDescriptor>(attachmentsById, [tenant, storableJson(ids)])
  return {
    async begin({ id, store, bucket, path }) {
      await database.query(beginBlob, [tenant, id, store, bucket, path])
    },
    async finish(upload) {
      const { spare, ...descriptor } = await finishUploadRetryingRaces(database, tenant, upload)
      return { descriptor, spare }
    },
    byId: async (id) => (await findAttachmentsByIds([id]))[0],
    byIds: findAttachmentsByIds,
    async byAddress({ store, bucket, path }) {
      // What would have to be changed to be stored was never stored.
      if (cleanText(bucket) !== bucket || cleanText(path) !== path) return []
      return database.query<AttachmentDescriptor>(attachmentsByAddress, [tenant, store, bucket, path])
    },
    async use(ids, { inboxId, sessionId }) {
      if (ids.length > 0) await database.query(useAttachments, [tenant, storableJson(ids), inboxId, sessionId])
    },
    list: ({ before, limit }) => database.query<AttachmentDescriptor>(listAttachments, [tenant, before, limit]),
    async remove(id, actor) {
      return (await database.query(removeAttachment, [tenant, id, actor])).length > 0
    },
    async due(limit, orphanHours) {
      await database.query(dropLooseAttachments, [tenant, limit, orphanHours])
      return database.query<NewBlob>(blobsDue, [tenant, limit, orphanHours])
    },
    async gone(blobIds) {
      if (blobIds.length > 0) await database.query(blobsGone, [tenant, storableJson(blobIds)])
    },
  }
}

async function finishUploadRetryingRaces(
  database: Database,
  tenant: string,
  upload: FinishedUpload,
): Promise<Finished> {
  const params = [tenant, storableJson(upload)]
  for (let tries = 1; tries <= maxTries; tries += 1) {
    try {
      const [row] = await database.query<Finished>(finishUpload, params)
      if (row !== undefined) return row
    } catch (error) {
      // 23505: another writer has just finished the same bytes.
      if (!isGatewayError(error) || error.details['sqlstate'] !== '23505') throw error
    }
  }
  throw new GatewayError('conflict', '[attachments] the upload took so long that it was swept; send the file again')
}

// $1 is the tenant in all of them.

const descriptorColumnsSql = (a: string, b: string): string => `${a}.id, ${b}.store, ${b}.bucket, ${b}.path,
  ${a}.mime_type as "mimeType", ${a}.size::float8 as size, ${b}.sha256, ${a}.name,
  json_build_object('principal', ${a}.owner, 'threadId', ${a}.thread_id) as owner,
  json_build_object('receivedVia', ${a}.received_via, 'nativeId', ${a}.native_id) as origin,
  ${a}.status, ${historyTimeSql(`${a}.created_at`)} as "createdAt"`

const found = `select ${descriptorColumnsSql('a', 'b')} from attachments a join blobs b on b.id = a.blob_id where a.tenant = $1`

/** $2 id, $3 store, $4 bucket, $5 path. */
const beginBlob = nameStatement(
  'begin_blob',
  'insert into blobs (tenant, id, store, bucket, path) values ($1, $2, $3, $4, $5)',
)

/**
 * $2 the upload as JSON.
 *
 *   known      the attachment was made before: the object just written is spare
 *   twin       the same bytes are there already; counted, so that a sweeper about to remove them sees it
 *   own        the object just written: ready, or spare and to be removed
 *   described  the descriptor. The loser of a race for its id gets nothing back, asks again and finds the other's
 *
 * Two who write the same bytes at once meet at the unique index; the one it refuses asks again and finds the twin.
 */
const finishUpload = nameStatement(
  'finish_upload',
  `
with given as materialized (
  select u.* from json_to_record($2::text::json) as u(
    "blobId" uuid, "attachmentId" uuid, "mimeType" text, size bigint, sha256 text, name text, owner json, origin json,
    status text)
),
known as materialized (select a.* from given g join attachments a on a.tenant = $1 and a.id = g."attachmentId"),
begun as materialized (
  select b.id, b.store from given g join blobs b on b.tenant = $1 and b.id = g."blobId" where b.status = 'pending'
),
twin as (
  update blobs b set changes = b.changes + 1 from given g, begun
  where b.tenant = $1 and b.store = begun.store and b.sha256 = g.sha256 and b.status = 'ready'
    and not exists (select 1 from known)
  returning b.id, b.store, b.bucket, b.path, b.sha256, b.status
),
own as (
  update blobs b set sha256 = g.sha256, bytes = g.size, changes = b.changes + 1,
    status = case when exists (select 1 from known) or exists (select 1 from twin) then 'deleting' else 'ready' end
  from given g, begun where b.id = begun.id and b.status = 'pending'
  returning b.id, b.store, b.bucket, b.path, b.sha256, b.status
),
place as (select * from twin union all select * from own where status = 'ready'),
described as (
  insert into attachments (tenant, id, blob_id, name, mime_type, size, owner, thread_id, received_via, native_id, status, workspace_id)
  select $1, g."attachmentId", place.id, g.name, g."mimeType", g.size, g.owner ->> 'principal', g.owner ->> 'threadId',
    g.origin ->> 'receivedVia', g.origin ->> 'nativeId', g.status, $1
  from given g, place where not exists (select 1 from known)
  on conflict (tenant, id) do nothing
  returning *
),
spare as (select own.path from own where own.status = 'deleting')
select ${descriptorColumnsSql('a', 'b')}, (select path from spare) as spare from known a join blobs b on b.id = a.blob_id
union all
select ${descriptorColumnsSql('a', 'b')}, (select path from spare) from described a join place b on b.id = a.blob_id`,
)

/** $2 ids as JSON. */
const attachmentsById = nameStatement(
  'attachments_by_id',
  `${found} and a.id = any(array(select e::uuid from json_array_elements_text($2::text::json) e)) order by a.id`,
)

/** $2 store, $3 bucket, $4 path. */
const attachmentsByAddress = nameStatement(
  'attachments_by_address',
  `${found} and b.tenant = $1 and b.store = $2 and b.bucket = $3 and b.path = $4 order by a.id`,
)

/** $2 before which id or null, $3 how many. Ids are made in the order of time. */
const listAttachments = nameStatement(
  'list_attachments',
  `${found} and ($2::uuid is null or a.id < $2::uuid) order by a.id desc limit $3`,
)

/** $2 ids as JSON, $3 message or null, $4 session or null. Where several messages refer to it, it goes with the last. */
const useAttachments = nameStatement(
  'use_attachments',
  `
update attachments a set used_at = now(), inbox_id = coalesce($3::uuid, a.inbox_id), session_id = coalesce($4::uuid, a.session_id)
where a.tenant = $1 and a.id = any(array(select e::uuid from json_array_elements_text($2::text::json) e))`,
)

/** $2 id, $3 by whom. Its row says that it was deleted until its object is gone. */
const removeAttachment = nameStatement(
  'remove_attachment',
  `
with gone as (
  update attachments a set status = 'deleted', name = null, native_id = null
  where a.tenant = $1 and a.id = $2 and a.status <> 'deleted' returning a.tenant, a.id, a.owner
),${insertActAuditLinesSql({
    from: 'gone',
    by: '$3',
    about: 'd.owner',
    columns: { action: "'attachment.delete'", outcome: "'done'", object_id: 'd.id::text' },
  })}
select 1 as removed from gone`,
)

/**
 * $2 batch, $3 hours. In no transcript: uploaded for a message that never came, or of a message that came to nothing, was
 * withdrawn or whose content is gone. One that is used at this moment has another `used_at` by then.
 */
const dropLooseAttachments = nameStatement(
  'drop_unsent_attachments',
  `
with loose as materialized (
  select a.id, a.used_at from attachments a left join inbox i on i.id = a.inbox_id
  where a.tenant = $1 and a.session_id is null and case
    when a.inbox_id is null then coalesce(a.used_at, a.created_at) < now() - $3::float8 * interval '1 hour'
    else i.id is null or i.reason is not distinct from 'withdrawn' or (i.ended_at is not null and i.message is null) end
  order by a.created_at limit $2
)
delete from attachments a using loose
where a.tenant = $1 and a.id = loose.id and a.session_id is null and a.used_at is not distinct from loose.used_at`,
)

/** $2 batch, $3 hours. From here on the bytes are not found any more, and an upload begun so long ago cannot be finished. */
const blobsDue = nameStatement(
  'blobs_due',
  `
with seen as materialized (
  select b.id, b.changes, b.status,
    (select count(*) from (select 1 from attachments a where a.blob_id = b.id and a.status <> 'deleted' limit 1) n) > 0 as "isNeeded"
  from blobs b
  where b.tenant = $1 and (b.status <> 'ready' or b.needs_check)
    and (b.status <> 'pending' or b.created_at < now() - $3::float8 * interval '1 hour')
  order by b.tried_at nulls first, b.created_at limit $2
),
kept as (
  update blobs b set needs_check = false from seen
  where b.id = seen.id and b.status = 'ready' and seen."isNeeded" and b.changes = seen.changes
)
update blobs b set status = 'deleting', tried_at = now() from seen
where b.id = seen.id and b.status = seen.status and b.changes = seen.changes and (seen.status <> 'ready' or not seen."isNeeded")
returning b.id, b.store, b.bucket, b.path`,
)

/** $2 ids as JSON. What its descriptors still said goes with it. */
const blobsGone = nameStatement(
  'blobs_gone',
  `
with gone as (
  delete from blobs b
  where b.tenant = $1 and b.status <> 'ready' and b.id = any(array(select e::uuid from json_array_elements_text($2::text::json) e))
  returning b.id
)
delete from attachments a using gone where a.blob_id = gone.id and a.tenant = $1`,
)
