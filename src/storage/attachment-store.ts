// Attachments on SQL: rows about bytes that a store holds.
import type { AttachmentStore, FinishedUpload, NewBlob } from '../attachments/attachment-store.ts'
import type { AttachmentDescriptor } from '../attachments/descriptor.ts'
import { cleanText, GatewayError, isGatewayError } from '../contract/index.ts'
import type { Database } from './database.ts'
import {
  attachmentsByAddress,
  attachmentsById,
  beginBlob,
  blobsDue,
  blobsGone,
  dropLooseAttachments,
  finishUpload,
  listAttachments,
  removeAttachment,
  useAttachments,
} from './statements/attachments.ts'
import { storableJson } from './storable-json.ts'

/** Each lost race is another upload of the same bytes or the same id that won. */
const maxTries = 5

type Finished = AttachmentDescriptor & { readonly spare: string | null }

export function createAttachmentStore(database: Database, tenant: string): AttachmentStore {
  const byIds = (ids: readonly string[]): Promise<readonly AttachmentDescriptor[]> =>
    database.query<AttachmentDescriptor>(attachmentsById, [tenant, storableJson(ids)])
  return {
    async begin({ id, store, bucket, path }) {
      await database.query(beginBlob, [tenant, id, store, bucket, path])
    },
    async finish(upload) {
      const { spare, ...descriptor } = await finishOnce(database, tenant, upload)
      return { descriptor, spare }
    },
    byId: async (id) => (await byIds([id]))[0],
    byIds,
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

async function finishOnce(database: Database, tenant: string, upload: FinishedUpload): Promise<Finished> {
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
