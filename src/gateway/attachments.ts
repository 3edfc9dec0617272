// The attachment service as configured: over the rows of this database and the stores of this runtime.

import type { AttachmentPlace } from '../config/attachments.ts'
import type { Config } from '../config.ts'
import type { RawBlobs } from '../contract/channel.ts'
import type { FileSource } from '../contract/index.ts'
import { createAttachmentStore } from '../db/attachments.ts'
import type { Database } from '../db/client.ts'
import { createSigningKeyStore } from '../db/signing-keys.ts'
import type { AttachmentDescriptor, AttachmentService } from '../files/attachment.ts'
import { createAttachmentService } from '../files/attachment-service.ts'
import type { BlobStore } from '../files/blob-store.ts'
import { createS3Store } from '../files/drivers/s3.ts'
import { createSupabaseStore } from '../files/drivers/supabase.ts'
import { createRawBlobStore } from '../files/raw-blobs.ts'
import { serveFile } from '../files/serve-file.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import { createSeal, type SealKeys, sealKeyBytes } from './seal.ts'

/** What a runtime knows about files: the first store takes new ones, the others still hold older ones. */
export type RuntimeFiles = {
  readonly stores: readonly [BlobStore, ...BlobStore[]]
  /** Scheme, host and port under which people reach this gateway. */
  readonly origin: string
}

/** `rawBlobsOf` a connection; undefined where nothing holds bytes. */
export type ChannelFiles = {
  readonly files: FileSource
  readonly rawBlobsOf: ((connection: string) => RawBlobs) | undefined
}

export type AssembledFiles = {
  readonly service: AttachmentService
  /** Every descriptor of one object, by the names that handles call it. */
  readonly byAddress: (bucket: string, path: string) => Promise<readonly AttachmentDescriptor[]>
  readonly rotateKey: (actor: string) => Promise<void>
  readonly forChannels: ChannelFiles
}

type FilesDeps = {
  readonly sealKeys?: SealKeys
  readonly files?: RuntimeFiles
  readonly newId: IdSource
  readonly fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly now: () => number
  readonly log: Log
}

export function createAttachmentServices(config: Config, database: Database, deps: FilesDeps): AssembledFiles {
  const { tenant } = config
  const { stores, origin } = deps.files ?? { stores: [missingBlobStore] as const, origin: `http://${config.domain}` }
  const { maxBytes, uploadsInFlight, handleSeconds, orphanHours, handles } = config.attachments
  const attachments = createAttachmentStore(database, tenant)
  const seal = createSeal(deps.sealKeys ?? (async () => config.sealKeys.map(sealKeyBytes)))
  const keys = createSigningKeyStore(database, { ...deps, tenant, seal })
  const service = createAttachmentService({
    ...deps,
    tenant,
    attachments,
    keys,
    stores,
    publicOrigin: origin,
    options: {
      maxBytes,
      maxUploads: uploadsInFlight,
      orphanHours,
      personSeconds: handleSeconds,
      handles,
      agentSeconds: Math.min(60, handleSeconds),
    },
  })
  return {
    service,
    async byAddress(bucket, path) {
      const store = stores.find((each) => each.bucket === bucket)
      return store === undefined ? [] : attachments.byAddress({ store: store.name, bucket, path })
    },
    rotateKey: keys.rotate,
    forChannels: {
      files: createFileSource(service),
      rawBlobsOf:
        deps.files &&
        ((connection) =>
          createRawBlobStore({ ...deps, attachments, blobs: stores[0], open: service.open, tenant, connection })),
    },
  }
}

/** A store the operator named, or one the host application brought. */
export function openBlobStore(location: AttachmentPlace | BlobStore, fetch: typeof globalThis.fetch): BlobStore {
  if (!('kind' in location)) return location
  switch (location.kind) {
    case 's3':
      return createS3Store({ ...location, fetch })
    case 'supabase':
      return createSupabaseStore({ projectUrl: location.url, key: location.serviceKey, bucket: location.bucket, fetch })
  }
}

/** For channels that send files. */
function createFileSource({ find, open, handle }: Pick<AttachmentService, 'find' | 'open' | 'handle'>): FileSource {
  return {
    async link(attachmentId, lifeMs) {
      const [descriptor] = await find([attachmentId])
      if (descriptor?.status !== 'ready') return undefined
      const { principal } = descriptor.owner
      const life = lifeMs === undefined ? {} : { seconds: Math.floor(lifeMs / 1000) }
      return handle(descriptor, { principal, kind: 'person', ...life })
    },
    async open(attachmentId) {
      const [descriptor] = await find([attachmentId])
      if (descriptor?.status !== 'ready') return undefined
      const body = await open(descriptor)
      if (body === undefined) return undefined
      const { size, mimeType, path } = descriptor
      return { body, size, mimeType, name: descriptor.name ?? path.split('/').at(-1) ?? 'file' }
    },
    async answer(attachmentId, request) {
      const [descriptor] = await find([attachmentId])
      if (descriptor?.status !== 'ready') return undefined
      try {
        return await serveFile({ open }, request, descriptor)
      } catch (error) {
        if (isGatewayError(error, 'not_found')) return undefined
        throw error
      }
    },
  }
}

/** Where nothing holds bytes: what is sent is refused by name, and the gateway works on. */
const missingBlobStore: BlobStore = {
  name: 'nowhere',
  bucket: 'nowhere',
  async write() {
    const advice = 'bind the R2 bucket ATTACHMENTS and set PARLEY_PUBLIC_URL, or set the variables of S3 or Supabase'
    throw new GatewayError('config_invalid', `[attachments] this gateway has no place for files; ${advice}`)
  },
  read: async () => undefined,
  remove: async () => {},
}
