// Raw payloads of inbound events that are too large for a row: stored like a file before the row that refers to them, named
// after what they are, so that a second delivery finds the first. What no message refers to in the end is swept like an upload.

import type { RawBlobs } from '../contract/channel.ts'
import type { AttachmentStore } from '../db/attachments.ts'
import { GatewayError } from '../lib/errors.ts'
import { sha256Hex } from '../lib/index.ts'
import type { AttachmentService } from './attachment.ts'
import { wrapBodyForMeasuring } from './measured-body.ts'
import { type StoreFileDeps, storeMeasuredBody } from './store-file.ts'

export type RawBlobDeps = Omit<StoreFileDeps, 'limits' | 'attachments'> & {
  readonly attachments: Pick<AttachmentStore, 'begin' | 'finish' | 'gone' | 'byId' | 'use'>
  readonly open: AttachmentService['open']
  readonly tenant: string
  /** As rows name it. */
  readonly connection: string
}

/** Far more than any channel takes in; the channel's own limit comes first. */
const limits = { maxBytes: 128 * 1024 * 1024, idleMs: 30_000, totalMs: 600_000 } as const

/** Without an owner until the message it belongs to is stored, and in no list of a user's files. */
const origin = 'original'

const mimeType = /^[a-z]{1,20}\/[a-z0-9.+-]{1,80}$/

export function createRawBlobStore(deps: RawBlobDeps): RawBlobs {
  const { attachments, tenant, connection } = deps
  return {
    nameOf: (id) => rawBlobRef(tenant, connection, id),
    async keep(bytes, { id, mime }) {
      const ref = await rawBlobRef(tenant, connection, id)
      if ((await attachments.byId(ref)) !== undefined) {
        if (!(bytes instanceof Uint8Array)) await bytes.cancel().catch(() => {})
        // It may have waited for its message for as long as an upload may: it is given that time anew.
        await attachments.use([ref], { inboxId: null, sessionId: null })
        return ref
      }
      const body = await wrapBodyForMeasuring(
        bytes instanceof Uint8Array ? streamBytes(bytes) : bytes,
        limits,
        deps.now,
      )
      const owner = { principal: `${origin}:${connection}`, threadId: null }
      const facts = { id: ref, owner, origin: { receivedVia: origin, nativeId: connection } }
      const outcome = await storeMeasuredBody(
        { ...deps, limits },
        facts,
        body,
        mimeType.test(mime) ? mime : unknownType,
      )
      if (outcome.kind === 'stored') return ref
      throw new GatewayError('bad_request', '[attachments] the original is larger than anything is kept; refuse it')
    },
    async open(ref) {
      const found = await attachments.byId(ref)
      const isOurs = found?.origin.receivedVia === origin && found.origin.nativeId === connection
      return isOurs && found.status === 'ready' ? deps.open(found) : undefined
    },
  }
}

const unknownType = 'application/octet-stream'

/** RFC 9562 section 5.8: version 8 is for ids of one's own making. */
async function rawBlobRef(tenant: string, connection: string, id: string): Promise<string> {
  const hex = await sha256Hex(JSON.stringify([origin, tenant, connection, id]))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Hashed piece by piece, and others are served between two of them. */
const pieceBytes = 256 * 1024

function streamBytes(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream(
    {
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + pieceBytes))
        at += pieceBytes
        if (at >= bytes.length) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}
