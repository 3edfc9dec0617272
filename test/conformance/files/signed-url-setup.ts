// What the cases of signed URLs speak of: a Supabase project `xxx`, an S3 bucket, an R2 bucket, and who owns which object there.
import { SignJWT } from 'jose'
import type { FinishedUpload, ObjectAddress } from '../../../src/db/attachments.ts'
import type { AttachmentOwner, ClaimOutcome } from '../../../src/files/attachment.ts'
import { createAttachmentService } from '../../../src/files/attachment-service.ts'
import type { BlobStore } from '../../../src/files/blob-store.ts'
import { createS3Store } from '../../../src/files/drivers/s3.ts'
import { createSupabaseStore } from '../../../src/files/drivers/supabase.ts'
import { secret } from '../../../src/lib/secret.ts'
import { memoryKeys, memoryRows } from '../../doubles/memory-attachments.ts'

export const nowMs = Date.parse('2026-11-17T12:00:00Z')
export const ann: AttachmentOwner = { principal: 'person:ann', threadId: 'thread-123' }
export const bob: AttachmentOwner = { principal: 'person:bob', threadId: 'thread-123' }

/** The documented example of the run API, letter for letter. */
export const seedUrl = 'https://xxx.supabase.co/storage/v1/object/sign/agent-files/agent-inputs/u/t/r/img.jpg?token=xxx'
export const seedObject = { store: 'supabase', bucket: 'agent-files', path: 'agent-inputs/u/t/r/img.jpg' }
const s3Object = { store: 's3', bucket: 'agent-inbox', path: 'agent-inputs/u/t/r/img.jpg' }

const neverFetch: typeof fetch = () => Promise.reject(new Error('a URL from a message was fetched'))
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: secret('of nobody') }

const stores: readonly [BlobStore, ...BlobStore[]] = [
  createSupabaseStore({
    projectUrl: 'https://xxx.supabase.co',
    key: secret('k'),
    bucket: 'agent-files',
    fetch: neverFetch,
  }),
  createS3Store({ ...credentials, bucket: 'agent-inbox', region: 'eu-central-1', fetch: neverFetch }),
  createS3Store({
    ...credentials,
    name: 'r2',
    bucket: 'agent-r2',
    region: 'auto',
    fetch: neverFetch,
    endpoint: 'https://acc.r2.cloudflarestorage.com',
  }),
]

export type Scene = ReturnType<typeof openScene>

/** Everything said about a URL, for the case that looks for tokens in it. */
export function openScene() {
  const rows = memoryRows()
  const keys = memoryKeys()
  const lines: string[] = []
  const note = (event: string, facts?: unknown) => void lines.push(JSON.stringify([event, facts]))
  const desk = createAttachmentService({
    tenant: 'default',
    attachments: rows,
    keys,
    stores,
    now: () => nowMs,
    publicOrigin: 'http://127.0.0.1:8787',
    newId: () => crypto.randomUUID(),
    log: { info: note, warn: note, error: note },
  })
  const own = async (address: ObjectAddress, owner: AttachmentOwner = ann) => {
    const blobId = crypto.randomUUID()
    await rows.begin({ id: blobId, ...address })
    const facts = {
      mimeType: 'image/jpeg',
      size: 3,
      name: null,
      status: 'ready',
      origin: { receivedVia: 'api', nativeId: null },
    } as const
    const upload: FinishedUpload = { blobId, attachmentId: crypto.randomUUID(), sha256: blobId, owner, ...facts }
    return (await rows.finish(upload)).descriptor
  }
  return { desk, rows, keys, lines, own }
}

/** A scene in which ann owns that object and its twin at S3. */
export async function ownedScene(): Promise<Scene> {
  const scene = openScene()
  await scene.own(seedObject)
  await scene.own(s3Object)
  return scene
}

export async function claimed(url: string, by: AttachmentOwner = ann): Promise<string> {
  return outcomeOf(await (await ownedScene()).desk.claim(url, by))
}

/** The object or the code, in one word. */
export function outcomeOf(outcome: ClaimOutcome): string {
  if (outcome.kind === 'refused') return outcome.code
  const { store, bucket, path } = outcome.descriptor
  return `${store}:${bucket}/${path}`
}

export async function supabaseToken(claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const seconds = Math.floor(nowMs / 1000)
  const all = { url: 'agent-files/agent-inputs/u/t/r/img.jpg', iat: seconds, exp: seconds + 300, ...claims }
  return new SignJWT(all)
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode('of the project'.repeat(3)))
}

/** That URL with another token, path or host. */
export async function supabaseUrl({
  host = 'xxx.supabase.co',
  path = '/storage/v1/object/sign/agent-files/agent-inputs/u/t/r/img.jpg',
  claims = {},
}: {
  readonly host?: string
  readonly path?: string
  readonly claims?: Readonly<Record<string, unknown>>
} = {}): Promise<string> {
  return `https://${host}${path}?token=${await supabaseToken(claims)}`
}

export const signature = {
  'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
  'X-Amz-Credential': 'AKIDEXAMPLE/20261117/eu-central-1/s3/aws4_request',
  'X-Amz-Date': '20261117T115900Z',
  'X-Amz-Expires': '300',
  'X-Amz-SignedHeaders': 'host',
  'X-Amz-Signature': 'ab'.repeat(32),
}

export function s3Url(place: string, changes: Readonly<Record<string, string>> = {}): string {
  return `${place}?${new URLSearchParams({ ...signature, ...changes })}`
}
